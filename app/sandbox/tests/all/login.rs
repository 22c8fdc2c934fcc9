//! Who may ask for what.

use serde_json::{Value, json};

use super::support::{NOON, REPO, World, jwt};

#[tokio::test]
async fn tokens_of_the_app() {
    let world = World::new().await;
    let app = world.sandbox.settings().app_id;
    let now = NOON / 1000;
    let cases = [
        (200, json!({ "iss": app, "iat": now - 60, "exp": now + 540 })),
        (200, json!({ "iss": app.to_string(), "iat": now + 30, "exp": now + 600 })),
        (401, json!({ "iss": app + 1, "iat": now, "exp": now + 540 })),
        (401, json!({ "iss": app, "iat": now + 90, "exp": now + 540 })),
        (401, json!({ "iss": app, "iat": now - 700, "exp": now - 100 })),
        (401, json!({ "iss": app, "iat": now - 60, "exp": now + 900 })),
        (401, json!({ "iss": app, "exp": now + 540 })),
    ];
    for (expected, claims) in cases {
        let got = world.ask("GET", "/app", &jwt(&claims), None).await.unwrap();
        assert_eq!(got.status, expected, "{claims}: {got:?}");
    }
    let mut forged = world.jwt();
    forged.truncate(forged.len() - 4);
    forged.push_str("AAAA");
    assert_eq!(world.ask("GET", "/app", &forged, None).await.unwrap().status, 401);
    world.sandbox.remove_key(sandbox::PUBLIC_KEY);
    assert_eq!(world.as_app("GET", "/app", None).await.status, 401);
    world.sandbox.add_key("nonsense");
    world.sandbox.add_key(sandbox::PUBLIC_KEY);
    assert_eq!(world.as_app("GET", "/app", None).await.status, 200);
}

#[tokio::test]
async fn tokens_of_an_installation_end_after_an_hour() {
    let world = World::new().await;
    let token = world.token(json!({})).await;
    assert!(token.starts_with("ghs_") && token.len() > 40, "{token}");
    let status = async || world.ask("GET", "/repos/octo/demo", &token, None).await.unwrap().status;
    assert_eq!(status().await, 200);
    world.clock.advance(3_599_000);
    assert_eq!(status().await, 200);
    world.clock.advance(1000);
    assert_eq!(status().await, 401);
}

#[tokio::test]
async fn tokens_are_narrowed() {
    let world = World::new().await;
    world.sandbox.repository("octo/other").unwrap();
    world.sandbox.set_private("octo/other", true).unwrap();
    world.sandbox.set_private(REPO, true).unwrap();
    world.sandbox.install("octo", &["octo/other"]).unwrap();
    let id = world.expect(200, "GET", "/repos/octo/demo", None).await.body["id"].clone();
    let token = world.token(json!({ "repository_ids": [id], "permissions": { "contents": "read" } })).await;
    let status = async |method: &str, path: &str, body: Option<Value>| {
        let got = world.ask(method, path, &token, body).await.unwrap();
        (got.status, got.body["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(status("GET", "/repos/octo/demo/contents/bench.sh", None).await.0, 200);
    assert_eq!(status("GET", "/repos/octo/other", None).await.0, 404);
    let denied = (403, "Resource not accessible by integration".to_owned());
    assert_eq!(status("GET", "/repos/octo/demo/issues/1/comments", None).await, denied);
    assert_eq!(status("POST", "/repos/octo/demo/issues/1/comments", Some(json!({ "body": "x" }))).await, denied);
    let path = format!("/app/installations/{}/access_tokens", world.demo.installation);
    for body in [json!({ "permissions": { "administration": "write" } }), json!({ "repository_ids": [1] })] {
        assert_eq!(world.as_app("POST", &path, Some(body)).await.status, 422);
    }
    assert_eq!(world.sandbox.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn the_app_is_suspended_and_removed() {
    let world = World::new().await;
    let token = world.token(json!({})).await;
    let status = async || world.ask("GET", "/repos/octo/demo", &token, None).await.unwrap().status;
    world.sandbox.suspend(world.demo.installation, true, "octo").unwrap();
    assert_eq!(status().await, 403);
    world.sandbox.suspend(world.demo.installation, false, "octo").unwrap();
    assert_eq!(status().await, 200);
    world.sandbox.uninstall(world.demo.installation, "octo").unwrap();
    assert_eq!(status().await, 401);
    let path = format!("/app/installations/{}/access_tokens", world.demo.installation);
    assert_eq!(world.as_app("POST", &path, Some(json!({}))).await.status, 404);
}

#[tokio::test]
async fn comments_of_others_are_not_edited() {
    let world = World::new().await;
    let id = world.sandbox.comment(REPO, 1, "bob", "mine").unwrap();
    let path = format!("/repos/octo/demo/issues/comments/{id}");
    world.expect(403, "PATCH", &path, Some(json!({ "body": "yours" }))).await;
    world.expect(403, "DELETE", &path, None).await;
    assert_eq!(world.sandbox.comments(REPO, 1)[0].body, "mine");
}

#[tokio::test]
async fn locked_conversations_take_no_comment() {
    let world = World::new().await;
    world.sandbox.set_locked(REPO, 1, true).unwrap();
    let body = Some(json!({ "body": "x" }));
    world.expect(403, "POST", "/repos/octo/demo/issues/1/comments", body.clone()).await;
    world.sandbox.set_locked(REPO, 1, false).unwrap();
    world.expect(201, "POST", "/repos/octo/demo/issues/1/comments", body).await;
}

#[tokio::test]
async fn who_does_not_say_who_it_is() {
    let world = World::new().await;
    let url = world.sandbox.settings().api + "/repos/octo/demo";
    let nobody = world.client.get(&url).send().await.unwrap();
    assert_eq!(nobody.status(), 401);
    let nameless = reqwest::Client::builder().no_proxy().build().unwrap();
    let nameless = nameless.get(&url).bearer_auth(world.token(json!({})).await).send().await.unwrap();
    assert_eq!(nameless.status(), 403);
    assert!(world.sandbox.violations()[0].contains("User-Agent"));
}
