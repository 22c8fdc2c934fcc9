//! git over HTTP, by the git that is installed.

use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::json;

use super::support::{REPO, World};

/// Runs git without blocking the sandbox, which answers on the same runtime.
async fn git(folder: &Path, token: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("HOME", folder).env("GIT_TERMINAL_PROMPT", "0");
    if let Some(token) = token {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"));
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "http.extraHeader");
        command.env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {basic}"));
    }
    command.args(args);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_are_fetched_by_name_by_sha_and_in_part() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    said(&git(here, None, &["init", "--quiet"]).await);
    let url = format!("{}/{REPO}.git", world.sandbox.settings().web);
    let pull = world.sandbox.look(REPO, world.demo.fork).unwrap().pull.unwrap();
    for protocol in ["0", "2"] {
        let version = format!("protocol.version={protocol}");
        let name = format!("refs/pull/{}/head", world.demo.fork);
        said(&git(here, None, &["-c", &version, "fetch", "--quiet", &url, &name]).await);
        assert_eq!(said(&git(here, None, &["rev-parse", "FETCH_HEAD"]).await), pull.head_sha);
    }
    let old = world.sandbox.look(REPO, world.demo.slower).unwrap().pull.unwrap().head_sha;
    world.sandbox.force(REPO, "slower", &pull.base_sha, "maintainer").unwrap();
    let another = tempfile::tempdir().unwrap();
    said(&git(another.path(), None, &["init", "--quiet"]).await);
    said(&git(another.path(), None, &["fetch", "--quiet", "--depth=1", "--filter=blob:none", &url, &old]).await);
    assert_eq!(said(&git(another.path(), None, &["rev-parse", "FETCH_HEAD"]).await), old);
    let absent = git(here, None, &["fetch", "--quiet", &url, &"1".repeat(40)]).await;
    assert!(!absent.status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_repository_needs_a_token_that_reads_contents() {
    let world = World::new().await;
    world.sandbox.set_private(REPO, true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{}/{REPO}.git", world.sandbox.settings().web);
    let list = async |token: Option<&str>| git(folder.path(), token, &["ls-remote", &url, "main"]).await;
    assert!(!list(None).await.status.success());
    let reads = world.token(json!({ "permissions": { "contents": "read" } })).await;
    assert!(said(&list(Some(&reads)).await).ends_with("refs/heads/main"));
    let writes_comments = world.token(json!({ "permissions": { "issues": "write" } })).await;
    assert!(!list(Some(&writes_comments)).await.status.success());
    assert!(!list(Some("ghs_unknown")).await.status.success());
    world.sandbox.rename(REPO, "other", "octo").unwrap();
    assert!(said(&list(Some(&reads)).await).ends_with("refs/heads/main"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_has_the_steps_of_its_suite() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let bare = world.sandbox.folder(REPO).unwrap();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/suites/demo.toml");
    let suite = std::fs::read_to_string(suite).unwrap();
    let steps: Vec<&str> = suite.lines().filter_map(|line| line.split("\"sh\", \"bench.sh\", \"").nth(1)).collect();
    assert_eq!(steps.len(), 3);
    for commit in ["main", "slower", "refs/pull/2/head"] {
        let text = said(&git(&bare, None, &["show", &format!("{commit}:bench.sh")]).await);
        std::fs::write(folder.path().join("bench.sh"), text).unwrap();
        for step in &steps {
            let step = step.split('"').next().unwrap();
            let ended = Command::new("sh").args(["bench.sh", step]).current_dir(folder.path()).output().unwrap();
            assert_eq!(said(&ended), r#"{"items": 1000}"#, "{commit} {step}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_is_pushed_with_git() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let bare = world.sandbox.folder(REPO).unwrap().display().to_string();
    said(&git(folder.path(), None, &["clone", "--quiet", "--branch", "slower", &bare, "."]).await);
    std::fs::write(folder.path().join("more"), "text").unwrap();
    said(&git(folder.path(), None, &["add", "more"]).await);
    let person = ["-c", "user.name=m", "-c", "user.email=m@localhost"];
    said(&git(folder.path(), None, &[&person[..], &["commit", "--quiet", "-m", "More"]].concat()).await);
    said(&git(folder.path(), None, &["push", "--quiet", "origin", "slower"]).await);
    world.sandbox.pushed(REPO, "maintainer").unwrap();
    let head = world.sandbox.look(REPO, world.demo.slower).unwrap().pull.unwrap().head_sha;
    assert_eq!(said(&git(folder.path(), None, &["rev-parse", "HEAD"]).await), head);
    assert_eq!(world.sandbox.deliveries().last().unwrap().action.as_deref(), Some("synchronize"));
}
