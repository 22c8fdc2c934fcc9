//! What an operator sees and does beside a service.

use domain::ports::desk::{AuditLine, Desk, Settle, Settled};
use domain::ports::forge::Repo;
use domain::ports::{Committed, Store, Write};
use domain::time::Ms;
use store::admin::{Lease, Unstick, Unstuck};
use store::{SqlStore, Tables, tables};

use crate::place::{Place, all};
use crate::words::{delivery, id, run, subject, want, wants, write};

fn audit(action: &str, subject: &str) -> AuditLine {
    let (action, subject) = (action.to_owned(), subject.to_owned());
    AuditLine { at: Ms(5), actor: "admin".to_owned(), action, subject, detail: "by hand".to_owned() }
}

fn unstick(subject: &str, target: &str, force: bool, now: u64) -> Unstick {
    let (subjects, targets) = (vec![subject.to_owned()], vec![target.to_owned()]);
    Unstick { subjects, targets, force, now: Ms(now), audit: audit("unstick", subject) }
}

/// A run with two effects, one of them far away, and something to say.
async fn put_off(store: &SqlStore) {
    store.create(subject("run:1", Some(3))).await.unwrap();
    let effects = vec![("one".into(), "{}".into(), Ms(4)), ("two".into(), "{}".into(), Ms(9000))];
    store.commit(Write { effects, due: Some(Ms(9000)), ..write("run:1", 0, 0) }).await.unwrap();
    store.settle(wants(vec![want("check:1", "x", 9000), want("check:2", "x", 9000)])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_put_off_is_due_and_nothing_else_changes() {
    for place in all().await {
        let store = place.open().await;
        put_off(&store).await;
        store.create(subject("run:2", Some(9000))).await.unwrap();
        let done = store.unstick(unstick("run:1", "check:1", false, 100)).await.unwrap();
        assert_eq!(done, Unstuck { subjects: 1, effects: 1, unsaid: 1, ..Unstuck::default() });
        let now = store.read("run:1").await.unwrap().unwrap();
        assert_eq!((now.due, now.version, now.fence), (Some(Ms(100)), 2, 0));
        let due: Vec<Ms> = store.effects("run:1").await.unwrap().iter().map(|effect| effect.due).collect();
        assert_eq!(due, [Ms(4), Ms(100)]);
        assert_eq!(store.read("run:2").await.unwrap().unwrap().due, Some(Ms(9000)));
        let lines = store.lines(&["check:1", "check:2", "check:3"].map(str::to_owned)).await.unwrap();
        assert_eq!(lines.iter().map(|line| line.due).collect::<Vec<_>>(), [Ms(100), Ms(9000)]);
        assert_eq!(store.audit_of("run:1", "other", 9).await.unwrap(), [audit("unstick", "run:1")]);
        assert_eq!(store.audit_of("run:2", "other", 9).await.unwrap(), []);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_runs_is_taken_back_only_by_force_and_who_held_it_can_no_longer_write() {
    for place in all().await {
        let store = place.open().await;
        put_off(&store).await;
        let held = store.claim("w", Ms(9000), Ms(9500), 1).await.unwrap().remove(0);
        store.claim_wants("w", Ms(9000), Ms(9500), 1).await.unwrap();
        let lease = || Some(Lease { owner: "w".to_owned(), until: Ms(9500) });
        assert_eq!(store.lease("run:1").await.unwrap(), lease());

        let done = store.unstick(unstick("run:1", "check:1", false, 9400)).await.unwrap();
        assert_eq!((done.ended_leases, done.running_leases), (0, 0));
        assert_eq!(store.lease("run:1").await.unwrap(), lease());
        // Whoever holds it gives it back without putting it off again: the version has moved.
        let put_off = store.read("run:1").await.unwrap().unwrap();
        assert_eq!(put_off.version, held.version);

        let done = store.unstick(unstick("run:1", "check:1", true, 9400)).await.unwrap();
        assert_eq!((done.ended_leases, done.running_leases), (0, 2));
        assert_eq!(store.lease("run:1").await.unwrap(), None);
        assert_eq!(store.lines(&["check:1".to_owned()]).await.unwrap()[0].lease, None);
        let late = Write { version: held.version, ..write("run:1", held.version, held.fence) };
        assert_eq!(store.commit(late).await.unwrap(), Committed::Outdated);

        store.claim("w", Ms(9600), Ms(9700), 1).await.unwrap();
        let done = store.unstick(unstick("run:1", "check:1", false, 9800)).await.unwrap();
        assert_eq!((done.ended_leases, done.running_leases), (1, 0));
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_given_back_meanwhile_stays_due() {
    for place in all().await {
        let store = place.open().await;
        put_off(&store).await;
        let held = store.claim("w", Ms(9000), Ms(9500), 1).await.unwrap().remove(0);
        let far = Write { due: Some(Ms(20_000)), ..write("run:1", held.version, held.fence) };
        let Committed::Done(version) = store.commit(far).await.unwrap() else { panic!("outdated") };
        store.unstick(unstick("run:1", "check:1", false, 9100)).await.unwrap();
        store.release("run:1", held.fence, version, Some(Ms(30_000))).await.unwrap();
        assert_eq!(store.read("run:1").await.unwrap().unwrap().due, Some(Ms(9100)));
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_handled_anew() {
    for place in all().await {
        let store = place.open().await;
        store.receive(delivery("a", 1)).await.unwrap();
        let handled =
            |version| Settle { delivery: Some(("a".to_owned(), version, "ok".to_owned())), ..Settle::default() };
        assert_eq!(store.settle(handled(1)).await.unwrap(), Settled::Done);
        let known = store.known_delivery("a").await.unwrap().unwrap();
        assert_eq!((known.handled, known.whole, known.outcome.as_deref()), (true, true, Some("ok")));
        assert!(store.again("a", Ms(9), None, audit("delivery again", "delivery:a")).await.unwrap());
        assert_eq!(store.open_deliveries(1, Ms(9), 9).await.unwrap()[0].delivery, delivery("a", 1));
        assert_eq!(store.settle(handled(1)).await.unwrap(), Settled::Done);

        assert_eq!(store.prune(Ms(9)).await.unwrap(), 1);
        assert!(!store.known_delivery("a").await.unwrap().unwrap().whole);
        assert!(!store.again("a", Ms(9), None, audit("delivery again", "x")).await.unwrap());
        let payload = delivery("a", 1).payload;
        assert!(store.again("a", Ms(9), Some(payload), audit("delivery again", "x")).await.unwrap());
        assert_eq!(store.open_deliveries(1, Ms(9), 9).await.unwrap()[0].delivery, delivery("a", 1));

        assert_eq!(store.known_delivery("b").await.unwrap(), None);
        assert!(!store.again("b", Ms(9), Some("{}".to_owned()), audit("delivery again", "y")).await.unwrap());
        assert_eq!(store.audit_of("y", "y", 9).await.unwrap(), []);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_and_repositories_are_found() {
    for place in all().await {
        let store = place.open().await;
        let repo = |id: u64, name: &str| Repo { id, name: name.to_owned(), installation: 7 };
        let settle = Settle {
            begin: vec![run(1, 42, "r")],
            repos: vec![repo(1, "Octo/demo"), repo(2, "octo/other")],
            ..Settle::default()
        };
        assert_eq!(store.settle(settle).await.unwrap(), Settled::Done);
        assert_eq!(store.run(&id(1)).await.unwrap(), Some(run(1, 42, "r")));
        assert_eq!(store.run(&id(2)).await.unwrap(), None);
        assert_eq!(store.repos_named("octo/DEMO").await.unwrap(), [1]);
        assert_eq!(store.repos_named("octo/de").await.unwrap(), [0_u64; 0]);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_looked_at_and_stay_as_they_are() {
    for place in all().await.into_iter().filter(|place| !place.url.ends_with(":memory:")) {
        assert_eq!(tables(&place.url).await.unwrap(), Tables::None);
        if place.url.starts_with("sqlite:") {
            assert!(!place.path().exists());
        }
        let store = place.open().await;
        let Tables::Current { found } = tables(&place.url).await.unwrap() else { panic!("not those of this program") };
        store.close().await;
        newer(&place, found + 1).await;
        assert_eq!(tables(&place.url).await.unwrap(), Tables::Newer { found: found + 1, known: found });
    }
    let nobody = tables("postgres://nobody@127.0.0.1:1/x").await.unwrap_err().to_string();
    assert!(nobody.starts_with("the store cannot be reached"), "{nobody}");
    let folder = tempfile::tempdir().unwrap();
    assert!(tables(&format!("sqlite:{}", folder.path().display())).await.is_err());
}

async fn newer(place: &Place, version: u64) {
    use sqlx::Connection as _;
    sqlx::any::install_default_drivers();
    let url = place.url.replacen("sqlite:/", "sqlite:///", 1).replace(' ', "%20");
    let mut conn = sqlx::AnyConnection::connect(&url).await.unwrap();
    let text = "UPDATE meta SET value = $1 WHERE name = 'schema'";
    let version = i64::try_from(version).unwrap();
    sqlx::query(text).bind(version).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}
