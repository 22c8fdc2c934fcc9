//! Pull requests and permissions.

use domain::ports::Forge as _;
use domain::ports::forge::{Account, ForgeError, Permission};
use serde_json::{Value, json};

use crate::stage::{Stage, pull, repo};

const HEAD: &str = "deadbeef00112233445566778899aabbccddeeff";
const BASE: &str = "00112233445566778899aabbccddeeffdeadbeef";

pub(crate) fn page() -> Value {
    json!({
        "number": 7, "state": "open", "draft": false, "merged": false, "merged_at": null,
        "mergeable_state": "of the future", "user": null, "author_association": "SOMETHING_NEW",
        "head": { "ref": "fix", "sha": HEAD, "repo": { "id": 12, "full_name": "ann/demo", "owner": null } },
        "base": { "ref": "main", "sha": BASE, "repo": { "id": 11, "full_name": "octo/demo" } },
    })
}

#[tokio::test]
async fn a_pull_request() {
    let stage = Stage::new().await;
    stage.fake().pull = page();
    let found = stage.github.pull(&pull()).await.unwrap();
    assert_eq!(found.id, pull());
    assert_eq!((found.head.as_str(), found.base.as_str()), (HEAD, BASE));
    assert_eq!((found.head_ref.as_str(), found.base_ref.as_str()), ("fix", "main"));
    assert_eq!(found.head_repo, Some(12));
    assert!(found.open && !found.merged && !found.draft && found.is_fork());
    let seen = &stage.seen("GET", "/pulls/7")[0];
    assert_eq!(seen.agents, [concat!("zephyr-ab/", env!("CARGO_PKG_VERSION"))]);
    assert_eq!(seen.login, "Bearer ghs_1001");
}

#[tokio::test]
async fn fields_that_are_null_or_new() {
    type Change = fn(&mut Value);
    let changes: [Change; 6] = [
        |page| page["head"]["repo"] = Value::Null,
        |page| page["head"]["ref"] = Value::Null,
        |page| page["draft"] = Value::Null,
        |page| page["merged"] = Value::Null,
        |page| page["merged_at"] = json!("2026-11-30T00:00:00Z"),
        |page| page["state"] = json!("in a state of its own"),
    ];
    let stage = Stage::new().await;
    for (at, change) in changes.into_iter().enumerate() {
        let mut page = page();
        change(&mut page);
        stage.fake().pull = page;
        let found = stage.github.pull(&pull()).await.unwrap();
        assert_eq!(found.head_repo, (at != 0).then_some(12), "{at}");
        assert_eq!(found.head_ref.is_empty(), at == 1, "{at}");
        assert!(!found.draft, "{at}");
        assert_eq!(found.merged, at == 4, "{at}");
        assert_eq!(found.open, at != 5, "{at}");
    }
}

#[tokio::test]
async fn what_is_no_pull_request() {
    type Change = fn(&mut Value);
    let changes: [(Change, bool); 5] = [
        (|page| page["head"]["sha"] = json!("--upload-pack=x"), false),
        (|page| page["head"]["sha"] = Value::Null, false),
        (|page| page["head"] = Value::Null, false),
        (|page| page["base"]["sha"] = json!("main"), false),
        // Of some other repository.
        (|page| page["base"]["repo"]["id"] = json!(99), true),
    ];
    for (change, gone) in changes {
        let stage = Stage::new().await;
        let mut page = page();
        change(&mut page);
        stage.fake().pull = page;
        let error = stage.github.pull(&pull()).await.unwrap_err();
        assert_eq!(matches!(error, ForgeError::Gone(_)), gone, "{error:?}");
        assert_eq!(matches!(error, ForgeError::Unavailable(_)), !gone, "{error:?}");
    }
}

#[tokio::test]
async fn permissions() {
    let stage = Stage::new().await;
    for (id, (answer, expected)) in [
        (json!({ "permission": "admin", "role_name": "admin" }), Permission::Admin),
        (json!({ "permission": "write", "role_name": "maintain" }), Permission::Write),
        (json!({ "permission": "read", "role_name": "triage" }), Permission::Read),
        (json!({ "permission": "none" }), Permission::None),
        (json!({ "permission": "none", "role_name": "admin" }), Permission::None),
        (json!({ "permission": "maintain" }), Permission::Write),
        (json!({ "permission": "triage" }), Permission::Read),
        (json!({ "permission": "of the future", "role_name": "write" }), Permission::Write),
        (json!({ "permission": "of the future", "role_name": "security-team" }), Permission::None),
        (json!({ "permission": null, "role_name": null }), Permission::None),
    ]
    .into_iter()
    .enumerate()
    {
        let id = id as u64;
        let mut answer = answer;
        answer["user"] = json!({ "id": id, "login": "whoever" });
        stage.fake().permissions.insert(format!("u{id}"), answer.clone());
        let who = Account { id, login: format!("u{id}") };
        assert_eq!(stage.github.permission(&repo(), &who).await.unwrap(), expected, "{answer}");
    }
}

#[tokio::test]
async fn the_number_of_the_account_decides() {
    let stage = Stage::new().await;
    for (login, user) in [("ann", json!({ "id": 9 })), ("ben", json!({ "id": null })), ("cat", Value::Null)] {
        stage.fake().permissions.insert(login.into(), json!({ "permission": "admin", "user": user }));
    }
    for (id, login) in [(8, "ann"), (0, "ben"), (2, "cat"), (3, "nobody"), (4, "a/../b")] {
        let who = Account { id, login: login.into() };
        assert_eq!(stage.github.permission(&repo(), &who).await.unwrap(), Permission::None, "{login}");
    }
    let owner = Account { id: 9, login: "ann".into() };
    assert_eq!(stage.github.permission(&repo(), &owner).await.unwrap(), Permission::Admin);
    assert_eq!(stage.seen("GET", "/collaborators/a%2F..%2Fb/permission").len(), 1);
}

#[tokio::test]
async fn remembered_for_a_minute() {
    let stage = Stage::new().await;
    let ann = Account { id: 8, login: "dependabot[bot]".into() };
    let login = "dependabot%5Bbot%5D";
    stage.fake().permissions.insert(login.into(), json!({ "permission": "write", "user": { "id": 8 } }));
    assert_eq!(stage.github.permission(&repo(), &ann).await.unwrap(), Permission::Write);
    stage.fake().permissions.insert(login.into(), json!({ "permission": "none", "user": { "id": 8 } }));
    stage.clock.pass(59_999);
    assert_eq!(stage.github.permission(&repo(), &ann).await.unwrap(), Permission::Write);
    stage.clock.pass(1);
    assert_eq!(stage.github.permission(&repo(), &ann).await.unwrap(), Permission::None);
    assert_eq!(stage.seen("GET", "/collaborators/").len(), 2);
}
