//! Labels, and comments that are folded.

use domain::ports::Forge as _;
use domain::ports::forge::ForgeError;
use serde_json::json;

use crate::fake::Fault;
use crate::stage::{Stage, pull, repo};

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn only_what_differs_is_asked_for() {
    let stage = Stage::new().await;
    stage.fake().page_size = 1;
    stage.fake().labels = names(&["bug", "AB: Slower", "ab: running"]);
    let (add, remove) = (names(&["ab: faster", "bug"]), names(&["ab: slower", "ab: running", "never there", "bug"]));
    for _ in 0..2 {
        stage.github.labels(&pull(), &add, &remove).await.unwrap();
        assert_eq!(stage.fake().labels, ["bug", "ab: faster"]);
    }
    assert_eq!(stage.seen("POST", "/labels").len(), 1);
    assert_eq!(stage.seen("POST", "/labels")[0].body, json!({ "labels": ["ab: faster"] }));
    let removed: Vec<String> = stage.seen("DELETE", "/labels").into_iter().map(|seen| seen.path).collect();
    assert_eq!(
        removed,
        ["/repos/octo/demo/issues/7/labels/AB%3A%20Slower", "/repos/octo/demo/issues/7/labels/ab%3A%20running"]
    );
    stage.fake().seen.clear();
    stage.github.labels(&pull(), &[], &[]).await.unwrap();
    assert!(stage.fake().seen.is_empty());
}

#[tokio::test]
async fn somebody_else_took_it_off_meanwhile() {
    let stage = Stage::new().await;
    stage.fake().labels = names(&["a"]);
    stage.fault(Fault::new("DELETE", "/labels/a", 404).done());
    stage.github.labels(&pull(), &[], &names(&["a"])).await.unwrap();
    stage.fault(Fault::new("GET", "/labels", 404));
    let error = stage.github.labels(&pull(), &names(&["a"]), &[]).await.unwrap_err();
    assert!(matches!(error, ForgeError::Gone(_)), "{error:?}");
}

#[tokio::test]
async fn our_comments_are_deleted_and_no_others() {
    let stage = Stage::new().await;
    stage.fake().comment(1, "zab[bot]", "Bot", "ours");
    stage.fake().comment(2, "ann", "User", "hers");
    // Somebody was faster; and one that is gone is gone.
    stage.fault(Fault::new("DELETE", "/comments/1", 404).done());
    for _ in 0..2 {
        stage.github.delete(&repo(), 1).await.unwrap();
    }
    assert_eq!(stage.seen("DELETE", "/comments/1").len(), 1);
    let error = stage.github.delete(&repo(), 2).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
    assert!(stage.fake().comments.contains_key(&2) && !stage.fake().comments.contains_key(&1));
    stage.fake().comment(3, "zab[bot]", "Bot", "ours");
    stage.fault(Fault::new("DELETE", "/comments/3", 403));
    assert!(stage.github.delete(&repo(), 3).await.is_err());
}

#[tokio::test]
async fn our_comments_are_folded_once() {
    let stage = Stage::new().await;
    stage.fake().comment(1, "zab[bot]", "Bot", "ours");
    stage.fake().comment(2, "ann", "User", "hers");
    for _ in 0..2 {
        stage.github.minimise(&repo(), 1).await.unwrap();
        assert_eq!(stage.fake().comments[&1]["minimized"]["reason"], "outdated");
    }
    let asked = stage.seen("POST", "/graphql");
    assert_eq!((asked.len(), &asked[0].body["variables"]), (1, &json!({ "id": "N1" })));
    let error = stage.github.minimise(&repo(), 2).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
    assert!(stage.fake().comments[&2]["minimized"].is_null());
    // One that is gone needs no folding.
    stage.github.minimise(&repo(), 3).await.unwrap();
    // GraphQL says with status 200 that it was asked too often.
    stage.fake().comment(4, "zab[bot]", "Bot", "ours");
    let said = json!({ "errors": [{ "type": "RATE_LIMITED", "message": "API rate limit exceeded" }] });
    for _ in 0..3 {
        stage.fault(Fault::new("POST", "/graphql", 200).tells(said.clone()));
    }
    let error = stage.github.minimise(&repo(), 4).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
}
