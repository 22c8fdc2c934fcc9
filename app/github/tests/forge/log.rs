//! The log of deliveries, and who we are.

use domain::ports::Forge as _;
use domain::ports::forge::{ForgeError, LoggedDelivery, SentDelivery};
use domain::time::Ms;
use github::Installation;
use serde_json::{Value, json};

use crate::stage::{START, Stage};

fn line(id: u64, second: u64, status: &str) -> Value {
    json!({
        "id": id, "guid": format!("g{id}"), "delivered_at": format!("2026-11-30T05:28:{second:02}.5Z"),
        "status": status, "status_code": 0, "event": "issue_comment", "action": null, "installation_id": null,
    })
}

#[tokio::test]
async fn back_to_then_and_no_further() {
    let stage = Stage::new().await;
    stage.fake().page_size = 2;
    stage.fake().log = vec![
        line(6, 9, "OK"),
        line(5, 8, "timed out"),
        json!({ "id": null, "guid": null, "delivered_at": "2026-11-30T05:28:08Z" }),
        line(4, 7, "Invalid HTTP Response: 502"),
        line(3, 4, "OK"),
        line(2, 3, "OK"),
        line(1, 2, "OK"),
    ];
    // START is 05:28:05; half a second into the 4th, of which the log has the whole second only.
    let all = stage.github.deliveries(Ms(START - 500)).await.unwrap();
    let expected = |id: u64, second: u64, ok| LoggedDelivery {
        id,
        guid: format!("g{id}"),
        at: Ms(START - 5000 + second * 1000),
        ok,
        event: "issue_comment".into(),
    };
    assert_eq!(all, [expected(6, 9, true), expected(5, 8, false), expected(4, 7, false), expected(3, 4, true)]);
    let asked = stage.seen("GET", "/app/hook/deliveries");
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|seen| seen.login.starts_with("Bearer eyJ")));
    assert_eq!(stage.github.deliveries(Ms(0)).await.unwrap().len(), 6);
}

#[tokio::test]
async fn what_was_sent() {
    let stage = Stage::new().await;
    let whole = |id: u64, request: Value| json!({ "id": id, "guid": "g", "event": "ping", "request": request });
    stage.fake().log = vec![
        whole(1, json!({ "headers": { "X-GitHub-Event": "ping", "n": 7, "none": null }, "payload": { "zen": "é" } })),
        whole(2, json!({ "headers": null, "payload": "{\"zen\": 1}" })),
        whole(3, json!({ "payload": null })),
        json!({ "id": 4, "guid": null, "event": null, "request": null }),
    ];
    let sent = |headers: &[(&str, &str)], event: &str, guid: &str, payload: &str| SentDelivery {
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        event: event.into(),
        guid: guid.into(),
        payload: payload.into(),
    };
    for (id, expected) in [
        (1, sent(&[("X-GitHub-Event", "ping"), ("n", "7")], "ping", "g", r#"{"zen":"é"}"#)),
        (2, sent(&[], "ping", "g", r#"{"zen": 1}"#)),
        (3, sent(&[], "ping", "g", "")),
        (4, sent(&[], "", "", "")),
    ] {
        assert_eq!(stage.github.delivery(id).await.unwrap(), expected);
    }
    let error = stage.github.delivery(5).await.unwrap_err();
    assert!(matches!(error, ForgeError::Gone(_)), "{error:?}");
}

#[tokio::test]
async fn who_and_where() {
    let stage = Stage::new().await;
    let identity = stage.github.app().await.unwrap();
    assert_eq!((identity.id, identity.slug.as_str(), identity.name.as_str()), (5, "zab", "zephyr-ab"));
    let granted = [("issues".to_owned(), "write".to_owned())].into();
    assert_eq!(
        stage.github.installations().await.unwrap(),
        [
            Installation { id: 3, account: Some("octo".into()), suspended: false, permissions: granted },
            Installation { id: 4, account: None, suspended: true, permissions: [].into() },
        ]
    );
}
