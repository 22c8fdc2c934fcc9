//! What the API answers, held against its description.

use serde_json::{Value, json};

use super::support::{REPO, World};

/// Every operation that is described, once: status, method, path, body.
async fn all(world: &World, base: &str) -> Vec<String> {
    let (sandbox, n) = (&world.sandbox, world.demo.slower);
    let head = sandbox.look(REPO, n).unwrap().pull.unwrap().head_sha;
    let fork_head = sandbox.look(REPO, world.demo.fork).unwrap().pull.unwrap().head_sha;
    sandbox.other_check(REPO, &head, "build", Some("success")).unwrap();
    sandbox.set_status(REPO, &head, "lint", "pending").unwrap();
    let go = async |status: u16, method: &str, path: String, body: Option<Value>| {
        world.expect(status, method, &format!("{base}{path}"), body).await.body
    };
    go(200, "GET", String::new(), None).await;
    for path in
        ["/pulls", "/pulls?state=all&per_page=1", "/contents/bench.sh", "/contents/?ref=slower", "/commits/main"]
    {
        go(200, "GET", path.to_owned(), None).await;
    }
    for n in [n, world.demo.fork] {
        for path in ["", "/files"] {
            go(200, "GET", format!("/pulls/{n}{path}"), None).await;
        }
    }
    go(200, "GET", format!("/issues/{n}"), None).await;
    let id = go(201, "POST", format!("/issues/{n}/comments"), Some(json!({ "body": "one" }))).await["id"].clone();
    go(200, "GET", format!("/issues/{n}/comments?since=2026-01-01T00:00:00Z"), None).await;
    let edited = go(200, "PATCH", format!("/issues/comments/{id}"), Some(json!({ "body": "two" }))).await;
    assert_eq!(edited["body"], "two");
    let edited = go(200, "POST", format!("/issues/comments/{id}"), Some(json!({ "body": "three" }))).await;
    assert_eq!(edited["body"], "three");
    assert_eq!(edited["user"]["login"], "zephyr-ab[bot]");
    let eyes = Some(json!({ "content": "eyes" }));
    let reaction = go(201, "POST", format!("/issues/comments/{id}/reactions"), eyes.clone()).await["id"].clone();
    let again = go(200, "POST", format!("/issues/comments/{id}/reactions"), eyes.clone()).await;
    assert_eq!(again["id"], reaction);
    go(200, "GET", format!("/issues/comments/{id}/reactions"), None).await;
    go(204, "DELETE", format!("/issues/comments/{id}/reactions/{reaction}"), None).await;
    let reaction = go(201, "POST", format!("/issues/{n}/reactions"), eyes).await["id"].clone();
    go(200, "GET", format!("/issues/{n}/reactions?content=eyes"), None).await;
    go(204, "DELETE", format!("/issues/{n}/reactions/{reaction}"), None).await;
    let check = json!({
        "name": "zephyr-ab / demo", "head_sha": head, "status": "in_progress", "external_id": "run-1",
        "output": { "title": "measuring", "summary": "round 1" },
        "actions": [{ "label": "Cancel", "description": "Stop this run", "identifier": "cancel" }],
    });
    let check = go(201, "POST", "/check-runs".to_owned(), Some(check)).await["id"].clone();
    let ended = json!({ "status": "completed", "conclusion": "neutral" });
    go(200, "PATCH", format!("/check-runs/{check}"), Some(ended)).await;
    assert_eq!(go(200, "GET", format!("/check-runs/{check}"), None).await["external_id"], "run-1");
    assert_eq!(go(200, "GET", "/commits/slower/check-runs".to_owned(), None).await["total_count"], 2);
    let app = sandbox.settings().app_id;
    let own = go(200, "GET", format!("/commits/{head}/check-runs?app_id={app}&filter=all&per_page=1"), None).await;
    assert_eq!((own["total_count"].clone(), own["check_runs"][0]["id"].clone()), (1.into(), check.clone()));
    assert_eq!(go(200, "GET", format!("/commits/{head}/status"), None).await["state"], "pending");
    let compared = go(200, "GET", format!("/compare/main...{head}"), None).await;
    assert_eq!((compared["status"].as_str(), compared["ahead_by"].as_u64()), (Some("ahead"), Some(1)));
    assert_eq!(compared["merge_base_commit"]["sha"], compared["base_commit"]["sha"]);
    let compared = go(200, "GET", "/compare/main...visitor:words".to_owned(), None).await;
    assert_eq!(compared["commits"][0]["sha"], fork_head);
    for (login, permission) in [("maintainer", "write"), ("bob", "read"), ("visitor", "none"), ("octo", "admin")] {
        let said = go(200, "GET", format!("/collaborators/{login}/permission"), None).await;
        assert_eq!(said["permission"], permission, "{login}");
        assert!(said["user"]["id"].is_u64());
    }
    go(204, "GET", "/collaborators/bob".to_owned(), None).await;
    go(204, "DELETE", format!("/issues/comments/{id}"), None).await;
    go(404, "GET", format!("/issues/comments/{id}"), None).await;
    let listed = world.as_app("GET", &format!("{base}/installation"), None).await;
    assert_eq!(listed.body["id"], world.demo.installation);
    sandbox.violations()
}

