//! The port against the sandbox, which holds every question and answer against GitHub's own description.

use std::path::Path;
use std::sync::Arc;

use domain::ports::Forge as _;
use domain::ports::forge::{Button, CheckState, CheckWanted, CommentWanted, Conclusion, PullId, Repo};
use domain::time::Ms;
use github::{GitHub, Settings};
use sandbox::clock::Hand;
use sandbox::model::Kind;
use sandbox::{Options, Sandbox};
use secrecy::SecretString;

use crate::stage::{MARKER, START, StillClock};

const REPO: &str = "octo/lib";

/// A sandbox with a pull request, and the port to it.
async fn world() -> (Sandbox, GitHub, PullId) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/github.json");
    let judge = sandbox::contract::judge(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut options = Options::new(Arc::new(Hand::at(START)));
    options.judge = Some(judge);
    options.webhook = Some("http://127.0.0.1:9/webhook".into());
    let sandbox = Sandbox::start(options).await.unwrap();
    let id = sandbox.repository(REPO).unwrap();
    let _ = sandbox.user("ann", Kind::User);
    sandbox.commit(REPO, "main", &[("a b.toml", Some("one"))], "First").unwrap();
    sandbox.commit(REPO, "fix", &[("a b.toml", Some("two"))], "Second").unwrap();
    let installation = sandbox.install("octo", &[REPO]).unwrap();
    let number = sandbox.pull(REPO, "fix", "main", "Fix", "ann").unwrap();
    let clock = Arc::new(StillClock::default());
    clock.pass(START);
    let connect = sandbox.settings();
    let settings = Settings {
        api: connect.api,
        write_pause_ms: 0,
        ..Settings::new(connect.app_id, vec![SecretString::from(sandbox::PRIVATE_KEY)])
    };
    let github = GitHub::new(&settings, clock).unwrap();
    (sandbox, github, PullId { repo: Repo { id, name: REPO.into(), installation }, number })
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_asked_is_described() {
    use CheckState::{Green, Missing, Pending, Red};
    let (sandbox, github, pull) = world().await;
    let repo = &pull.repo;
    let head = github.pull(&pull).await.unwrap().head;

    let app = github.app().await.unwrap();
    assert_eq!((app.slug.as_str(), app.installations), ("zephyr-ab", 1));
    assert_eq!(app.permissions["statuses"], "read");
    let hook = github.hook().await.unwrap();
    assert_eq!((hook.url.as_deref(), hook.json, hook.signed), (Some("http://127.0.0.1:9/webhook"), true, true));

    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    for _ in 0..2 {
        github.labels(&pull, &list(&["ab: faster", "new/one"]), &list(&["old"])).await.unwrap();
    }
    github.labels(&pull, &[], &list(&["NEW/one"])).await.unwrap();
    assert_eq!(sandbox.look(REPO, pull.number).unwrap().labels, ["ab: faster"]);

    let file = async |path, at| github.file(repo, path, at).await.unwrap();
    assert_eq!(file("a b.toml", None).await.as_deref(), Some(&b"one"[..]));
    assert_eq!(file("a b.toml", Some(&head)).await.as_deref(), Some(&b"two"[..]));
    assert_eq!(file("c", Some(&head)).await, None);
    assert!(github.file(repo, "a b.toml", Some(&"1".repeat(40).parse().unwrap())).await.is_err());

    let wanted = CommentWanted { pull: pull.clone(), marker: MARKER.into(), body: format!("{MARKER}\nx") };
    let comment = github.comment(&wanted, None, false).await.unwrap().id.unwrap();
    for _ in 0..2 {
        github.minimise(repo, comment).await.unwrap();
    }
    assert_eq!(sandbox.comments(REPO, pull.number)[0].minimized.as_deref(), Some("outdated"));
    let hers = sandbox.comment(REPO, pull.number, "ann", "hers").unwrap();
    assert!(github.minimise(repo, hers).await.is_err());
    for _ in 0..2 {
        github.delete(repo, comment).await.unwrap();
    }
    assert!(github.delete(repo, hers).await.is_err());
    assert_eq!(sandbox.comments(REPO, pull.number).iter().map(|left| left.id).collect::<Vec<_>>(), [hers]);

    let names = list(&["build", "ci", "ours", "nobody"]);
    let states = async || -> Vec<CheckState> {
        let found = github.checks(repo, &head, &names).await.unwrap();
        found.into_iter().map(|check| check.state).collect()
    };
    assert_eq!(states().await, [Missing; 4]);
    sandbox.other_check(REPO, head.as_str(), "build", None).unwrap();
    sandbox.set_status(REPO, head.as_str(), "ci", "failure").unwrap();
    let mut check = CheckWanted {
        repo: repo.clone(),
        head: head.clone(),
        name: "ours".into(),
        external: "run-1".into(),
        conclusion: Some(Conclusion::Success),
        title: "done".into(),
        summary: "so far".into(),
        text: String::new(),
        details: None,
        buttons: vec![],
        started: Ms(START),
        ended: Some(Ms(START)),
    };
    let id = github.check(&check, None).await.unwrap();
    assert_eq!(states().await, [Pending, Red, Green, Missing]);
    sandbox.other_check(REPO, head.as_str(), "build", Some("success")).unwrap();
    for at in 0..120 {
        sandbox.set_status(REPO, head.as_str(), &format!("a{at:03}"), "success").unwrap();
    }
    // The newest counts, also on the second page.
    sandbox.set_status(REPO, head.as_str(), "ci", "success").unwrap();
    assert_eq!(states().await, [Green, Green, Green, Missing]);

    let label = "Measure it all once more".to_owned();
    check.buttons.push(Button { label, description: "Twice as long".into(), identifier: "more".into() });
    assert_eq!(github.check(&check, Some(id)).await.unwrap(), id);
    let shown = sandbox.checks().into_iter().find(|check| check.id == id).unwrap();
    assert_eq!((shown.actions[0].label.as_str(), shown.status.as_str()), ("Measure it all once…", "completed"));
    sandbox.press(id, "more", "ann").unwrap();

    // Without the permission the statuses of a public repository are read all the same, those of a private one are not.
    sandbox.permit(repo.installation, "statuses", None).unwrap();
    sandbox.expire_tokens();
    assert_eq!(states().await, [Green, Green, Green, Missing]);
    sandbox.set_private(REPO, true).unwrap();
    let error = github.checks(repo, &head, &names).await.unwrap_err();
    assert!(error.to_string().contains("statuses: read"), "{error}");
    assert_eq!(sandbox.violations(), Vec::<String>::new());
}
