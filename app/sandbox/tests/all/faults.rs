//! What goes wrong on purpose.

use sandbox::faults::{Fault, Faults, Rule};
use serde_json::json;

use super::support::{NOON, REPO, World};

const COMMENTS: &str = "/repos/octo/demo/issues/1/comments";

#[tokio::test]
async fn an_answer_is_lost_before_and_after() {
    let world = World::new().await;
    let token = world.token(json!({})).await;
    let cases = [
        (Fault::Refused(502), Some(502), 0),
        (Fault::Forgotten(502), Some(502), 1),
        (Fault::Cut, None, 0),
        (Fault::CutAfter, None, 1),
        (Fault::Slow(1), Some(201), 1),
        (Fault::Gone, Some(404), 0),
        (Fault::Forbidden, Some(403), 0),
    ];
    for (fault, status, stored) in cases {
        let before = world.sandbox.comments(REPO, 1).len();
        world.sandbox.add_rule(Rule::next("POST", "/repos/*/comments", fault));
        let got = world.ask("POST", COMMENTS, &token, Some(json!({ "body": "hello" }))).await;
        assert_eq!(got.map(|got| got.status).ok(), status, "{fault:?}");
        assert_eq!(world.sandbox.comments(REPO, 1).len() - before, stored, "{fault:?}");
        let logged = world.sandbox.requests().pop().unwrap();
        assert_eq!((logged.status, logged.done), (status.unwrap_or(0), stored == 1), "{fault:?}");
        assert_eq!(logged.body, r#"{"body":"hello"}"#);
        // The rule is used up, and other connections are not concerned.
        assert_eq!(world.ask("GET", COMMENTS, &token, None).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn limits() {
    let world = World::new().await;
    let token = world.token(json!({})).await;
    world.sandbox.add_rule(Rule { times: 2, ..Rule::next("GET", COMMENTS, Fault::Primary(90)) });
    for _ in 0..2 {
        let got = world.ask("GET", COMMENTS, &token, None).await.unwrap();
        assert_eq!((got.status, got.headers["x-ratelimit-remaining"].as_str()), (403, "0"));
        assert_eq!(got.headers["x-ratelimit-reset"], (NOON / 1000 + 90).to_string());
    }
    for (fault, status) in [(Fault::Secondary(7), 429), (Fault::SecondaryForbidden(7), 403)] {
        world.sandbox.add_rule(Rule::next("*", "*", fault));
        let got = world.ask("GET", COMMENTS, &token, None).await.unwrap();
        assert_eq!((got.status, got.headers["retry-after"].as_str()), (status, "7"));
    }
    assert_eq!(world.ask("GET", COMMENTS, &token, None).await.unwrap().status, 200);
}

#[tokio::test]
async fn chances_are_the_same_with_the_same_seed() {
    let run = async |seed| {
        let world = World::with(|options| options.seed = seed).await;
        let token = world.token(json!({})).await;
        world.sandbox.set_faults(Faults { refused: 0.3, forgotten: 0.3, ..Faults::default() });
        let mut all = Vec::new();
        for _ in 0..30 {
            let got = world.ask("POST", COMMENTS, &token, Some(json!({ "body": "hello" }))).await.unwrap();
            all.push((got.status, world.sandbox.comments(REPO, 1).len()));
        }
        all
    };
    let (first, again, other) = (run(1).await, run(1).await, run(2).await);
    assert_eq!(first, again);
    assert_ne!(first, other);
}
