//! How far the checks of a commit are.

use domain::ports::Forge as _;
use domain::ports::forge::{CheckState, ForgeError};
use serde_json::{Value, json};

use crate::fake::Fault;
use crate::stage::{Stage, repo};

const HEAD: &str = "deadbeef00112233445566778899aabbccddeeff";

fn run(id: u64, name: &str, app: u64, status: &str, conclusion: Option<&str>) -> Value {
    json!({ "id": id, "name": name, "app": { "id": app }, "status": status, "conclusion": conclusion })
}

fn status(context: &str, state: &str) -> Value {
    json!({ "context": context, "state": state })
}

async fn states(stage: &Stage, names: &[&str]) -> Result<Vec<CheckState>, ForgeError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let found = stage.github.checks(&repo(), &HEAD.parse().unwrap(), &names).await?;
    assert!(found.iter().map(|check| &check.name).eq(&names));
    Ok(found.into_iter().map(|check| check.state).collect())
}

#[tokio::test]
async fn runs_and_statuses_over_all_pages() {
    use CheckState::{Green, Missing, Pending, Red};
    let stage = Stage::new().await;
    stage.fake().page_size = 2;
    let ended = |conclusion| ("completed", Some(conclusion));
    for (id, name, app, (word, conclusion)) in [
        (1, "build", 1, ended("failure")),
        (2, "build", 1, ended("success")),
        (3, "lint", 1, ended("success")),
        (4, "lint", 2, ended("failure")),
        (5, "docs", 1, ended("skipped")),
        (6, "both", 1, ended("success")),
        (7, "again", 1, ended("success")),
        (8, "again", 1, ("queued", None)),
        (9, "BUILD", 1, ended("failure")),
    ] {
        stage.fake().checks.insert(id, run(id, name, app, word, conclusion));
    }
    stage.fake().statuses =
        vec![status("ci/old", "success"), status("both", "pending"), status("again", "error"), status("x", "pending")];
    for _ in 0..2 {
        let found = states(&stage, &["build", "lint", "docs", "both", "again", "ci/old", "x", "nobody", "build"])
            .await
            .unwrap();
        assert_eq!(found, [Green, Red, Green, Pending, Red, Green, Pending, Missing, Green]);
    }
    assert!(stage.seen("GET", "/check-runs")[0].path.ends_with("/check-runs?filter=latest&per_page=100"));
    stage.fake().seen.clear();
    assert_eq!(states(&stage, &[]).await.unwrap(), []);
    assert!(stage.fake().seen.is_empty());
}

#[tokio::test]
async fn statuses_that_nobody_granted() {
    let stage = Stage::new().await;
    stage.fake().no_statuses = Some(true);
    stage.fake().statuses = vec![status("ci", "success")];
    // Of a public repository they are read all the same.
    assert_eq!(states(&stage, &["ci"]).await.unwrap(), [CheckState::Green]);
    stage.fake().no_statuses = Some(false);
    let error = states(&stage, &["ci"]).await.unwrap_err();
    assert!(matches!(&error, ForgeError::Forbidden(why) if why.contains("statuses: read")), "{error:?}");
}

#[tokio::test]
async fn half_an_answer_is_none() {
    for part in ["/check-runs", "/status"] {
        let stage = Stage::new().await;
        stage.fake().checks.insert(1, run(1, "ci", 1, "completed", Some("success")));
        stage.fault(Fault::new("GET", part, 404));
        let error = states(&stage, &["ci"]).await.unwrap_err();
        assert!(matches!(error, ForgeError::Gone(_)), "{part}: {error:?}");
        stage.fault(Fault::new("GET", part, 200).tells(json!({ "of": "the future" })));
        let error = states(&stage, &["ci"]).await.unwrap_err();
        assert!(matches!(error, ForgeError::Unavailable(_)), "{part}: {error:?}");
    }
}
