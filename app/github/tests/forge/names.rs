//! Repositories that are called something else now.

use domain::ports::Forge as _;
use domain::ports::forge::{ForgeError, PullId, Repo};
use serde_json::json;

use crate::fake::Fault;
use crate::reading::page;
use crate::stage::{MARKER, Stage, pull, repo, wanted};

#[tokio::test]
async fn a_redirect_keeps_method_body_and_login() {
    for status in [301, 302, 307, 308] {
        let stage = Stage::new().await;
        stage.fake().name = "octo/renamed".into();
        let place = format!("{}/repositories/11/issues/7/comments", stage.address);
        stage.fault(Fault { body: json!([]), ..Fault::new("GET", "/repos/octo/demo/issues/7/comments", 200) });
        stage.fault(Fault::new("POST", "/repos/octo/demo/issues/7/comments", status).header("location", place));
        stage.github.comment(&wanted("x"), None, false).await.unwrap();
        let posted = stage.seen("POST", "/issues/7/comments");
        assert_eq!(posted.len(), 2);
        assert_eq!(posted[1].path, "/repositories/11/issues/7/comments");
        assert_eq!((&posted[1].body, &posted[1].login), (&posted[0].body, &posted[0].login));
        assert_eq!(stage.comments(), [(1002, format!("{MARKER}\nx"))]);
        // From now on by its new name.
        stage.github.comment(&wanted("y"), Some(1002), false).await.unwrap();
        assert_eq!(stage.seen("PATCH", "")[0].path, "/repos/octo/renamed/issues/comments/1002");
        assert_eq!(stage.github.git(&repo()).await.unwrap().url, "https://github.com/octo/renamed.git");
    }
}

#[tokio::test]
async fn a_rename_that_github_remembers() {
    let stage = Stage::new().await;
    stage.fake().page_size = 1;
    stage.fake().name = "octo/renamed".into();
    stage.fake().former.push("octo/demo".into());
    stage.fake().comment(1, "ann", "User", "talk");
    stage.fake().comment(2, "zab[bot]", "Bot", MARKER);
    assert_eq!(stage.github.comment(&wanted("x"), None, false).await.unwrap().id, Some(2));
    assert_eq!(stage.seen("GET", "/repos/octo/demo/").len(), 1);
    assert_eq!(stage.seen("PATCH", "/repos/octo/renamed/").len(), 1);
}

#[tokio::test]
async fn a_redirect_elsewhere_is_not_followed() {
    let elsewhere = Stage::new().await;
    let stage = Stage::new().await;
    let place = format!("{}/repositories/11/pulls/7", elsewhere.address);
    stage.fault(Fault::new("GET", "/pulls/7", 301).header("location", place));
    let error = stage.github.pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
    assert!(elsewhere.fake().seen.is_empty());
}

#[tokio::test]
async fn a_circle_ends() {
    let stage = Stage::new().await;
    for _ in 0..100 {
        for (part, to) in [("/pulls/7", "/repositories/11/pulls/7?"), ("/pulls/7", "/repositories/11/pulls/7")] {
            stage.fault(Fault::new("GET", part, 302).header("location", to));
        }
    }
    let error = stage.github.pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
    assert!(stage.seen("GET", "/pulls/7").len() <= 18);
}

#[tokio::test]
async fn not_there_is_asked_by_number() {
    let stage = Stage::new().await;
    stage.fake().name = "new-owner/demo".into();
    stage.fake().pull = page();
    stage.fake().pull["base"]["repo"]["full_name"] = json!("new-owner/demo");
    let found = stage.github.pull(&pull()).await.unwrap();
    assert_eq!(found.id.repo, Repo { name: "new-owner/demo".into(), ..repo() });
    let asked: Vec<_> = stage.seen("GET", "").into_iter().map(|seen| seen.path).collect();
    assert_eq!(asked, ["/repos/octo/demo/pulls/7", "/repositories/11", "/repos/new-owner/demo/pulls/7"]);
}

#[tokio::test]
async fn out_of_reach() {
    let stage = Stage::new().await;
    stage.fake().reachable = false;
    for status in [404, 403] {
        stage.fault(Fault::new("GET", "/repositories/11", status));
        let error = stage.github.comment(&wanted("x"), Some(3), false).await.unwrap_err();
        assert!(matches!(error, ForgeError::Gone(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_pull_request_that_is_not_there() {
    let stage = Stage::new().await;
    let error = stage.github.pull(&PullId { number: 8, ..pull() }).await.unwrap_err();
    assert_eq!(error, ForgeError::Gone("GET /repos/octo/demo/pulls/8: 404: Not Found".into()));
    assert_eq!(stage.seen("GET", "/pulls/8").len(), 1);
}

#[tokio::test]
async fn another_repository_has_the_name() {
    let stage = Stage::new().await;
    stage.fake().name = "octo/renamed".into();
    let mut other = page();
    other["base"]["repo"]["id"] = json!(99);
    stage.fault(Fault { body: other, ..Fault::new("GET", "/repos/octo/demo/pulls/7", 200) });
    stage.fake().pull = page();
    stage.fake().pull["base"]["repo"]["full_name"] = json!("octo/renamed");
    assert_eq!(stage.github.pull(&pull()).await.unwrap().id.repo.name, "octo/renamed");
}

#[tokio::test]
async fn a_name_that_cannot_stand_in_a_path() {
    for name in ["", "octo", "octo/../../app", "octo/demo?x=1"] {
        let stage = Stage::new().await;
        let repo = Repo { name: name.into(), ..repo() };
        assert_eq!(stage.github.git(&repo).await.unwrap().url, "https://github.com/octo/demo.git");
    }
}

#[tokio::test]
async fn the_prefix_of_an_enterprise_server_stays() {
    let stage = Stage::with("/api/v3", |_| {}).await;
    stage.fake().page_size = 1;
    stage.fake().name = "octo/renamed".into();
    stage.fake().former.push("octo/demo".into());
    for id in [1, 2] {
        stage.fake().comment(id, "zab[bot]", "Bot", MARKER);
    }
    stage.fault(Fault::new("DELETE", "/issues/comments/2", 403));
    stage.fault(Fault { body: json!({ "data": {} }), ..Fault::new("POST", "/api/graphql", 200) });
    assert_eq!(stage.github.comment(&wanted("x"), None, false).await.unwrap().id, Some(1));
    let fake = stage.fake();
    let outside: Vec<_> = fake.seen.iter().filter(|seen| !seen.path.starts_with("/api/v3/")).collect();
    assert_eq!(outside.iter().map(|seen| seen.path.as_str()).collect::<Vec<_>>(), ["/api/graphql"]);
    assert!(fake.seen.iter().all(|seen| !seen.path.contains("/api/v3/api/v3")));
}