#[tokio::test]
async fn every_answer_about_a_repository_is_as_described() {
    let world = World::new().await;
    assert_eq!(all(&world, "/repos/octo/demo").await, Vec::<String>::new());
}

#[tokio::test]
async fn the_same_by_its_number_and_under_a_prefix() {
    let world = World::with(|options| options.prefix = "/api/v3".to_owned()).await;
    let id = world.expect(200, "GET", "/repos/octo/demo", None).await.body["id"].clone();
    assert_eq!(all(&world, &format!("/repositories/{id}")).await, Vec::<String>::new());
    assert!(world.sandbox.settings().api.ends_with("/api/v3"));
}

#[tokio::test]
async fn every_answer_about_the_app_is_as_described() {
    let world = World::new().await;
    world.sandbox.ping();
    let installation = world.demo.installation;
    for path in ["/app", "/app/installations", "/app/hook/config", "/app/hook/deliveries", "/users/bob", "/rate_limit"]
    {
        assert_eq!(world.as_app("GET", path, None).await.status, 200, "{path}");
    }
    assert_eq!(world.as_app("GET", &format!("/app/installations/{installation}"), None).await.status, 200);
    world.sandbox.suspend(installation, true, "octo").unwrap();
    assert_eq!(world.as_app("GET", &format!("/app/installations/{installation}"), None).await.status, 200);
    world.sandbox.suspend(installation, false, "octo").unwrap();
    let delivery = world.sandbox.deliveries()[0].id;
    assert_eq!(world.as_app("GET", &format!("/app/hook/deliveries/{delivery}"), None).await.status, 200);
    assert_eq!(world.as_app("POST", &format!("/app/hook/deliveries/{delivery}/attempts"), None).await.status, 202);
    let secret = json!({ "secret": "another", "url": "http://127.0.0.1:9/hook" });
    assert_eq!(world.as_app("PATCH", "/app/hook/config", Some(secret)).await.status, 200);
    assert_eq!(world.sandbox.settings().secret, "another");
    world.expect(200, "GET", "/installation/repositories", None).await;
    world.expect(204, "DELETE", "/installation/token", None).await;
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn lists_come_in_pages() {
    let world = World::new().await;
    let n = world.demo.slower;
    let ids: Vec<u64> =
        (0..45).map(|i| world.sandbox.comment(REPO, n, "bob", &format!("comment {i}")).unwrap()).collect();
    let mut seen = Vec::new();
    let mut next = Some(format!("/repos/octo/demo/issues/{n}/comments?per_page=20"));
    let mut pages = 0;
    while let Some(path) = next {
        let got = world.expect(200, "GET", &path, None).await;
        seen.extend(got.body.as_array().unwrap().iter().map(|comment| comment["id"].as_u64().unwrap()));
        next = got.link("next");
        pages += 1;
    }
    assert_eq!((seen, pages), (ids, 3));
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_remembered() {
    let world = World::new().await;
    let n = world.demo.slower;
    let comments = format!("/repos/octo/demo/issues/{n}/comments");
    let action = |label: &str| json!([{ "label": label, "description": "d", "identifier": "i" }]);
    let head = world.sandbox.look(REPO, n).unwrap().pull.unwrap().head_sha;
    let before = world.sandbox.requests().len();
    let cases = [
        ("POST", comments.as_str(), json!({ "body": "x".repeat(65_537) }), "too long"),
        ("POST", comments.as_str(), json!({ "text": "x" }), "body"),
        ("POST", comments.as_str(), json!({ "body": "" }), "blank"),
        ("POST", "/repos/octo/demo/check-runs", json!({ "name": "a" }), "head_sha"),
        (
            "POST",
            "/repos/octo/demo/check-runs",
            json!({ "name": "a", "head_sha": head, "status": "completed" }),
            "conclusion",
        ),
        (
            "POST",
            "/repos/octo/demo/check-runs",
            json!({ "name": "a", "head_sha": head, "actions": action(&"l".repeat(21)) }),
            "label",
        ),
        ("GET", "/repos/octo/demo/pulls?sate=all", Value::Null, "sate"),
        ("GET", "/repos/octo/demo/nothing", Value::Null, "no such operation"),
    ];
    for (method, path, body, expected) in &cases {
        let body = Some(body.clone()).filter(|body| !body.is_null());
        world.expect(422, method, path, body).await;
        let violations = world.sandbox.violations();
        assert!(violations.last().is_some_and(|last| last.contains(expected)), "{expected}: {violations:?}");
    }
    assert!(world.sandbox.comments(REPO, n).is_empty());
    let known = world.sandbox.violations().len();
    // An unknown commit is a matter of what there is, not of the form.
    let unknown = json!({ "name": "a", "head_sha": "0".repeat(40) });
    world.expect(422, "POST", "/repos/octo/demo/check-runs", Some(unknown)).await;
    assert_eq!(world.sandbox.violations().len(), known);
    let asked: Vec<_> = world.sandbox.requests().into_iter().skip(before).filter(|r| r.status == 422).collect();
    assert_eq!(asked.len(), cases.len() + 1);
    assert!(asked.iter().all(|request| !request.done));
}

#[tokio::test]
async fn the_longest_comment_is_taken() {
    let world = World::new().await;
    let body = json!({ "body": "\u{e4}".repeat(65_536) });
    world.expect(201, "POST", "/repos/octo/demo/issues/1/comments", Some(body)).await;
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_renamed_repository_is_found_under_its_number() {
    let world = World::new().await;
    world.sandbox.rename(REPO, "renamed", "octo").unwrap();
    let moved = world.expect(301, "GET", "/repos/octo/demo/pulls?state=all", None).await;
    let to = moved.headers["location"].clone();
    assert!(to.contains("/repositories/") && to.ends_with("/pulls?state=all"), "{to}");
    assert_eq!(world.expect(200, "GET", &to, None).await.body.as_array().unwrap().len(), 2);
    let body = Some(json!({ "body": "x" }));
    let moved = world.expect(307, "POST", "/repos/octo/demo/issues/1/comments", body.clone()).await;
    world.expect(201, "POST", &moved.headers["location"], body).await;
    assert_eq!(world.expect(200, "GET", "/repos/octo/renamed", None).await.body["full_name"], "octo/renamed");
    world.sandbox.transfer("octo/renamed", "elsewhere", "octo").unwrap();
    for path in ["/repos/octo/demo", "/repos/octo/renamed", "/repos/elsewhere/renamed", to.as_str()] {
        world.expect(404, "GET", path, None).await;
    }
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_deleted_fork_leaves_its_pull_request() {
    let world = World::new().await;
    let path = format!("/repos/octo/demo/pulls/{}", world.demo.fork);
    let before = world.expect(200, "GET", &path, None).await.body;
    assert_eq!(before["head"]["repo"]["full_name"], "visitor/demo");
    world.sandbox.delete_fork("visitor/demo").unwrap();
    let after = world.expect(200, "GET", &path, None).await.body;
    assert_eq!(after["head"]["repo"], Value::Null);
    assert_eq!(after["head"]["sha"], before["head"]["sha"]);
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let world = World::new().await;
    let token = world.token(json!({})).await;
    let url = world.sandbox.settings().api + "/repos/octo/demo/pulls";
    let first = world.client.get(&url).bearer_auth(&token).send().await.unwrap();
    let (tag, left) = (first.headers()["etag"].clone(), first.headers()["x-ratelimit-remaining"].clone());
    let again = || world.client.get(&url).bearer_auth(&token).header("if-none-match", tag.clone()).send();
    assert_eq!(again().await.unwrap().status(), 304);
    world.sandbox.close(REPO, world.demo.slower, "bob").unwrap();
    let changed = again().await.unwrap();
    assert_eq!(changed.status(), 200);
    let count = |value: &reqwest::header::HeaderValue| value.to_str().unwrap().parse::<u64>().unwrap();
    // The answer that said that nothing has changed did not count.
    assert_eq!(count(&left) - count(&changed.headers()["x-ratelimit-remaining"]), 1);
}

#[tokio::test]
async fn comments_are_folded() {
    let world = World::new().await;
    let id = world.sandbox.comment(REPO, 1, "bob", "old").unwrap();
    let token = world.token(json!({})).await;
    let query = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }";
    let node =
        world.expect(200, "GET", &format!("/repos/octo/demo/issues/comments/{id}"), None).await.body["node_id"].clone();
    let body = json!({ "query": query, "variables": { "id": node } });
    let got = world.ask("POST", "/graphql", &token, Some(body)).await.unwrap();
    assert_eq!(got.body["data"]["minimizeComment"]["minimizedComment"]["isMinimized"], true, "{got:?}");
    assert_eq!(world.sandbox.comments(REPO, 1)[0].minimized.as_deref(), Some("outdated"));
    let shown = world.expect(200, "GET", &format!("/repos/octo/demo/issues/comments/{id}"), None).await;
    assert_eq!(shown.body["minimized"]["reason"], "outdated");
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}
