//! An app that is made of a manifest.

use serde_json::{Value, json};

use super::support::{NOON, REPO, World};

/// A browser brings a manifest: status, and where it is sent.
async fn bring(world: &World, path: &str, manifest: &str) -> (u16, Option<String>) {
    let form: String = manifest.bytes().fold(String::new(), |all, byte| format!("{all}%{byte:02X}"));
    let url = format!("{}{path}", world.sandbox.settings().web);
    let request = world.client.post(url).header("content-type", "application/x-www-form-urlencoded");
    let answer = request.body(format!("manifest={form}")).send().await.unwrap();
    let to = answer.headers().get("location").map(|to| to.to_str().unwrap().to_owned());
    (answer.status().as_u16(), to)
}

#[tokio::test]
async fn a_manifest_becomes_the_app_and_its_code_holds_once() {
    let world = World::with(|options| options.prefix = "/api/v3".to_owned()).await;
    let manifest = json!({
        "name": "x", "url": "https://ab.example", "redirect_url": "http://127.0.0.1:1/made",
        "hook_attributes": { "url": "https://ab.example/webhook" },
        "default_permissions": { "issues": "write" }, "default_events": ["issue_comment"],
    });
    let path = "/organizations/octo/settings/apps/new?state=a%26b";
    let (status, to) = bring(&world, path, &manifest.to_string()).await;
    let to = to.unwrap();
    let (code, state) = to.strip_prefix("http://127.0.0.1:1/made?code=").unwrap().split_once("&state=").unwrap();
    assert_eq!((status, state), (302, "a%26b"));

    let exchange = |code: String| {
        let url = format!("{}/app-manifests/{code}/conversions", world.sandbox.settings().api);
        world.client.post(url).send()
    };
    assert_ne!(exchange("another".to_owned()).await.unwrap().status().as_u16(), 201);
    let answer = exchange(code.to_owned()).await.unwrap();
    assert_eq!(answer.status().as_u16(), 201);
    let app: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    let settings = world.sandbox.settings();
    assert_eq!((&app["id"], &app["pem"]), (&json!(settings.app_id), &json!(sandbox::PRIVATE_KEY)));
    assert_eq!(app["webhook_secret"], settings.secret);
    assert_eq!((&app["permissions"], &app["events"]), (&json!({ "issues": "write" }), &json!(["issue_comment"])));
    assert_eq!(settings.webhook.as_deref(), Some("https://ab.example/webhook"));
    assert_ne!(exchange(code.to_owned()).await.unwrap().status().as_u16(), 201);
}

#[tokio::test]
async fn what_is_no_manifest_changes_nothing() {
    let world = World::new().await;
    let before = world.sandbox.settings();
    for (text, expected) in [("hunter2", 422), ("{}", 422), (r#"{"url": "", "redirect_url": "x"}"#, 422)] {
        assert_eq!(bring(&world, "/settings/apps/new", text).await, (expected, None), "{text}");
    }
    assert_eq!(world.sandbox.settings(), before);
}

#[tokio::test]
async fn an_app_is_told_of_what_it_subscribed_to() {
    let world = World::new().await;
    let count = |event: &str| world.sandbox.deliveries().iter().filter(|one| one.event == event).count();
    world.sandbox.subscribe(&["pull_request"]);
    world.sandbox.comment(REPO, 1, "maintainer", "hello").unwrap();
    assert_eq!(count("issue_comment"), 0);
    world.sandbox.subscribe(&["issue_comment"]);
    world.sandbox.comment(REPO, 1, "maintainer", "hello").unwrap();
    assert_eq!(count("issue_comment"), 1);
    world.sandbox.ask_for("issues", None);
    let app = world.as_app("GET", "/app", None).await.body;
    assert_eq!((&app["events"], app["permissions"].get("issues")), (&json!(["issue_comment"]), None));
}

#[tokio::test]
async fn it_tells_the_time_of_its_clock() {
    let world = World::new().await;
    let got = world.as_app("GET", "/app", None).await;
    assert_eq!((NOON, got.headers["date"].as_str()), (1_772_366_400_000, "Sun, 01 Mar 2026 12:00:00 GMT"));
}
