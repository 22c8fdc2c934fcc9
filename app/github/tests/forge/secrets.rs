//! What must never be said.

use domain::ports::Forge as _;
use domain::ports::forge::{ForgeError, Repo};
use github::redact;
use proptest::prelude::*;
use serde_json::json;

use crate::fake::Fault;
use crate::stage::{Stage, pull, repo};

proptest! {
    #[test]
    fn tokens_do_not_survive(
        before in "\\PC{0,30}",
        prefix in prop::sample::select(vec!["ghs_", "ghp_", "gho_", "ghu_", "ghr_", "github_pat_"]),
        secret in "[A-Za-z0-9_]{1,60}",
        after in "\\PC{0,30}",
    ) {
        let clean = redact(&format!("{before}{prefix}Q{secret}Q{after}"));
        let secret = format!("Q{secret}Q");
        let elsewhere = before.contains(&secret) || after.contains(&secret);
        prop_assert!(elsewhere || !clean.contains(&secret));
        prop_assert!(!clean.contains(prefix));
    }

    #[test]
    fn neither_do_jwts(
        before in "\\PC{0,30}",
        parts in ("eyJ[A-Za-z0-9_-]{16,40}", "eyJ[A-Za-z0-9_-]{16,40}", "[A-Za-z0-9_-]{20,40}"),
        after in "[^A-Za-z0-9]\\PC{0,30}",
    ) {
        let clean = redact(&format!("{before}{}.{}.{}{after}", parts.0, parts.1, parts.2));
        for part in [parts.0, parts.1, parts.2] {
            prop_assert!(!clean.contains(&part));
        }
    }

    #[test]
    fn clean_texts_stay(text in "[a-z .,:/0-9é]{0,80}") {
        prop_assert_eq!(redact(&text), text);
    }

    #[test]
    fn twice_is_once(text in "(\\PC|ghs_|eyJ|[.=+/]){0,40}") {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }
}

#[tokio::test]
async fn errors_quote_no_token() {
    let stage = Stage::new().await;
    let jwt = format!("eyJ{}.eyJ{}.{}", "a".repeat(20), "b".repeat(20), "c".repeat(20));
    let said = format!("Bad credentials: ghs_1001 and {jwt}");
    for status in [400, 401, 403, 404, 422, 500] {
        for _ in 0..3 {
            stage.fault(Fault::new("GET", "/pulls/7", status).says(&said));
        }
        let error = stage.github.pull(&pull()).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("ghs_") && !text.contains("eyJ") && text.contains("[redacted]"), "{text}");
        stage.fake().faults.clear();
    }
    stage.fault(Fault { body: json!({ "token": ["ghs_secret"] }), ..Fault::new("POST", "/access_tokens", 201) });
    let fresh = Repo { id: 12, ..repo() };
    let error = stage.github.git(&fresh).await.unwrap_err();
    let asked = "POST /app/installations/3/access_tokens";
    assert_eq!(error, ForgeError::Unavailable(format!("{asked}: an answer that cannot be read")));
}

#[tokio::test]
async fn nothing_shows_a_secret() {
    let stage = Stage::new().await;
    let access = stage.github.git(&repo()).await.unwrap();
    let settings = github::Settings::new(5, vec![secrecy::SecretString::from("-----BEGIN sesame")]);
    let shown = format!("{access:?} {:?} {settings:?}", stage.github);
    for secret in ["ghs_", "Basic", "sesame"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
