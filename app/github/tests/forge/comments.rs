//! One comment, whatever happens.

use domain::ports::Forge as _;
use domain::ports::forge::{CommentFound, ForgeError, Reaction};
use serde_json::json;

use crate::fake::Fault;
use crate::stage::{MARKER, Stage, repo, wanted};

const COMMENTS: &str = "/issues/7/comments";

fn found(id: u64) -> CommentFound {
    CommentFound { id: Some(id), url: Some(format!("https://x/{id}")), ..CommentFound::default() }
}

#[tokio::test]
async fn made_then_edited_then_left_alone() {
    let stage = Stage::new().await;
    let made = stage.github.comment(&wanted("one"), None, false).await.unwrap();
    assert_eq!(made, found(1002));
    for known in [None, Some(1002)] {
        assert_eq!(stage.github.comment(&wanted("two"), known, false).await.unwrap(), found(1002));
    }
    assert_eq!(stage.comments(), [(1002, format!("{MARKER}\ntwo"))]);
    assert_eq!(stage.seen("POST", COMMENTS).len(), 1);
    assert_eq!(stage.seen("PATCH", "").len(), 1);
    // As a browser would leave it.
    stage.fake().comments.get_mut(&1002).unwrap()["body"] = json!(format!("{MARKER}\r\ntwo\r\n"));
    stage.github.comment(&wanted("two"), None, false).await.unwrap();
    assert_eq!(stage.seen("PATCH", "").len(), 1);
}

#[tokio::test]
async fn stored_although_the_answer_was_a_failure() {
    for status in [500, 502, 504] {
        let stage = Stage::new().await;
        stage.fault(Fault::new("POST", COMMENTS, status).done());
        assert_eq!(stage.github.comment(&wanted("one"), None, false).await.unwrap(), found(1002));
        assert_eq!(stage.comments().len(), 1);
        assert_eq!(stage.seen("POST", COMMENTS).len(), 1);
    }
}

#[tokio::test]
async fn stored_although_the_answer_cannot_be_read() {
    let stage = Stage::new().await;
    stage.fault(Fault::new("POST", COMMENTS, 201).done().says("half an answer"));
    assert_eq!(stage.github.comment(&wanted("one"), None, false).await.unwrap(), found(1002));
    assert_eq!(stage.comments().len(), 1);
}

#[tokio::test]
async fn stored_although_the_answer_broke_off() {
    let stage = Stage::new().await;
    stage.fault(Fault::new("POST", COMMENTS, 201).done().header("content-length", 999_999));
    assert_eq!(stage.github.comment(&wanted("one"), None, false).await.unwrap(), found(1002));
    assert_eq!(stage.comments().len(), 1);
    assert_eq!(stage.seen("POST", COMMENTS).len(), 1);
}

#[tokio::test]
async fn not_stored_is_tried_once_more() {
    let stage = Stage::new().await;
    stage.fault(Fault::new("POST", COMMENTS, 502));
    assert_eq!(stage.github.comment(&wanted("one"), None, false).await.unwrap(), found(1002));
    assert_eq!(stage.seen("POST", COMMENTS).len(), 2);

    let stage = Stage::new().await;
    stage.fault(Fault::new("POST", COMMENTS, 502));
    stage.fault(Fault::new("POST", COMMENTS, 502).done());
    let error = stage.github.comment(&wanted("one"), None, false).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
    assert_eq!(stage.seen("POST", COMMENTS).len(), 2);
    // Whoever asks again finds it.
    assert_eq!(stage.github.comment(&wanted("one"), None, false).await.unwrap(), found(1002));
    assert_eq!(stage.comments().len(), 1);
}

#[tokio::test]
async fn an_edit_is_repeated_as_a_whole() {
    let stage = Stage::new().await;
    stage.fake().comment(9, "zab[bot]", "Bot", MARKER);
    stage.fault(Fault::new("PATCH", "/issues/comments/9", 500));
    stage.github.comment(&wanted("whole"), Some(9), false).await.unwrap();
    let bodies: Vec<_> = stage.seen("PATCH", "").into_iter().map(|seen| seen.body).collect();
    let whole = json!({ "body": format!("{MARKER}\nwhole") });
    assert_eq!(bodies, [whole.clone(), whole]);
    assert_eq!(stage.clock.slept(), [500]);
}

