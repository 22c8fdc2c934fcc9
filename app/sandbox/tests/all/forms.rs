//! The page of a pull request: what it shows, and what its forms do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::support::{REPO, Receiver, World};

const PAGE: &str = "/octo/demo/pull/1";

impl World {
    async fn page(&self, path: &str) -> String {
        self.client.get(self.sandbox.settings().web + path).send().await.unwrap().text().await.unwrap()
    }

    /// Sends a form as a browser does that shows a page of `origin`.
    async fn send(&self, path: &str, origin: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
        let mut form = reqwest::Url::parse("http://x").unwrap();
        form.query_pairs_mut().extend_pairs(fields);
        let sent = self
            .client
            .post(self.sandbox.settings().web + path)
            .header("origin", origin)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.query().unwrap_or_default().to_owned());
        let answer = sent.send().await.unwrap();
        let to = answer.headers().get("location").map(|to| to.to_str().unwrap().to_owned()).unwrap_or_default();
        (answer.status().as_u16(), to, answer.text().await.unwrap())
    }

    /// The same from a page of the sandbox.
    async fn act(&self, path: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
        self.send(&format!("{PAGE}{path}"), &self.sandbox.settings().web, fields).await
    }

    async fn check(&self) -> u64 {
        let head = self.sandbox.look(REPO, 1).unwrap().pull.unwrap().head_sha;
        let check = json!({
            "name": "zephyr-ab / demo", "head_sha": head, "status": "completed", "conclusion": "failure",
            "output": { "title": "regression", "summary": "**CPU** went up", "text": "<details><summary>rows</summary>\n\nx\n\n</details>" },
            "actions": [{ "label": "Again", "description": "Runs again", "identifier": "run again" }],
        });
        self.expect(201, "POST", "/repos/octo/demo/check-runs", Some(check)).await.body["id"].as_u64().unwrap()
    }
}

/// The page without style and script, which are long and the same everywhere, and without numbers.
fn inner(page: &str, sha: &str) -> String {
    let body = page.split("<body>").nth(1).unwrap().split("<script>").next().unwrap();
    // A line for each part, so that a change can be read.
    let mut body = body.trim().replace("><", ">\n<").replace(&sha[..7], "HEAD");
    for id in 1000..1100 {
        for before in ["issuecomment-", "check-", "checks/"] {
            body = body.replace(&format!("{before}{id}"), &format!("{before}ID"));
        }
    }
    body
}

#[tokio::test]
async fn a_pull_request_as_people_see_it() {
    let world = World::new().await;
    let asked = world.sandbox.comment(REPO, 1, "maintainer", "/ab-test demo").unwrap();
    let path = format!("/repos/octo/demo/issues/comments/{asked}/reactions");
    world.expect(201, "POST", &path, Some(json!({ "content": "eyes" }))).await;
    world.clock.advance(20_000);
    let said = json!({ "body": "<!-- marker -->\n## Queued" });
    let said = world.expect(201, "POST", "/repos/octo/demo/issues/1/comments", Some(said)).await.body["id"].clone();
    world.clock.advance(20_000);
    let edited =
        json!({ "body": "<!-- marker -->\n## Verdict\n\n| a | b |\n|---|---:|\n| `x` | 1<br><sub>n=5</sub> |" });
    world.expect(200, "PATCH", &format!("/repos/octo/demo/issues/comments/{said}"), Some(edited)).await;
    world.check().await;
    world.sandbox.other_check(REPO, "slower", "build", None).unwrap();
    world.clock.advance(20_000);
    world.sandbox.comment(REPO, 1, "visitor", "<b>not ended </details><script>alert(1)</script>").unwrap();
    let head = world.sandbox.look(REPO, 1).unwrap().pull.unwrap().head_sha;
    insta::assert_snapshot!("open", inner(&world.page(PAGE).await, &head));
}

#[tokio::test]
async fn what_happened_is_told_between_the_comments() {
    let world = World::new().await;
    let check = world.check().await;
    world.clock.advance(1000);
    let other = world.sandbox.commit(REPO, "other", &[("x", Some("x"))], "Another way").unwrap();
    let head = world.sandbox.push(REPO, "slower", &[("y", Some("y"))], "One more <b>", "maintainer").unwrap();
    world.sandbox.set_draft(REPO, 1, true, "maintainer").unwrap();
    world.sandbox.set_draft(REPO, 1, false, "maintainer").unwrap();
    world.sandbox.force(REPO, "slower", &other, "maintainer").unwrap();
    world.sandbox.close(REPO, 1, "bob").unwrap();
    world.sandbox.reopen(REPO, 1, "maintainer").unwrap();
    let text = world.page(PAGE).await;
    let mut rest = text.as_str();
    for expected in [
        "added 1 commit",
        "Check every row twice",
        &format!("id=\"check-{check}\""),
        "One more &lt;b&gt;",
        "as a draft",
        "ready for review",
        &format!(
            "force-pushed the <code>slower</code> branch from <code>{}</code> to <code>{}</code>",
            &head[..7],
            &other[..7]
        ),
        "<b>bob</b> closed this",
        "<b>maintainer</b> reopened this",
        "Close pull request",
    ] {
        let at = rest.find(expected);
        assert!(at.is_some(), "{expected} is missing, or out of its order, in {text}");
        rest = &rest[at.unwrap_or_default()..];
    }
    world.sandbox.merge(REPO, 1, "maintainer").unwrap();
    let text = world.page(PAGE).await;
    assert!(text.contains("state merged") && text.contains("<b>maintainer</b> merged"), "{text}");
    assert!(!text.contains("Close pull request") && !text.contains("Reopen pull request"));
    // The lists say so as well.
    for path in ["/", "/octo/demo"] {
        assert!(world.page(path).await.contains("state merged"), "{path}");
    }
}

