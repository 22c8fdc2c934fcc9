//! Answers recorded from a controller of June 2026 (marin-iris 0.2.20.dev202606180959).

use marin::Error;

use crate::record;
use crate::support::Subject;

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_field_is_not_sent_and_what_it_has_is_used() {
    let server = record::replay(include_str!("../fixtures/recorded-june.json")).await;
    let subject = Subject::recorded(&server);
    let iris = subject.iris();
    assert_eq!(iris.current_user().await.expect("a user").role, "admin");
    // Its service of endpoints is another one.
    let endpoints = iris.endpoints("/system/").await.expect("endpoints");
    assert_eq!(endpoints[0].name, "/system/log-server");
    let capabilities = iris.capabilities().await.expect("capabilities");
    assert!(capabilities.launch.has("existingJobPolicy") && !capabilities.launch.has("containerProfile"));
    assert!(!capabilities.environment.has("setupScripts"));

    // Had any of these been sent, the server would have answered "not recorded".
    let plain = subject.request("older", 1, "0", 0);
    let mut profile = plain.clone();
    profile.container_profile = "CONTAINER_PROFILE_DEFAULT".into();
    let mut scripts = plain.clone();
    scripts.environment.setup_scripts = vec!["true".into()];
    for (request, name) in [(profile, "containerProfile"), (scripts, "environment.setupScripts")] {
        match iris.launch(&request).await {
            Err(Error::UnsupportedField { field, .. }) => assert_eq!(field, name),
            other => panic!("{other:?}"),
        }
    }
    // Without a date it takes the client for one of April.
    let error = iris.launch(&plain).await.expect_err("too old");
    assert!(error.to_string().contains("client is too old"), "{error}");
}