#[tokio::test]
async fn found_on_the_third_page() {
    let stage = Stage::new().await;
    stage.fake().page_size = 2;
    for id in 1..=5 {
        stage.fake().comment(id, "ann", "User", "talk");
    }
    stage.fake().comment(6, "Zab[bot]", "Bot", &format!("{MARKER}\r\nold"));
    assert_eq!(stage.github.comment(&wanted("new"), None, false).await.unwrap(), found(6));
    assert_eq!(stage.seen("GET", COMMENTS).len(), 3);
    assert_eq!(stage.seen("GET", COMMENTS)[0].path, "/repos/octo/demo/issues/7/comments?per_page=100");
    assert_eq!(stage.seen("POST", COMMENTS).len(), 0);
}

#[tokio::test]
async fn a_next_page_elsewhere_is_not_asked_for() {
    let stage = Stage::new().await;
    let elsewhere = Fault::new("GET", COMMENTS, 200).header("link", "<http://127.0.0.2:1/x>; rel=\"next\"");
    stage.fault(Fault { body: json!([]), ..elsewhere });
    let error = stage.github.comment(&wanted("new"), None, false).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
}

#[tokio::test]
async fn doubles_are_healed() {
    let stage = Stage::new().await;
    for id in [12, 10, 11] {
        stage.fake().comment(id, "zab[bot]", "Bot", MARKER);
    }
    assert_eq!(stage.github.comment(&wanted("new"), None, false).await.unwrap(), found(10));
    assert_eq!(stage.comments(), [(10, format!("{MARKER}\nnew"))]);
}

#[tokio::test]
async fn doubles_that_may_not_be_deleted_are_hidden() {
    let stage = Stage::new().await;
    for id in [10, 11, 12] {
        stage.fake().comment(id, "zab[bot]", "Bot", MARKER);
    }
    stage.fake().comments.get_mut(&12).unwrap()["minimized"] = json!({ "reason": "outdated" });
    for part in ["/issues/comments/11", "/issues/comments/12"] {
        stage.fault(Fault::new("DELETE", part, 403).says("Must have admin rights to Repository."));
    }
    let said = Fault::new("POST", "/graphql", 200);
    stage.fault(Fault { body: json!({ "data": {}, "errors": [{ "message": "no" }] }), ..said });
    assert_eq!(stage.github.comment(&wanted("new"), None, false).await.unwrap(), found(10));
    let asked = stage.seen("POST", "/graphql");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body["variables"], json!({ "id": "N11" }));
    assert!(asked[0].body["query"].as_str().unwrap().contains("OUTDATED"));
}

#[tokio::test]
async fn the_marker_in_other_hands() {
    let stage = Stage::new().await;
    stage.fake().comment(1, "mallory", "User", &format!("{MARKER}\nmine"));
    // A name alone makes no bot, and another bot is another.
    stage.fake().comment(2, "zab[bot]", "User", MARKER);
    stage.fake().comment(3, "zob[bot]", "Bot", MARKER);
    stage.fake().comment(4, "ann", "User", &format!("> {MARKER}\n\nquoted"));
    stage.fake().comment(5, "zab[bot]", "Bot", &format!("> {MARKER}\n"));
    stage.fake().comments.get_mut(&3).unwrap()["user"] = json!(null);
    let before = stage.comments();
    for known in [None, Some(1)] {
        let made = stage.github.comment(&wanted("ours"), known, true).await.unwrap();
        assert_eq!(made, CommentFound { foreign: Some(1), ..found(1002) });
    }
    assert_eq!(stage.comments()[..5], before);
    assert_eq!(stage.seen("PATCH", "").len(), 0);
    assert_eq!(stage.seen("DELETE", "").len(), 0);
}

#[tokio::test]
async fn ours_by_the_word_of_github() {
    let stage = Stage::new().await;
    stage.fake().comment(1, "renamed[bot]", "Bot", MARKER);
    stage.fake().comments.get_mut(&1).unwrap()["performed_via_github_app"] = json!({ "id": 5 });
    assert_eq!(stage.github.comment(&wanted("new"), None, false).await.unwrap(), found(1));
}

