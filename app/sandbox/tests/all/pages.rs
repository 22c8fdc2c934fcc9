//! What a person sees and does.

use serde_json::{Value, json};

use super::support::{REPO, World};

#[tokio::test]
async fn pages_show_what_happened() {
    let world = World::new().await;
    world.sandbox.comment(REPO, 1, "bob", "**bold** <script>x</script>\n\n| a |\n|---|\n| 1 |").unwrap();
    let web = world.sandbox.settings().web;
    let page = async |path: &str, accept: &str| {
        let answer = world.client.get(format!("{web}{path}")).header("accept", accept).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, text) = page("/", "text/html").await;
    assert!(status == 200 && text.contains("Check every row twice") && text.contains("/octo/demo/pull/1"), "{text}");
    let (status, text) = page("/octo/demo/pull/1", "*/*").await;
    assert!(status == 200 && text.contains("<strong>bold</strong>") && text.contains("<td>1</td>"), "{text}");
    assert!(!text.contains("<script>x"), "{text}");
    assert_eq!(page("/octo/demo/pull/77", "text/html").await.0, 404);
    assert_eq!(page("/octo/demo", "*/*").await.0, 200);
}

#[tokio::test]
async fn a_test_waits_for_what_a_program_does() {
    let world = World::new().await;
    let first = |sandbox: &sandbox::Sandbox| sandbox.comments(REPO, 1).first().map(|comment| comment.body.clone());
    let waited = tokio::join!(
        tokio::time::timeout(std::time::Duration::from_secs(30), world.sandbox.until(first)),
        world.expect(201, "POST", "/repos/octo/demo/issues/1/comments", Some(json!({ "body": "here" }))),
    );
    assert_eq!(waited.0.unwrap(), "here");
    // What is there already is not waited for.
    assert_eq!(world.sandbox.until(first).await, "here");
}

#[tokio::test]
async fn people_are_played_with_curl() {
    let world = World::new().await;
    let control = world.sandbox.settings().control;
    let post = async |act: &str, body: Value| {
        let answer = world.client.post(format!("{control}/{act}")).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, made) =
        post("comment", json!({ "repo": REPO, "number": 1, "by": "maintainer", "body": "/ab-test" })).await;
    assert_eq!((status, made["comment"].as_u64()), (200, Some(world.sandbox.comments(REPO, 1)[0].id)));
    let files = json!({ "bench.sh": "echo", "README.md": null });
    let (_, pushed) =
        post("push", json!({ "repo": REPO, "branch": "slower", "by": "maintainer", "message": "m", "files": files }))
            .await;
    assert_eq!(pushed["commit"], world.sandbox.look(REPO, 1).unwrap().pull.unwrap().head_sha);
    assert_eq!(post("faults", json!({ "lost": 0.5 })).await.0, 200);
    assert_eq!(post("rule", json!({ "method": "POST", "path": "*", "fault": { "refused": 500 } })).await.0, 200);
    for (act, body) in [
        ("comment", json!({ "repo": REPO, "number": 99, "by": "bob", "body": "x" })),
        ("comment", json!({ "repo": REPO })),
        ("nothing", json!({})),
        ("faults", json!({ "typo": 1.0 })),
    ] {
        let (status, said) = post(act, body).await;
        assert_eq!((status, said["error"].is_string()), (422, true), "{act} {said}");
    }
    let plain = world.client.post(format!("{control}/comment")).body("{}").send().await.unwrap();
    assert_eq!(plain.status(), 415);
    let state: Value = world.client.get(format!("{control}/state")).send().await.unwrap().json().await.unwrap();
    assert_eq!(state["faults"]["lost"], 0.5);
    assert_eq!(state["comments"][0]["body"], "/ab-test");
}

#[tokio::test]
async fn a_dropped_sandbox_is_gone() {
    let world = World::new().await;
    let (web, folder) = (world.sandbox.settings().web, world.sandbox.folder(REPO).unwrap());
    assert!(folder.exists());
    assert!(world.client.get(&web).send().await.is_ok());
    drop(world.sandbox);
    let gone = async || {
        while world.client.get(&web).send().await.is_ok() || folder.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), gone()).await.unwrap();
}

#[tokio::test]
async fn keys_are_written_for_their_owner_only() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = world.sandbox.settings();
    settings.write_to(&folder.path().join("keys")).unwrap();
    let file = settings.key_file.clone().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), sandbox::PRIVATE_KEY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let text = settings.to_string();
    assert!(text.contains(&settings.app_id.to_string()) && text.contains("app.pem"), "{text}");
}
