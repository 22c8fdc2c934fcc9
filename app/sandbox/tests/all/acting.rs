//! What people do beyond comments: labels, clicks, pushes to pull requests, what others say of commits, and apps that are
//! made of a manifest; by calls and with curl.

use std::path::Path;

use sandbox::contract::Payloads;
use serde_json::{Value, json};

use super::support::{Arrived, REPO, Receiver, World};

/// A world whose receiver has forgotten how it began.
async fn told() -> (World, Receiver) {
    let receiver = Receiver::new().await;
    let url = receiver.url.clone();
    let world = World::with(|options| options.webhook = Some(url)).await;
    world.sandbox.quiesce().await;
    receiver.take();
    (world, receiver)
}

/// What arrived, after it was held against the description.
async fn arrived(world: &World, receiver: &Receiver) -> Vec<Arrived> {
    world.sandbox.quiesce().await;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/webhooks.json");
    let described = Payloads::read(&std::fs::read_to_string(file).unwrap()).unwrap();
    for delivery in world.sandbox.deliveries() {
        assert_eq!(described.check(&delivery.event, &delivery.payload), Vec::<String>::new(), "{}", delivery.event);
    }
    receiver.take()
}

fn names(labels: &Value) -> Vec<&str> {
    labels.as_array().unwrap().iter().map(|label| label["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn labels_are_put_on_and_taken_off() {
    let (world, receiver) = told().await;
    let at = |tail: &str| format!("/repos/octo/demo/issues/1/labels{tail}");
    let added = world.expect(200, "POST", &at(""), Some(json!({ "labels": ["ab: slower", "bug"] }))).await;
    assert_eq!(names(&added.body), ["ab: slower", "bug"]);
    // Other letters of the same name are the same label; one that is there is not put on again.
    world.expect(200, "POST", &at(""), Some(json!({ "labels": ["BUG"] }))).await;
    world.sandbox.label(REPO, 1, "by hand", "maintainer").unwrap();
    let page = world.expect(200, "GET", &at("?per_page=2"), None).await;
    assert_eq!(names(&page.body), ["ab: slower", "bug"]);
    let rest = world.expect(200, "GET", &page.link("next").unwrap(), None).await;
    assert_eq!(names(&rest.body), ["by hand"]);
    let left = world.expect(200, "DELETE", &at("/ab%3A%20Slower"), None).await;
    assert_eq!(names(&left.body), ["bug", "by hand"]);
    world.expect(404, "DELETE", &at("/ab%3A%20slower"), None).await;
    world.expect(404, "POST", "/repos/octo/demo/issues/99/labels", Some(json!({ "labels": ["bug"] }))).await;
    for path in ["/repos/octo/demo/issues/1", "/repos/octo/demo/pulls/1"] {
        assert_eq!(names(&world.expect(200, "GET", path, None).await.body["labels"]), ["bug", "by hand"], "{path}");
    }
    world.sandbox.unlabel(REPO, 1, "by hand", "maintainer").unwrap();
    assert!(world.sandbox.unlabel(REPO, 1, "by hand", "maintainer").is_err());
    assert!(world.sandbox.label(REPO, 1, " ", "maintainer").is_err());
    assert_eq!(world.sandbox.look(REPO, 1).unwrap().labels, ["bug"]);
    let all = arrived(&world, &receiver).await;
    let said: Vec<(String, String)> =
        all.iter().map(|one| (one.what(), one.payload()["label"]["name"].as_str().unwrap().to_owned())).collect();
    let on = |name: &str| ("pull_request.labeled".to_owned(), name.to_owned());
    let off = |name: &str| ("pull_request.unlabeled".to_owned(), name.to_owned());
    assert_eq!(said, [on("ab: slower"), on("bug"), on("by hand"), off("ab: slower"), off("by hand")]);
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn pull_requests_are_pushed_to_wherever_they_come_from() {
    let (world, receiver) = told().await;
    for number in [world.demo.slower, world.demo.fork] {
        let head = |world: &World| world.sandbox.look(REPO, number).unwrap().pull.unwrap();
        let before = head(&world);
        let more = world.sandbox.push_to(REPO, number, &[("more", Some("x"))], "More", "maintainer").unwrap();
        let instead = world.sandbox.force_to(REPO, number, &[("instead", Some("y"))], "Instead", "maintainer").unwrap();
        assert_eq!(head(&world).head_sha, instead);
        let commits = async |path: &str| world.expect(200, "GET", path, None).await.body["commits"].as_u64().unwrap();
        assert_eq!(commits(&format!("/repos/octo/demo/pulls/{number}")).await, 1);
        let all = arrived(&world, &receiver).await;
        let steps: Vec<(Value, Value)> = all
            .iter()
            .map(|one| {
                assert_eq!(one.what(), "pull_request.synchronize");
                (one.payload()["before"].clone(), one.payload()["after"].clone())
            })
            .collect();
        let step = |before: &str, after: &str| (json!(before), json!(after));
        assert_eq!(steps, [step(&before.head_sha, &more), step(&more, &instead)]);
    }
    world.sandbox.delete_fork("visitor/demo").unwrap();
    assert!(world.sandbox.push_to(REPO, world.demo.fork, &[], "x", "maintainer").is_err());
}

#[tokio::test]
async fn what_others_say_of_a_commit() {
    let world = World::new().await;
    let sha = world.sandbox.look(REPO, 1).unwrap().pull.unwrap().head_sha;
    for (context, word) in [("ci/a", "pending"), ("ci/b", "success"), ("ci/a", "success"), ("ci/c", "failure")] {
        world.sandbox.set_status(REPO, &sha, context, word).unwrap();
    }
    let first = world.expect(200, "GET", &format!("/repos/octo/demo/commits/{sha}/status?per_page=2"), None).await;
    assert_eq!((&first.body["state"], &first.body["total_count"]), (&json!("failure"), &json!(3)));
    let states = |body: &Value| -> Vec<String> {
        let all = body["statuses"].as_array().unwrap().iter();
        all.map(|one| format!("{} {}", one["context"], one["state"]).replace('"', "")).collect()
    };
    assert_eq!(states(&first.body), ["ci/a success", "ci/b success"]);
    let rest = world.expect(200, "GET", &first.link("next").unwrap(), None).await;
    assert_eq!(states(&rest.body), ["ci/c failure"]);
    assert!(world.sandbox.set_status(REPO, &sha, "ci/a", "fine").is_err());
    assert!(world.sandbox.other_check(REPO, &sha, "build", Some("fine")).is_err());
    // A file of more than a mebibyte is named without its content.
    let large = "x".repeat(1_048_577);
    world.sandbox.commit(REPO, "main", &[("large", Some(&large))], "Large").unwrap();
    let found = world.expect(200, "GET", "/repos/octo/demo/contents/large", None).await.body;
    assert_eq!((&found["encoding"], &found["size"]), (&json!("none"), &json!(1_048_577)));
    let ghost = "1".repeat(40);
    let path = format!("/repos/octo/demo/contents/large?ref={ghost}");
    assert!(world.expect(404, "GET", &path, None).await.body["message"].as_str().unwrap().contains(&ghost));
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_app_is_made_of_a_manifest_once() {
    let world = World::new().await;
    let manifest = json!({
        "name": "Zephyr Two", "url": "https://zab.example",
        "hook_attributes": { "url": "https://zab.example/webhook" },
        "default_permissions": { "issues": "write", "checks": "write" },
    });
    assert!(world.sandbox.manifest(&json!({ "name": "x" })).is_err());
    let code = world.sandbox.manifest(&manifest).unwrap();
    let url = format!("{}/app-manifests/{code}/conversions", world.sandbox.settings().api);
    let post = async || world.client.post(&url).send().await.unwrap();
    let made = post().await;
    assert_eq!(made.status(), 201);
    let made: Value = made.json().await.unwrap();
    assert_eq!((&made["slug"], &made["name"]), (&json!("zephyr-two"), &json!("Zephyr Two")));
    assert_eq!(made["pem"], sandbox::PRIVATE_KEY);
    assert_eq!(made["webhook_secret"], world.sandbox.settings().secret);
    assert_eq!(made["permissions"], manifest["default_permissions"]);
    assert_eq!(post().await.status(), 404);
    let hook = world.as_app("GET", "/app/hook/config", None).await.body;
    assert_eq!(hook["url"], "https://zab.example/webhook");
    assert_eq!(world.as_app("GET", "/app", None).await.body["slug"], "zephyr-two");
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn everything_is_done_with_curl() {
    let (world, receiver) = told().await;
    let control = world.sandbox.settings().control;
    let post = async |act: &str, body: Value| {
        let answer = world.client.post(format!("{control}/{act}")).json(&body).send().await.unwrap();
        let (status, said) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
        assert_eq!(status, 200, "{act}: {said}");
        said
    };
    let n = world.demo.slower;
    let with = |more: Value| {
        let mut body = json!({ "repo": REPO, "number": n, "by": "maintainer" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let files = json!({ "new": "file" });
    let sha = post("advance", with(json!({ "message": "m", "files": files }))).await["commit"].clone();
    let forced =
        post("advance", with(json!({ "message": "m", "files": files, "force": true }))).await["commit"].clone();
    assert_ne!(sha, forced);
    post("force", json!({ "repo": REPO, "branch": "slower", "commit": sha, "by": "maintainer" })).await;
    assert_eq!(world.sandbox.look(REPO, n).unwrap().pull.unwrap().head_sha, sha);
    post("push", json!({ "repo": REPO, "branch": "next", "by": "maintainer", "message": "m", "files": files })).await;
    post("retarget", with(json!({ "base": "next" }))).await;
    post("draft", with(json!({ "draft": true }))).await;
    post("lock", json!({ "repo": REPO, "number": n, "locked": true })).await;
    assert!(world.sandbox.look(REPO, n).unwrap().locked);
    post("label", with(json!({ "name": "bug" }))).await;
    post("unlabel", with(json!({ "name": "bug" }))).await;
    post("close", with(json!({}))).await;
    post("reopen", with(json!({}))).await;
    let comment = post("comment", with(json!({ "body": "hm" }))).await["comment"].clone();
    post("minimise", json!({ "comment": comment, "reason": "off-topic" })).await;
    assert_eq!(world.sandbox.comments(REPO, n)[0].minimized.as_deref(), Some("off-topic"));
    post("minimise", json!({ "comment": comment, "reason": null })).await;
    assert_eq!(world.sandbox.comments(REPO, n)[0].minimized, None);
    let check = json!({ "name": "c", "head_sha": sha, "conclusion": "success", "external_id": "run",
        "actions": [{ "label": "Longer", "description": "d", "identifier": "longer" }] });
    let check = world.expect(201, "POST", "/repos/octo/demo/check-runs", Some(check)).await.body["id"].clone();
    post("press", json!({ "check": check, "identifier": "longer", "by": "maintainer" })).await;
    post("rerequest", json!({ "check": check, "by": "maintainer" })).await;
    post("check", json!({ "repo": REPO, "commit": sha, "name": "build", "conclusion": "failure" })).await;
    post("status", json!({ "repo": REPO, "commit": sha, "context": "ci", "state": "pending" })).await;
    let issue = post("issue", json!({ "repo": REPO, "title": "t", "by": "bob" })).await;
    assert!(issue["number"].is_u64());
    world.sandbox.repository("octo/more").unwrap();
    post("install", json!({ "account": "octo", "repos": ["octo/more"] })).await;
    post("withdraw", json!({ "repo": "octo/more", "by": "octo" })).await;
    let app = |more: Value| {
        let mut body = json!({ "installation": world.demo.installation, "by": "octo" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    post("permit", json!({ "installation": world.demo.installation, "permission": "checks", "level": null })).await;
    post("suspend", app(json!({ "suspended": true }))).await;
    post("suspend", app(json!({ "suspended": false }))).await;
    post("transfer", json!({ "repo": "octo/more", "owner": "elsewhere", "by": "octo" })).await;
    post("uninstall", app(json!({}))).await;
    assert!(post("manifest", json!({ "manifest": { "url": "https://zab.example" } })).await["code"].is_string());
    let all: Vec<String> = arrived(&world, &receiver).await.iter().map(Arrived::what).collect();
    let pull = |what: &str| format!("pull_request.{what}");
    let expected = [
        pull("synchronize"),
        pull("synchronize"),
        pull("synchronize"),
        pull("edited"),
        pull("converted_to_draft"),
        pull("labeled"),
        pull("unlabeled"),
        pull("closed"),
        pull("reopened"),
        "issue_comment.created".to_owned(),
        "check_run.requested_action".to_owned(),
        "check_run.rerequested".to_owned(),
        "installation_repositories.added".to_owned(),
        "installation_repositories.removed".to_owned(),
        "installation.new_permissions_accepted".to_owned(),
        "installation.suspend".to_owned(),
        "installation.unsuspend".to_owned(),
        "installation.deleted".to_owned(),
    ];
    assert_eq!(all, expected);
    for (act, body) in [
        ("press", json!({ "check": check, "identifier": "longer", "by": "nobody" })),
        ("press", json!({ "check": check, "identifier": "other", "by": "maintainer" })),
        ("status", json!({ "repo": REPO, "commit": sha, "context": "ci", "state": "fine" })),
        ("force", json!({ "repo": REPO, "branch": "--all", "commit": sha, "by": "maintainer" })),
        ("manifest", json!({ "manifest": {} })),
    ] {
        let answer = world.client.post(format!("{control}/{act}")).json(&body).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 422, "{act}");
    }
}