#[tokio::test]
async fn a_deleted_one_is_made_again_only_on_demand() {
    let stage = Stage::new().await;
    assert_eq!(stage.github.comment(&wanted("x"), Some(9), false).await.unwrap(), CommentFound::default());
    assert_eq!(stage.seen("POST", COMMENTS).len(), 0);
    let made = stage.github.comment(&wanted("x"), Some(9), true).await.unwrap();
    assert_eq!(made.id.map(|id| stage.fake().comments.contains_key(&id)), Some(true));
    assert!(made.recreated);
    assert_eq!(stage.seen("POST", COMMENTS).len(), 1);
    // Deleted between the look and the edit.
    stage.fault(Fault::new("PATCH", "", 410));
    let again = stage.github.comment(&wanted("y"), made.id, false).await.unwrap();
    assert_eq!(again, CommentFound::default());
}

#[tokio::test]
async fn two_at_once_make_one() {
    let stage = Stage::new().await;
    let (one, two) = (wanted("x"), wanted("x"));
    let (one, two) = tokio::join!(stage.github.comment(&one, None, false), stage.github.comment(&two, None, false));
    assert_eq!(one.unwrap(), two.unwrap());
    assert_eq!(stage.comments().len(), 1);
}

#[tokio::test]
async fn refused_before_it_is_sent() {
    let stage = Stage::new().await;
    let room = 65_536 - MARKER.len() - 1;
    let error = stage.github.comment(&wanted(&"x".repeat(room + 1)), None, false).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
    let mut bare = wanted("x");
    bare.body.insert(0, '\n');
    let error = stage.github.comment(&bare, None, false).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
    assert!(stage.fake().seen.is_empty());
    stage.github.comment(&wanted(&"x".repeat(room)), None, false).await.unwrap();
}

#[tokio::test]
async fn locked_and_too_long_for_github() {
    type Kind = fn(String) -> ForgeError;
    let table: [(u16, &str, Kind); 3] = [
        (403, "Unable to create comment because issue is locked.", ForgeError::Forbidden),
        (422, "body is too long", ForgeError::Refused),
        (451, "Repository access blocked", ForgeError::Refused),
    ];
    for (status, said, kind) in table {
        let stage = Stage::new().await;
        stage.fault(Fault::new("POST", COMMENTS, status).says(said));
        let error = stage.github.comment(&wanted("x"), None, false).await.unwrap_err();
        assert_eq!(error, kind(format!("POST /repos/octo/demo{COMMENTS}: {status}: {said}")));
        assert_eq!(stage.seen("POST", COMMENTS).len(), 1);
    }
}

#[tokio::test]
async fn reactions() {
    let stage = Stage::new().await;
    stage.fake().comment(1, "ann", "User", "/ab-test");
    stage.fault(Fault::new("POST", "/reactions", 502).done());
    stage.github.react(&repo(), 1, Reaction::Rocket).await.unwrap();
    let seen = stage.seen("POST", "/reactions");
    assert_eq!(seen.len(), 2);
    assert_eq!(
        (seen[1].path.as_str(), &seen[1].body["content"]),
        ("/repos/octo/demo/issues/comments/1/reactions", &json!("rocket"))
    );
    let error = stage.github.react(&repo(), 2, Reaction::Eyes).await.unwrap_err();
    assert!(matches!(error, ForgeError::Gone(_)), "{error:?}");
}

#[tokio::test]
async fn comments_of_which_nothing_is_left() {
    let stage = Stage::new().await;
    stage.fake().comment(2, "zab[bot]", "Bot", MARKER);
    let names = ["id", "node_id", "html_url", "body", "user", "performed_via_github_app", "minimized"];
    let nulls: serde_json::Map<_, _> = names.iter().map(|name| ((*name).to_owned(), json!(null))).collect();
    let hollow = json!({ "id": 1, "body": MARKER, "user": { "login": null, "type": null, "id": null } });
    let page = json!([null, {}, 7, nulls, hollow, { "id": "of the future" }, stage.fake().comments[&2].clone()]);
    stage.fault(Fault { body: page, ..Fault::new("GET", COMMENTS, 200) });
    let made = stage.github.comment(&wanted("new"), None, false).await.unwrap();
    assert_eq!(made, CommentFound { foreign: Some(1), ..found(2) });
}
