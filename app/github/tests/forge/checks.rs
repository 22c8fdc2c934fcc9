//! Checks.

use domain::ports::Forge as _;
use domain::ports::forge::{Button, CheckWanted, Conclusion, ForgeError};
use domain::time::Ms;
use serde_json::json;

use crate::fake::Fault;
use crate::stage::{START, Stage, repo};

const HEAD: &str = "deadbeef00112233445566778899aabbccddeeff";

fn wanted() -> CheckWanted {
    CheckWanted {
        repo: repo(),
        head: HEAD.parse().unwrap(),
        name: "zab / zephyr".into(),
        external: "run-1".into(),
        conclusion: None,
        title: "measuring".into(),
        summary: "so far".into(),
        text: String::new(),
        details: None,
        buttons: vec![Button { label: "Cancel".into(), description: "Stop it".into(), identifier: "cancel".into() }],
        started: Ms(START),
        ended: None,
    }
}

#[tokio::test]
async fn begun_and_completed() {
    let stage = Stage::new().await;
    let id = stage.github.check(&wanted(), None).await.unwrap();
    assert_eq!(
        stage.seen("POST", "/check-runs")[0].body,
        json!({
            "name": "zab / zephyr", "head_sha": HEAD, "external_id": "run-1", "status": "in_progress",
            "started_at": "2026-11-30T05:28:05Z", "output": { "title": "measuring", "summary": "so far" },
            "actions": [{ "label": "Cancel", "description": "Stop it", "identifier": "cancel" }],
        })
    );
    let ended = CheckWanted {
        conclusion: Some(Conclusion::Neutral),
        text: "table".into(),
        details: Some("https://zab.example/run-1".into()),
        buttons: vec![],
        ended: Some(Ms(START + 60_999)),
        ..wanted()
    };
    // Known or not, it is the same one.
    for known in [Some(id), None] {
        assert_eq!(stage.github.check(&ended, known).await.unwrap(), id);
    }
    assert_eq!(
        stage.seen("PATCH", "/check-runs/")[0].body,
        json!({
            "name": "zab / zephyr", "external_id": "run-1", "status": "completed", "conclusion": "neutral",
            "started_at": "2026-11-30T05:28:05Z", "completed_at": "2026-11-30T05:29:05Z",
            "details_url": "https://zab.example/run-1", "actions": [],
            "output": { "title": "measuring", "summary": "so far", "text": "table" },
        })
    );
    assert_eq!(stage.fake().checks.len(), 1);
    let looked = &stage.seen("GET", "/check-runs")[0].path;
    assert_eq!(
        *looked,
        format!(
            "/repos/octo/demo/commits/{HEAD}/check-runs?check_name=zab%20%2F%20zephyr&app_id=5&filter=all&per_page=100"
        )
    );
}

#[tokio::test]
async fn buttons_of_a_check_that_has_ended() {
    let stage = Stage::new().await;
    let ended =
        CheckWanted { conclusion: Some(Conclusion::Success), buttons: vec![], ended: Some(Ms(START + 1)), ..wanted() };
    let id = stage.github.check(&ended, None).await.unwrap();
    let label = "Measure it all once more".to_owned();
    let more = vec![Button { label, description: "D".repeat(41), identifier: "more:7".into() }];
    assert_eq!(stage.github.check(&CheckWanted { buttons: more, ..ended.clone() }, Some(id)).await.unwrap(), id);
    let description = format!("{}…", "D".repeat(39));
    let shown = json!([{ "label": "Measure it all once…", "description": description, "identifier": "more:7" }]);
    let check = stage.fake().checks[&id].clone();
    assert_eq!((&check["actions"], &check["conclusion"]), (&shown, &json!("success")));
    let odd = Button { label: "L".into(), description: "D".into(), identifier: "i".repeat(21) };
    let error = stage.github.check(&CheckWanted { buttons: vec![odd], ..ended }, Some(id)).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
    assert_eq!(stage.seen("PATCH", "/check-runs/").len(), 1);
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_one() {
    for status in [500, 502] {
        let stage = Stage::new().await;
        stage.fault(Fault::new("POST", "/check-runs", status).done());
        let id = stage.github.check(&wanted(), None).await.unwrap();
        assert_eq!(stage.fake().checks.keys().copied().collect::<Vec<_>>(), [id]);
    }
    let stage = Stage::new().await;
    stage.fault(Fault::new("POST", "/check-runs", 502));
    stage.fault(Fault::new("POST", "/check-runs", 502));
    let error = stage.github.check(&wanted(), None).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
    assert_eq!(stage.seen("POST", "/check-runs").len(), 2);
}

#[tokio::test]
async fn ours_is_by_app_and_external_id() {
    let stage = Stage::new().await;
    stage.fake().page_size = 2;
    for (id, check) in [
        (1, json!({ "id": 1, "external_id": "run-0", "app": { "id": 5 } })),
        (3, json!({ "id": 3, "external_id": null, "app": null })),
        (4, json!({ "id": 4, "external_id": "run-1", "app": { "id": 5 } })),
        (5, json!({ "id": 5, "external_id": "run-1", "app": null, "status": "of the future" })),
        (6, json!({ "id": 6, "external_id": "run-1", "app": { "id": 6 } })),
    ] {
        stage.fake().checks.insert(id, check);
    }
    // One that is gone is looked for as well.
    for known in [None, Some(9)] {
        assert_eq!(stage.github.check(&wanted(), known).await.unwrap(), 5);
    }
    assert_eq!(stage.seen("POST", "/check-runs").len(), 0);
}

#[tokio::test]
async fn a_commit_that_is_not_there() {
    let stage = Stage::new().await;
    stage.fault(Fault::new("GET", "/check-runs", 404));
    let error = stage.github.check(&wanted(), None).await.unwrap_err();
    assert!(matches!(error, ForgeError::Gone(_)), "{error:?}");
    stage.fault(Fault::new("GET", "/check-runs", 422).says("No commit found for SHA"));
    let error = stage.github.check(&wanted(), None).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused(_)), "{error:?}");
}
