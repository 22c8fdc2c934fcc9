//! Tokens and keys.

use domain::ports::Forge as _;
use domain::ports::forge::{ForgeError, GitAccess};
use github::SetupError;
use secrecy::SecretString;
use serde_json::json;

use crate::fake::Fault;
use crate::stage::{FIRST_KEY, MARKER, SECOND_KEY, Stage, pull, repo, wanted};

const TOKENS: &str = "/access_tokens";

#[tokio::test(flavor = "multi_thread")]
async fn twenty_at_once_share_one_token() {
    let stage = Stage::new().await;
    stage.fake().comment(1, "ann", "User", "hello");
    let all: Vec<_> = (0..20)
        .map(|_| {
            let github = stage.github.clone();
            tokio::spawn(async move { github.react(&repo(), 1, domain::ports::forge::Reaction::Eyes).await })
        })
        .collect();
    for one in all {
        one.await.unwrap().unwrap();
    }
    let asked = stage.seen("POST", TOKENS);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/app/installations/3/access_tokens");
    assert_eq!(
        asked[0].body,
        json!({
            "repository_ids": [11],
            "permissions": {
                "issues": "write", "pull_requests": "read", "checks": "write", "contents": "read", "metadata": "read",
            },
        })
    );
    assert_eq!(stage.seen("POST", "/reactions").len(), 20);
}

#[tokio::test]
async fn git_may_only_read_the_contents() {
    let stage = Stage::with("", |settings| settings.web = "https://git.example/".into()).await;
    let GitAccess { url, authorization } = stage.github.git(&repo()).await.unwrap();
    assert_eq!(url, "https://git.example/octo/demo.git");
    // x-access-token:ghs_1001
    assert_eq!(authorization.as_deref(), Some("Basic eC1hY2Nlc3MtdG9rZW46Z2hzXzEwMDE="));
    stage.github.git(&repo()).await.unwrap();
    let asked = stage.seen("POST", TOKENS);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body, json!({ "repository_ids": [11], "permissions": { "contents": "read" } }));
}

#[tokio::test]
async fn tokens_are_renewed_before_they_end_and_when_they_are_refused() {
    let stage = Stage::new().await;
    stage.github.git(&repo()).await.unwrap();
    stage.clock.pass(54 * 60_000);
    stage.github.git(&repo()).await.unwrap();
    assert_eq!(stage.seen("POST", TOKENS).len(), 1);
    stage.clock.pass(60_000);
    stage.github.git(&repo()).await.unwrap();
    assert_eq!(stage.seen("POST", TOKENS).len(), 2);

    // Revoked: a new one, and the request once more.
    stage.github.comment(&wanted("one"), None, false).await.unwrap();
    stage.fake().tokens.clear();
    stage.github.comment(&wanted("two"), None, false).await.unwrap();
    assert_eq!(stage.seen("POST", TOKENS).len(), 4);
    assert_eq!(stage.comments(), [(1004, format!("{MARKER}\ntwo"))]);

    // Refused again: that is all.
    stage.fault(Fault::new("GET", "/pulls/7", 401));
    stage.fault(Fault::new("GET", "/pulls/7", 401));
    let error = stage.github.pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden(_)), "{error:?}");
    assert_eq!(stage.seen("GET", "/pulls/7").len(), 2);
}

#[tokio::test]
async fn an_old_token_serves_while_no_new_one_is_to_be_had() {
    let stage = Stage::new().await;
    stage.github.git(&repo()).await.unwrap();
    stage.clock.pass(57 * 60_000);
    for _ in 0..3 {
        stage.fault(Fault::new("POST", TOKENS, 503));
    }
    stage.github.git(&repo()).await.unwrap();
    assert_eq!(stage.seen("POST", TOKENS).len(), 4);
    stage.clock.pass(3 * 60_000);
    for _ in 0..3 {
        stage.fault(Fault::new("POST", TOKENS, 503));
    }
    let error = stage.github.git(&repo()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn a_wrong_clock_is_learnt_once() {
    for drift in [-7_200_000, 7_200_000] {
        let stage = Stage::new().await;
        stage.fake().drift = drift;
        assert_eq!(stage.github.app().await.unwrap().slug, "zab");
        assert_eq!(stage.seen("GET", "/app").len(), 2);
        stage.github.app().await.unwrap();
        assert_eq!(stage.seen("GET", "/app").len(), 3);
        // Ends are on GitHub's clock as well.
        stage.github.git(&repo()).await.unwrap();
        stage.clock.pass(54 * 60_000);
        stage.github.git(&repo()).await.unwrap();
        assert_eq!(stage.seen("POST", TOKENS).len(), 1);
    }
}

#[tokio::test]
async fn a_jwt_is_used_again_for_minutes() {
    let stage = Stage::new().await;
    for _ in 0..3 {
        stage.github.app().await.unwrap();
        stage.clock.pass(100_000);
    }
    let seen = stage.seen("GET", "/app");
    assert_eq!(seen[0].login, seen[1].login);
    assert_eq!(seen[1].login, seen[2].login);
    stage.github.app().await.unwrap();
    assert_ne!(seen[2].login, stage.seen("GET", "/app")[3].login);
}

#[tokio::test]
async fn keys_are_rotated() {
    let both = |settings: &mut github::Settings| {
        settings.keys = vec![SecretString::from(FIRST_KEY), SecretString::from(SECOND_KEY)];
    };
    let stage = Stage::with("", both).await;
    stage.github.app().await.unwrap();
    assert_eq!(stage.seen("GET", "/app").len(), 1);
    stage.fake().rotated = true;
    stage.github.app().await.unwrap();
    assert_eq!(stage.seen("GET", "/app").len(), 3);
    // It stays with the one that was accepted.
    stage.github.app().await.unwrap();
    assert_eq!(stage.seen("GET", "/app").len(), 4);

    let one = Stage::new().await;
    one.fake().rotated = true;
    let error = one.github.app().await.unwrap_err();
    assert_eq!(error, ForgeError::Forbidden("GET /app: 401: Bad credentials".into()));
    assert_eq!(one.seen("GET", "/app").len(), 1);
}

#[tokio::test]
async fn keys_that_are_none() {
    for (keys, expected) in [
        (vec![], SetupError::NoKey),
        (vec![FIRST_KEY, "-----BEGIN RSA PRIVATE KEY-----\nnope\n"], SetupError::BadKey(2)),
    ] {
        let keys = keys.into_iter().map(SecretString::from).collect();
        let settings = github::Settings::new(5, keys);
        let clock = std::sync::Arc::new(crate::stage::StillClock::default());
        assert_eq!(github::GitHub::new(&settings, clock).unwrap_err(), expected);
    }
}

#[tokio::test]
async fn what_a_token_is_refused_for() {
    type Kind = fn(String) -> ForgeError;
    let table: [(u16, &str, Kind); 4] = [
        (404, "Not Found", ForgeError::Gone),
        (403, "This installation has been suspended", ForgeError::Forbidden),
        (422, "The permissions requested are not granted to this installation.", ForgeError::Forbidden),
        (
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
            ForgeError::Gone,
        ),
    ];
    for (status, said, kind) in table {
        let stage = Stage::new().await;
        stage.fault(Fault::new("POST", TOKENS, status).says(said));
        let error = stage.github.git(&repo()).await.unwrap_err();
        assert_eq!(error, kind(format!("POST /app/installations/3/access_tokens: {status}: {said}")));
        assert_eq!(stage.seen("POST", TOKENS).len(), 1);
    }
}
