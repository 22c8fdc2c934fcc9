//! What the webhook is told.

use std::collections::BTreeSet;
use std::path::Path;

use sandbox::contract::Payloads;
use sandbox::faults::Faults;
use sandbox::signature::sign;
use serde_json::json;

use super::support::{REPO, Receiver, World};

async fn told() -> (World, Receiver) {
    let receiver = Receiver::new().await;
    let url = receiver.url.clone();
    let world = World::with(|options| options.webhook = Some(url)).await;
    world.sandbox.quiesce().await;
    (world, receiver)
}

fn described() -> Payloads {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/webhooks.json");
    Payloads::read(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[tokio::test]
async fn everything_that_happens_is_told() {
    let (world, receiver) = told().await;
    let sandbox = &world.sandbox;
    let made: Vec<String> = receiver.take().iter().map(super::support::Arrived::what).collect();
    assert_eq!(made, ["installation.created", "pull_request.opened", "pull_request.opened"]);
    let n = world.demo.slower;
    let id = sandbox.comment(REPO, n, "maintainer", "/ab-test").unwrap();
    sandbox.edit_comment(id, "bob", "/ab-test more").unwrap();
    sandbox.delete_comment(id, "bob").unwrap();
    let before = sandbox.look(REPO, n).unwrap().pull.unwrap();
    let after = sandbox.push(REPO, "slower", &[("new", Some("file"))], "More", "maintainer").unwrap();
    sandbox.set_draft(REPO, n, true, "maintainer").unwrap();
    sandbox.set_draft(REPO, n, false, "maintainer").unwrap();
    sandbox.commit(REPO, "next", &[("next", Some("x"))], "Another base").unwrap();
    sandbox.retarget(REPO, n, "next", "maintainer").unwrap();
    sandbox.close(REPO, n, "maintainer").unwrap();
    sandbox.reopen(REPO, n, "maintainer").unwrap();
    sandbox.merge(REPO, n, "maintainer").unwrap();
    let check = json!({ "name": "c", "head_sha": after, "conclusion": "success", "external_id": "run",
        "actions": [{ "label": "Cancel", "description": "d", "identifier": "cancel" }] });
    let check =
        world.expect(201, "POST", "/repos/octo/demo/check-runs", Some(check)).await.body["id"].as_u64().unwrap();
    sandbox.press(check, "cancel", "maintainer").unwrap();
    sandbox.rerequest(check, "maintainer").unwrap();
    sandbox.repository("octo/more").unwrap();
    sandbox.install("octo", &["octo/more"]).unwrap();
    sandbox.withdraw("octo/more", "octo").unwrap();
    sandbox.permit(world.demo.installation, "statuses", Some("read")).unwrap();
    sandbox.rename(REPO, "other", "octo").unwrap();
    sandbox.transfer("octo/other", "elsewhere", "octo").unwrap();
    sandbox.suspend(world.demo.installation, true, "octo").unwrap();
    sandbox.suspend(world.demo.installation, false, "octo").unwrap();
    sandbox.uninstall(world.demo.installation, "octo").unwrap();
    sandbox.ping();
    sandbox.quiesce().await;
    let all = receiver.take();
    let described = described();
    for arrived in sandbox.deliveries() {
        assert_eq!(described.check(&arrived.event, &arrived.payload), Vec::<String>::new(), "{}", arrived.event);
    }
    let mut broken = all[0].payload();
    broken["comment"]["user"]["id"] = "seven".into();
    assert_ne!(described.check("issue_comment", &broken), Vec::<String>::new());
    let names: Vec<String> = all.iter().map(super::support::Arrived::what).collect();
    let expected = [
        "issue_comment.created",
        "issue_comment.edited",
        "issue_comment.deleted",
        "pull_request.synchronize",
        "pull_request.converted_to_draft",
        "pull_request.ready_for_review",
        "pull_request.edited",
        "pull_request.closed",
        "pull_request.reopened",
        "pull_request.closed",
        "check_run.requested_action",
        "check_run.rerequested",
        "installation_repositories.added",
        "installation_repositories.removed",
        "installation.new_permissions_accepted",
        "repository.renamed",
        "repository.transferred",
        "installation.suspend",
        "installation.unsuspend",
        "installation.deleted",
        "ping",
    ];
    assert_eq!(names, expected);
    let app = sandbox.settings().app_id.to_string();
    for arrived in &all {
        let header = |name: &str| arrived.headers[name].as_str();
        assert_eq!(header("x-hub-signature-256"), sign(&sandbox.settings().secret, &arrived.bytes));
        assert_eq!(
            (header("x-github-hook-installation-target-type"), header("content-type")),
            ("integration", "application/json")
        );
        assert_eq!(header("x-github-hook-installation-target-id"), app);
        assert!(header("user-agent").starts_with("GitHub-Hookshot/"));
        let payload = arrived.payload();
        let is_ping = arrived.what() == "ping";
        assert_eq!(payload["installation"]["id"] == world.demo.installation, !is_ping, "{}", arrived.what());
        assert_eq!(payload["sender"]["id"].is_u64(), !is_ping, "{}", arrived.what());
    }
    let of = |name: &str| all.iter().find(|arrived| arrived.what() == name).unwrap().payload();
    assert!(of("issue_comment.created")["issue"]["pull_request"].is_object());
    assert_eq!(of("issue_comment.edited")["changes"]["body"]["from"], "/ab-test");
    let pushed = of("pull_request.synchronize");
    assert_eq!((pushed["before"].as_str(), pushed["after"].as_str()), (Some(&*before.head_sha), Some(&*after)));
    assert_eq!(pushed["pull_request"]["head"]["sha"], after);
    assert_eq!(of("pull_request.edited")["changes"]["base"]["ref"]["from"], "main");
    assert_eq!(of("check_run.requested_action")["requested_action"]["identifier"], "cancel");
    assert_eq!(of("check_run.rerequested")["check_run"]["external_id"], "run");
    assert_eq!(of("repository.renamed")["changes"]["repository"]["name"]["from"], "demo");
    assert_eq!(of("repository.transferred")["repository"]["full_name"], "elsewhere/other");
    let last = all.iter().rev().find(|arrived| arrived.what() == "pull_request.closed").unwrap().payload();
    assert_eq!(last["pull_request"]["merged"], true);
}

#[tokio::test]
async fn a_fork_is_pushed_to() {
    let (world, receiver) = told().await;
    receiver.take();
    let sha = world.sandbox.push("visitor/demo", "words", &[("a", Some("b"))], "More", "visitor").unwrap();
    world.sandbox.quiesce().await;
    let all = receiver.take();
    assert_eq!(all.iter().map(super::support::Arrived::what).collect::<Vec<_>>(), ["pull_request.synchronize"]);
    assert_eq!(all[0].payload()["repository"]["full_name"], REPO);
    assert_eq!(all[0].payload()["pull_request"]["head"]["sha"], sha);
    // Commits of forks belong to no pull request of a check run.
    let check = json!({ "name": "c", "head_sha": sha });
    let check = world.expect(201, "POST", "/repos/octo/demo/check-runs", Some(check)).await;
    assert_eq!(check.body["pull_requests"], json!([]));
}

#[tokio::test]
async fn the_log_remembers_what_failed() {
    let (world, receiver) = told().await;
    receiver.answer(500);
    world.sandbox.comment(REPO, 1, "bob", "one").unwrap();
    world.sandbox.quiesce().await;
    world.sandbox.set_webhook("http://127.0.0.1:9/nobody");
    world.sandbox.comment(REPO, 1, "bob", "two").unwrap();
    world.sandbox.quiesce().await;
    receiver.answer(202);
    world.sandbox.set_webhook(&receiver.url);
    world.sandbox.comment(REPO, 1, "bob", "three").unwrap();
    world.sandbox.quiesce().await;
    receiver.take();
    let mut lines = Vec::new();
    let mut next = Some("/app/hook/deliveries?per_page=2".to_owned());
    while let Some(path) = next {
        let got = world.as_app("GET", &path, None).await;
        lines.extend(got.body.as_array().unwrap().clone());
        next = got.link("next");
    }
    let code = |at: usize| (lines[at]["status"] == "OK", lines[at]["status_code"].as_u64().unwrap());
    assert_eq!((code(0), code(1), code(2)), ((true, 202), (false, 0), (false, 500)));
    assert_eq!(lines.len(), 6);
    let failed = world.as_app("GET", "/app/hook/deliveries?status=failure", None).await.body;
    assert_eq!(failed.as_array().unwrap().len(), 1, "only those that were answered: {failed}");
    let lost = lines[1]["id"].as_u64().unwrap();
    let full = world.as_app("GET", &format!("/app/hook/deliveries/{lost}"), None).await.body;
    assert_eq!(full["request"]["payload"]["comment"]["body"], "two");
    assert_eq!(world.as_app("POST", &format!("/app/hook/deliveries/{lost}/attempts"), None).await.status, 202);
    world.sandbox.quiesce().await;
    let again = receiver.take();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].headers["x-github-delivery"], full["guid"].as_str().unwrap());
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn deliveries_go_astray() {
    let bodies = async |faults: Faults| {
        let (world, receiver) = told().await;
        receiver.take();
        world.sandbox.set_faults(faults);
        for body in ["a", "b", "c", "d"] {
            world.sandbox.comment(REPO, 1, "bob", body).unwrap();
        }
        world.sandbox.quiesce().await;
        let log = world.sandbox.deliveries();
        let ok = log.iter().skip(3).filter(|delivery| delivery.status.as_deref() == Some("OK")).count();
        let arrived = receiver.take();
        let guids: BTreeSet<String> = arrived.iter().map(|one| one.headers["x-github-delivery"].clone()).collect();
        let body = |one: &super::support::Arrived| one.payload()["comment"]["body"].as_str().unwrap().to_owned();
        (arrived.iter().map(body).collect::<String>(), guids.len(), ok)
    };
    assert_eq!(bodies(Faults::default()).await, ("abcd".to_owned(), 4, 4));
    assert_eq!(bodies(Faults { lost: 1.0, ..Faults::default() }).await, (String::new(), 0, 0));
    assert_eq!(bodies(Faults { doubled: 1.0, ..Faults::default() }).await, ("aabbccdd".to_owned(), 4, 4));
    let (order, guids, ok) = bodies(Faults { reordered: 1.0, ..Faults::default() }).await;
    assert_eq!((order.as_str(), guids, ok), ("badc", 4, 4));
    let (all, guids, ok) = bodies(Faults { late: 1.0, late_ms: 5, ..Faults::default() }).await;
    assert_eq!((all.len(), guids, ok), (4, 4, 4));
}

#[tokio::test]
async fn plain_issues_and_strangers() {
    let (world, receiver) = told().await;
    receiver.take();
    let n = world.sandbox.issue(REPO, "A question", "bob").unwrap();
    world.sandbox.comment(REPO, n, "bob", "hello").unwrap();
    world.sandbox.quiesce().await;
    let arrived = receiver.take();
    assert!(arrived[0].payload()["issue"]["pull_request"].is_null());
    world.sandbox.repository("others/repo").unwrap();
    world.sandbox.commit("others/repo", "main", &[("a", Some("b"))], "First").unwrap();
    let n = world.sandbox.issue("others/repo", "Unseen", "bob").unwrap();
    world.sandbox.comment("others/repo", n, "bob", "hello").unwrap();
    world.sandbox.quiesce().await;
    assert!(receiver.take().is_empty(), "the app is not installed there");
    assert!(world.sandbox.comment(REPO, 99, "bob", "x").is_err());
    assert!(world.sandbox.comment(REPO, 1, "nobody", "x").is_err());
}
