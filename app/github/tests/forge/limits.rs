//! When GitHub wants to be left alone, and when it simply says no.

use domain::ports::Forge as _;
use domain::ports::forge::{Account, ForgeError, Permission};
use domain::time::Ms;
use serde_json::json;

use crate::fake::Fault;
use crate::stage::{START, Stage, pull, repo, wanted};

fn until(error: &ForgeError) -> Ms {
    match error {
        ForgeError::Limited { until, .. } => *until,
        other => panic!("{other:?}"),
    }
}

fn limits() -> Vec<(Fault, u64)> {
    let new = |status| Fault::new("GET", "/pulls/7", status);
    let reset = START / 1000 + 900;
    vec![
        (new(403).header("retry-after", 30), START + 30_000),
        (new(429).header("retry-after", 30), START + 30_000),
        (new(403).header("x-ratelimit-remaining", 0).header("x-ratelimit-reset", reset), reset * 1000),
        (new(429).header("x-ratelimit-remaining", 0).header("x-ratelimit-reset", reset), reset * 1000),
        (new(429), START + 60_000),
    ]
}

#[tokio::test]
async fn left_alone_until_then() {
    for (fault, end) in limits() {
        let stage = Stage::new().await;
        stage.fault(fault);
        assert_eq!(until(&stage.github.pull(&pull()).await.unwrap_err()), Ms(end));
        let asked = stage.fake().seen.len();
        // Nothing of this installation is asked, reading or writing.
        assert_eq!(until(&stage.github.pull(&pull()).await.unwrap_err()), Ms(end));
        assert_eq!(until(&stage.github.comment(&wanted("x"), None, false).await.unwrap_err()), Ms(end));
        assert_eq!(stage.fake().seen.len(), asked);
        // Another one is not concerned.
        stage.github.app().await.unwrap();
        stage.clock.pass(end - START);
        stage.github.comment(&wanted("x"), None, false).await.unwrap();
        assert_eq!(stage.comments().len(), 1);
    }
}

#[tokio::test]
async fn unsaid_waits_grow() {
    let stage = Stage::new().await;
    for minutes in [1, 2, 4] {
        stage.fault(Fault::new("GET", "/pulls/7", 429));
        let end = until(&stage.github.pull(&pull()).await.unwrap_err());
        assert_eq!(end.since(Ms(stage.clock.now())), minutes * 60_000);
        stage.clock.pass(minutes * 60_000);
    }
    stage.github.react(&repo(), 1, domain::ports::forge::Reaction::Eyes).await.unwrap_err();
    stage.fault(Fault::new("GET", "/pulls/7", 429));
    let end = until(&stage.github.pull(&pull()).await.unwrap_err());
    assert_eq!(end.since(Ms(stage.clock.now())), 60_000);
}

#[tokio::test]
async fn a_limited_comment_is_not_made_twice() {
    let stage = Stage::new().await;
    stage.fault(Fault::new("POST", "/issues/7/comments", 403).header("retry-after", 5));
    until(&stage.github.comment(&wanted("x"), None, false).await.unwrap_err());
    assert_eq!(stage.seen("POST", "/comments").len(), 1);
}

#[tokio::test]
async fn a_no_is_asked_for_once() {
    for fault in [
        Fault::new("GET", "/pulls/7", 403).says("Resource not accessible by integration"),
        Fault::new("GET", "/pulls/7", 403)
            .says("Resource not accessible by integration")
            .header("x-ratelimit-remaining", 0)
            .header("x-ratelimit-reset", START / 1000 + 9),
        Fault::new("GET", "/pulls/7", 403).says("no").header("x-ratelimit-remaining", 4999),
    ] {
        let stage = Stage::new().await;
        stage.fault(fault);
        let error = stage.github.pull(&pull()).await.unwrap_err();
        assert!(matches!(error, ForgeError::Forbidden(_)), "{error:?}");
        assert_eq!(stage.seen("GET", "").len(), 1);
    }
}

#[tokio::test]
async fn failures_are_repeated_for_seconds() {
    for (failures, answer) in [(2, Ok(Permission::Read)), (3, Err(()))] {
        let stage = Stage::new().await;
        let ann = Account { id: 8, login: "ann".into() };
        stage.fake().permissions.insert("ann".into(), json!({ "permission": "read", "user": { "id": 8 } }));
        for _ in 0..failures {
            stage.fault(Fault::new("GET", "/collaborators/", 503));
        }
        let found = stage.github.permission(&repo(), &ann).await;
        if let Err(error) = &found {
            assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
        }
        assert_eq!(found.map_err(|_| ()), answer);
        assert_eq!(stage.seen("GET", "/collaborators/").len(), 3);
        assert_eq!(stage.clock.slept(), [500, 1500]);
    }
}

#[tokio::test]
async fn writes_keep_their_distance() {
    let stage = Stage::with("", |settings| settings.write_pause_ms = 1000).await;
    let known = stage.github.comment(&wanted("1"), None, false).await.unwrap().id;
    assert!(stage.clock.slept().is_empty());
    stage.github.comment(&wanted("2"), known, false).await.unwrap();
    assert_eq!(stage.clock.slept(), [1000]);
    stage.clock.pass(400);
    stage.github.comment(&wanted("3"), known, false).await.unwrap();
    assert_eq!(stage.clock.slept(), [1000, 600]);
    stage.clock.pass(1000);
    stage.github.comment(&wanted("4"), known, false).await.unwrap();
    assert_eq!(stage.clock.slept(), [1000, 600]);
}

#[tokio::test]
async fn nobody_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let free = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let stage = Stage::with("", |settings| settings.api = free).await;
    let error = stage.github.pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
    assert!(stage.fake().seen.is_empty());
}

#[tokio::test]
async fn a_server_that_says_nothing() {
    // It accepts and is silent.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let stage = Stage::with("", |settings| {
        settings.api = silent;
        settings.timeout_ms = 20;
    })
    .await;
    let error = stage.github.app().await.unwrap_err();
    assert_eq!(error, ForgeError::Unavailable("GET /app: no answer within 20 ms".into()));
    drop(listener);
}