#[tokio::test]
async fn a_browser_gets_nothing_from_elsewhere() {
    let world = World::new().await;
    let answer = world.client.get(world.sandbox.settings().web + PAGE).send().await.unwrap();
    let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
    let text = answer.text().await.unwrap();
    for part in
        ["default-src 'none'", "script-src 'sha256-", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(text.matches("<script").count(), 1);
    for foreign in ["src=", "url(", "@import", "https://", " style="] {
        assert!(!text.contains(foreign), "{foreign}");
    }
    // Attributes such as onclick stand in tags only.
    let before_script = text.split("<script>").next().unwrap();
    let tags: String = before_script.split('<').filter_map(|part| part.split_once('>')).map(|(tag, _)| tag).collect();
    let is_handler = |word: &str| word.starts_with("on") && word.contains('=');
    assert_eq!(tags.split_whitespace().find(|word| is_handler(word)), None);
}

#[tokio::test]
async fn a_person_writes_and_clicks() {
    let world = World::new().await;
    let receiver = Receiver::new().await;
    world.sandbox.set_webhook(&receiver.url);
    let (status, to, _) = world.act("/comments", &[("by", "visitor"), ("body", "/ab-test demo\r\nplease & <b>")]).await;
    let written = world.sandbox.comments(REPO, 1).pop().unwrap();
    assert_eq!((status, to), (303, format!("{PAGE}#issuecomment-{}", written.id)));
    assert_eq!((written.author.as_deref(), written.body.as_str()), (Some("visitor"), "/ab-test demo\nplease & <b>"));
    let check = world.check().await;
    let text = world.page(PAGE).await;
    for button in ["actions/run%20again", "rerequest"] {
        assert!(text.contains(&format!("formaction=\"{PAGE}/checks/{check}/{button}\"")), "{text}");
        let path = format!("/checks/{check}/{button}");
        assert_eq!(world.act(&path, &[("by", "maintainer"), ("body", "typed")]).await.0, 303);
        let (status, _, said) = world.act(&path, &[("by", "bob")]).await;
        assert!(status == 403 && said.contains("people who may write"), "{said}");
    }
    let head = world.sandbox.look(REPO, 1).unwrap().pull.unwrap().head_sha;
    for (title, twice) in [("Check every row once", 0), ("Check every row twice", 1)] {
        assert_eq!(world.act("/push", &[("by", "maintainer")]).await.0, 303);
        let file = world.expect(200, "GET", "/repos/octo/demo/contents/bench.sh?ref=slower", None).await;
        let text = file.body["content"].as_str().unwrap().replace('\n', "");
        let text = String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
        assert_eq!(text.matches("turn \"$loops\"; turn \"$loops\"").count(), twice);
        assert!(world.page(PAGE).await.contains(title));
    }
    assert_ne!(world.sandbox.look(REPO, 1).unwrap().pull.unwrap().head_sha, head);
    assert_eq!(world.act("/close", &[("by", "maintainer")]).await.0, 303);
    assert_eq!(world.act("/reopen", &[("by", "maintainer")]).await.0, 303);
    world.sandbox.quiesce().await;
    let mut heard: Vec<String> = receiver.take().iter().map(super::support::Arrived::what).collect();
    heard.sort();
    heard.dedup();
    let expected = [
        "check_run.requested_action",
        "check_run.rerequested",
        "issue_comment.created",
        "pull_request.closed",
        "pull_request.reopened",
        "pull_request.synchronize",
    ];
    for what in expected {
        assert!(heard.contains(&what.to_owned()), "{what}: {heard:?}");
    }
}

#[tokio::test]
async fn what_is_refused_changes_nothing() {
    let world = World::new().await;
    let web = world.sandbox.settings().web;
    let fields = [("by", "maintainer"), ("body", "x")];
    for origin in ["http://evil.example", "null", "http://localhost:1", &web.replace("http://", "https://")] {
        for path in ["/comments", "/close", "/push", "/checks/1/rerequest"] {
            assert_eq!(world.send(&format!("{PAGE}{path}"), origin, &fields).await.0, 403, "{origin} {path}");
        }
    }
    let long = "x".repeat(65_537);
    for (path, by, body, expected) in [
        ("/comments", "nobody", "x", 422),
        ("/comments", "octo", "x", 422),
        ("/comments", "zephyr-ab[bot]", "x", 422),
        ("/comments", "maintainer", "  ", 422),
        ("/comments", "maintainer", &long, 422),
        ("/close", "visitor", "x", 403),
        ("/reopen", "maintainer", "x", 422),
        ("/push", "bob", "x", 403),
        ("/checks/1/rerequest", "maintainer", "x", 404),
        ("/checks/x/rerequest", "maintainer", "x", 404),
        ("/nothing", "maintainer", "x", 404),
    ] {
        assert_eq!(world.act(path, &[("by", by), ("body", body)]).await.0, expected, "{path} {by}");
    }
    assert_eq!(world.send("/octo/demo/pull/99/comments", &web, &fields).await.0, 422);
    world.sandbox.set_locked(REPO, 1, true).unwrap();
    assert_eq!(world.act("/comments", &[("by", "bob"), ("body", "x")]).await.0, 403);
    assert_eq!(world.sandbox.comments(REPO, 1).len(), 0);
    assert!(world.sandbox.look(REPO, 1).unwrap().open);
    // The branch of a fork is its owner's.
    let fork = |by: &'static str| ("/octo/demo/pull/2/push", [("by", by)]);
    let (path, by) = fork("maintainer");
    assert_eq!(world.send(path, &web, &by).await.0, 403);
    let (path, by) = fork("visitor");
    assert_eq!(world.send(path, &web, &by).await.0, 303);
}
