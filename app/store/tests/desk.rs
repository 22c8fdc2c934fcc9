//! What a service writes down.

use domain::ids::Digest;
use domain::ports::desk::{AuditLine, ClaimedWant, Desk, Settle, Settled};
use domain::ports::forge::Repo;
use domain::ports::{Committed, Store};
use domain::time::Ms;

use crate::place::all;
use crate::words::{delivery, id, look, run, subject, want, wants, write};

fn line(n: u64) -> AuditLine {
    let words = |what: &str| format!("{what} {n}");
    AuditLine { at: Ms(5), actor: words("actor"), action: "run".to_owned(), subject: words("s"), detail: words("d") }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_stored_once_and_handled_once_by_each_version() {
    for place in all().await {
        let store = place.open().await;
        assert!(store.receive(delivery("b", 2)).await.unwrap());
        assert!(store.receive(delivery("a", 1)).await.unwrap());
        let mut again = delivery("a", 9);
        again.payload.clear();
        assert!(!store.receive(again).await.unwrap());

        let open = store.open_deliveries(1, Ms(2), 10).await.unwrap();
        assert_eq!(open.iter().map(|open| &open.delivery).collect::<Vec<_>>(), [&delivery("a", 1), &delivery("b", 2)]);
        assert_eq!(store.open_deliveries(1, Ms(2), 1).await.unwrap().len(), 1);
        assert_eq!(store.open_deliveries(1, Ms(1), 10).await.unwrap().len(), 1);
        store.defer_delivery("a", Ms(20)).await.unwrap();
        let open = store.open_deliveries(1, Ms(19), 10).await.unwrap();
        assert_eq!(open.iter().map(|open| open.delivery.guid.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(store.open_deliveries(1, Ms(20), 10).await.unwrap()[0].attempts, 1);

        let handled =
            |version| Settle { delivery: Some(("a".to_owned(), version, "ok".to_owned())), ..Settle::default() };
        assert_eq!(store.settle(handled(2)).await.unwrap(), Settled::Done);
        assert_eq!(store.settle(handled(2)).await.unwrap(), Settled::Outdated);
        assert_eq!(store.settle(handled(1)).await.unwrap(), Settled::Outdated);
        assert_eq!(store.open_deliveries(2, Ms(99), 10).await.unwrap().len(), 1);
        assert_eq!(store.open_deliveries(3, Ms(99), 10).await.unwrap().len(), 2);
        let nobody = Settle { delivery: Some(("c".to_owned(), 1, String::new())), ..Settle::default() };
        assert_eq!(store.settle(nobody).await.unwrap(), Settled::Outdated);

        let asked = ["x", "b", "a"].map(str::to_owned);
        assert_eq!(store.known_deliveries(&asked).await.unwrap(), ["b", "a"]);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_is_all_or_nothing() {
    for place in all().await {
        let store = place.open().await;
        store.create(subject("pull:1:1", None)).await.unwrap();
        store.receive(delivery("a", 1)).await.unwrap();
        store.commit(run_look("pull:1:1")).await.unwrap();
        let whole = || Settle {
            create: vec![subject("run:1", Some(3))],
            writes: vec![write("pull:1:1", 1, 0)],
            delivery: Some(("a".to_owned(), 1, "ran".to_owned())),
            begin: vec![run(1, 1, "first")],
            wants: vec![want("reply:1:1", "yes", 4)],
            said: vec![("pull:1:1".to_owned(), 2)],
            repos: vec![Repo { id: 1, name: "o/n".to_owned(), installation: 7 }],
            audit: vec![line(1)],
            at: Ms(5),
            ..Settle::default()
        };
        let mut moved = whole();
        moved.writes.push(write("pull:9:9", 0, 0));
        let mut there = whole();
        there.create.push(subject("pull:1:1", None));
        let mut taken = whole();
        taken.writes[0].look = Some(look(1, 0, 1));
        let mut twice = whole();
        twice.begin.push(run(2, 1, "second"));
        for (settle, answer) in [
            (moved, Settled::Outdated),
            (there, Settled::Outdated),
            (taken, Settled::LookTaken),
            (twice, Settled::Busy),
        ] {
            assert_eq!(store.settle(settle).await.unwrap(), answer);
            assert_eq!(store.read("run:1").await.unwrap(), None);
            assert_eq!(store.read("pull:1:1").await.unwrap().unwrap().version, 1);
            assert_eq!(store.open_deliveries(1, Ms(9), 9).await.unwrap().len(), 1);
            assert_eq!(store.active_runs().await.unwrap(), []);
            assert_eq!(store.wanted("reply:1:1").await.unwrap(), None);
            assert_eq!(store.repo(1).await.unwrap(), None);
            assert_eq!(store.audit(9).await.unwrap(), []);
        }
        let mut never = whole();
        never.over = vec![(id(9), "done".to_owned(), None)];
        assert!(store.settle(never).await.is_err());

        assert_eq!(store.settle(whole()).await.unwrap(), Settled::Done);
        assert_eq!(store.read("run:1").await.unwrap().unwrap(), subject("run:1", Some(3)));
        assert_eq!(store.read("pull:1:1").await.unwrap().unwrap().version, 2);
        assert_eq!(store.open_deliveries(1, Ms(9), 9).await.unwrap(), []);
        assert_eq!(store.active_runs().await.unwrap(), [run(1, 1, "first")]);
        assert_eq!(store.wanted("reply:1:1").await.unwrap().unwrap().wanted, "yes");
        assert_eq!(store.repo(1).await.unwrap().unwrap().name, "o/n");
        assert_eq!(store.audit(9).await.unwrap(), [line(1)]);
        store.close().await;
    }
}

fn run_look(key: &str) -> domain::ports::Write {
    domain::ports::Write { look: Some(look(1, 0, 1)), ..write(key, 0, 0) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_has_one_active_run_and_a_request_makes_one() {
    for place in all().await {
        let store = place.open().await;
        let begin = |runs| Settle { begin: runs, ..Settle::default() };
        let over = |n, at| Settle {
            over: vec![(id(n), "pass".to_owned(), Some(Digest::of(b"e")))],
            at: Ms(at),
            ..Settle::default()
        };
        assert_eq!(store.settle(begin(vec![run(1, 1, "a"), run(2, 2, "b")])).await.unwrap(), Settled::Done);
        assert_eq!(store.settle(begin(vec![run(3, 1, "c")])).await.unwrap(), Settled::Busy);
        assert_eq!(store.settle(begin(vec![run(3, 3, "a")])).await.unwrap(), Settled::Busy);
        let planned = Settle { planned: vec![(id(1), Digest::of(b"l"))], ..Settle::default() };
        assert_eq!(store.settle(planned).await.unwrap(), Settled::Done);
        let mut successor = over(1, 50);
        successor.begin = vec![run(3, 1, "c")];
        assert_eq!(store.settle(successor).await.unwrap(), Settled::Done);
        assert_eq!(store.settle(begin(vec![run(4, 1, "a")])).await.unwrap(), Settled::Busy);

        let mut first = run(1, 1, "a");
        first.ledger = Some(Digest::of(b"l"));
        first.active = false;
        first.outcome = Some("pass".to_owned());
        first.evidence = Some(Digest::of(b"e"));
        first.ended = Some(Ms(50));
        assert_eq!(store.runs(1, 1).await.unwrap(), [run(3, 1, "c"), first]);
        assert_eq!(store.active_runs().await.unwrap(), [run(2, 2, "b"), run(3, 1, "c")]);
        let refused = Settle { begin: vec![run(5, 5, "e")], ..over(5, 60) };
        assert_eq!(store.settle(refused).await.unwrap(), Settled::Done);
        assert!(!store.runs(1, 5).await.unwrap()[0].active);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_spent_alike_the_longest_waiting_starts_first_and_keeps_that() {
    for place in all().await {
        let store = place.open().await;
        let begin = vec![run(3, 3, "c"), run(1, 1, "a"), run(2, 2, "b")];
        store.settle(Settle { begin, ..Settle::default() }).await.unwrap();
        let key = |n| format!("run:{}", id(n));
        assert!(!store.grant(&key(1), 0, Ms(20)).await.unwrap());
        assert!(!store.grant(&key(2), 1, Ms(20)).await.unwrap());
        assert!(store.grant(&key(1), 1, Ms(20)).await.unwrap());
        // Who came later with an older time still waits for those who have started.
        let mut older = run(9, 9, "z");
        older.created = Ms(0);
        store.settle(Settle { begin: vec![older], ..Settle::default() }).await.unwrap();
        assert!(!store.grant(&key(9), 1, Ms(20)).await.unwrap());
        assert!(store.grant(&key(1), 1, Ms(20)).await.unwrap());
        let over = vec![(id(1), "pass".to_owned(), None)];
        store.settle(Settle { over, ..Settle::default() }).await.unwrap();
        assert!(!store.grant(&key(2), 1, Ms(20)).await.unwrap());
        assert!(store.grant(&key(9), 1, Ms(20)).await.unwrap());
        assert!(store.grant(&key(2), 2, Ms(20)).await.unwrap());
        assert!(!store.grant(&key(3), 2, Ms(20)).await.unwrap());
        assert!(store.grant(&key(8), 1, Ms(20)).await.unwrap(), "no row: not a run of a service");
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_all_the_time_is_said_at_its_first_time() {
    for place in all().await {
        let store = place.open().await;
        for (n, due) in [(1, 10), (2, 20), (3, 30)] {
            store.settle(wants(vec![want("comment:1:1:a", &format!("wanted {n}"), due)])).await.unwrap();
        }
        let claimed = store.claim_wants("me", Ms(10), Ms(15), 9).await.unwrap();
        assert_eq!(claimed[0].wanted, "wanted 3");
        store.said(&claimed[0].target, claimed[0].fence, &claimed[0].hash, Some(7), false).await.unwrap();
        // What was said waits for its own time, and what is put off far does not keep what is wanted now.
        store.settle(wants(vec![want("comment:1:1:a", "wanted 4", 40)])).await.unwrap();
        assert!(store.claim_wants("me", Ms(39), Ms(45), 9).await.unwrap().is_empty());
        let claimed = store.claim_wants("me", Ms(40), Ms(45), 9).await.unwrap();
        store.unsaid_yet(&claimed[0].target, claimed[0].fence, Ms(100_000), "no").await.unwrap();
        store.settle(wants(vec![want("comment:1:1:a", "wanted 5", 50)])).await.unwrap();
        assert_eq!(store.claim_wants("me", Ms(50), Ms(55), 9).await.unwrap()[0].wanted, "wanted 5");
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_want_stays_open_while_one_is_said() {
    for place in all().await {
        let store = place.open().await;
        store.settle(wants(vec![want("comment:1:1:a", "one", 5), want("check:2", "two", 4)])).await.unwrap();
        assert_eq!(store.claim_wants("me", Ms(3), Ms(10), 9).await.unwrap(), []);
        let claimed = store.claim_wants("me", Ms(5), Ms(10), 9).await.unwrap();
        assert_eq!(claimed.iter().map(|want| want.target.as_str()).collect::<Vec<_>>(), ["check:2", "comment:1:1:a"]);
        let comment = &claimed[1];
        assert_eq!((comment.hash.clone(), comment.fence, comment.remote), (Digest::of(b"one"), 1, None));
        assert_eq!(store.claim_wants("other", Ms(10), Ms(20), 9).await.unwrap(), [], "under a lease");

        store.settle(wants(vec![want("comment:1:1:a", "newer", 6)])).await.unwrap();
        store.said("comment:1:1:a", 1, &comment.hash, Some(77), false).await.unwrap();
        store.said("check:2", 9, &claimed[0].hash, Some(1), false).await.unwrap();
        let claimed = store.claim_wants("me", Ms(6), Ms(10), 9).await.unwrap();
        let [newer] = &claimed[..] else { panic!("{claimed:?}") };
        assert_eq!((newer.wanted.as_str(), newer.remote, newer.fence), ("newer", Some(77), 2));

        store.unsaid_yet("comment:1:1:a", 2, Ms(30), "no answer").await.unwrap();
        store.unsaid_yet("comment:1:1:a", 1, Ms(0), "late").await.unwrap();
        assert_eq!(store.claim_wants("me", Ms(9), Ms(40), 9).await.unwrap(), []);
        let again = store.claim_wants("me", Ms(30), Ms(40), 1).await.unwrap();
        assert_eq!(again[0].target, "check:2");
        let again = store.claim_wants("me", Ms(30), Ms(40), 9).await.unwrap();
        assert_eq!((again[0].attempts, again[0].fence), (1, 3));
        store.said("comment:1:1:a", 3, &again[0].hash, Some(78), true).await.unwrap();

        // What was said is not wanted again, whatever was wanted in between.
        store.settle(wants(vec![want("comment:1:1:a", "else", 60)])).await.unwrap();
        store.settle(wants(vec![want("comment:1:1:a", "newer", 31)])).await.unwrap();
        assert_eq!(store.claim_wants("me", Ms(35), Ms(40), 9).await.unwrap(), []);
        let wanted = store.wanted("comment:1:1:a").await.unwrap().unwrap();
        assert_eq!((wanted.wanted.as_str(), wanted.remote, wanted.gone, wanted.attempts), ("newer", Some(78), 1, 0));
        store.say_again("comment:1:1:a", Ms(34)).await.unwrap();
        let again = store.claim_wants("me", Ms(35), Ms(40), 9).await.unwrap();
        assert_eq!((again[0].wanted.as_str(), again[0].remote), ("newer", Some(78)));
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_is_said_again_after_a_lost_answer() {
    for place in all().await {
        let store = place.open().await;
        store.settle(wants(vec![want("comment:1:1:a", "one", 5)])).await.unwrap();
        let one = store.claim_wants("me", Ms(5), Ms(10), 9).await.unwrap();
        store.said("comment:1:1:a", one[0].fence, &one[0].hash, Some(7), false).await.unwrap();
        // It may stand there by now: nobody was told. Then the first one is wanted again.
        store.settle(wants(vec![want("comment:1:1:a", "two", 20)])).await.unwrap();
        let two = store.claim_wants("me", Ms(20), Ms(25), 9).await.unwrap();
        store.unsaid_yet("comment:1:1:a", two[0].fence, Ms(30), "no answer").await.unwrap();
        store.settle(wants(vec![want("comment:1:1:a", "one", 21)])).await.unwrap();
        let again = store.claim_wants("me", Ms(30), Ms(35), 9).await.unwrap();
        assert_eq!(again.iter().map(|want| want.wanted.as_str()).collect::<Vec<_>>(), ["one"]);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn announcements_are_claimed_by_themselves() {
    for place in all().await {
        let store = place.open().await;
        let all = ["announce", "announce:2:queued", "announce:2:verdict", "announced:1", "check:2", "notify:2"];
        store.settle(wants(all.iter().map(|target| want(target, "x", 5)).collect())).await.unwrap();
        let targets = |claimed: Vec<ClaimedWant>| claimed.into_iter().map(|want| want.target).collect::<Vec<_>>();
        assert!(store.claim_announcements("me", Ms(4), Ms(9), 9).await.unwrap().is_empty());
        let others = targets(store.claim_wants("me", Ms(5), Ms(9), 9).await.unwrap());
        assert_eq!(others, ["announce", "announced:1", "check:2", "notify:2"]);
        let announcements = store.claim_announcements("me", Ms(5), Ms(9), 9).await.unwrap();
        assert_eq!(store.claim_announcements("you", Ms(5), Ms(9), 9).await.unwrap(), [], "under a lease");
        assert_eq!(targets(announcements), ["announce:2:queued", "announce:2:verdict"]);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_want_that_is_there_keeps_its_time() {
    for place in all().await {
        let store = place.open().await;
        store.settle(wants(vec![want("reply:1:1", "one", 5)])).await.unwrap();
        store.settle(wants(vec![want("reply:1:1", "one", 500)])).await.unwrap();
        assert_eq!(store.claim_wants("me", Ms(5), Ms(9), 9).await.unwrap().len(), 1);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_is_said_when_the_reason_may_be_gone() {
    for place in all().await {
        let store = place.open().await;
        store.settle(wants(vec![want("check:1", "refused", 5), want("check:2", "later", 500)])).await.unwrap();
        let refused = store.claim_wants("me", Ms(5), Ms(9), 9).await.unwrap();
        store.unsaid_yet("check:1", refused[0].fence, Ms(1000), "suspended").await.unwrap();
        assert_eq!(store.claim_wants("me", Ms(10), Ms(20), 9).await.unwrap(), []);
        store.say_refused(Ms(10)).await.unwrap();
        // What nobody has refused keeps its time.
        let due = store.claim_wants("me", Ms(10), Ms(20), 9).await.unwrap();
        assert_eq!(due.iter().map(|want| want.target.as_str()).collect::<Vec<_>>(), ["check:1"]);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_unsaid_is_said_first() {
    for place in all().await {
        let store = place.open().await;
        let create = vec![subject("pull:1:1", None), subject("run:1", None)];
        let said = vec![("pull:1:1".to_owned(), 0), ("run:1".to_owned(), 0)];
        store.settle(Settle { create, said, at: Ms(1), ..Settle::default() }).await.unwrap();
        assert_eq!(store.unsaid(9).await.unwrap(), []);
        let at = |key: &str, version, at| domain::ports::Write { at: Ms(at), ..write(key, version, 0) };
        for write in [at("run:1", 0, 20), at("pull:1:1", 0, 30), at("run:1", 1, 40)] {
            assert!(matches!(store.commit(write).await.unwrap(), Committed::Done(_)));
        }
        let unsaid = store.unsaid(9).await.unwrap();
        assert_eq!(
            unsaid.iter().map(|s| (s.key.as_str(), s.version)).collect::<Vec<_>>(),
            [("run:1", 2), ("pull:1:1", 1)]
        );
        let said = |version| Settle { said: vec![("run:1".to_owned(), version)], at: Ms(50), ..Settle::default() };
        store.settle(said(1)).await.unwrap();
        assert_eq!(store.unsaid(1).await.unwrap()[0].key, "pull:1:1");
        assert_eq!(store.unsaid(9).await.unwrap().len(), 2);
        store.settle(said(2)).await.unwrap();
        store.settle(said(1)).await.unwrap();
        assert_eq!(store.unsaid(9).await.unwrap().len(), 1);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subjects_of_a_prefix_are_claimed_alone() {
    for place in all().await {
        let store = place.open().await;
        for key in ["run:1", "pull:1:1", "pull;", "pul", "Pull:1", "pull:2:1"] {
            store.create(subject(key, Some(1))).await.unwrap();
        }
        let keys = |subjects: Vec<domain::ports::Subject>| subjects.into_iter().map(|s| s.key).collect::<Vec<_>>();
        assert_eq!(keys(store.claim_of("pull:", "me", Ms(1), Ms(9), 9).await.unwrap()), ["pull:1:1", "pull:2:1"]);
        assert_eq!(keys(store.claim("me", Ms(1), Ms(9), 9).await.unwrap()), ["run:1"]);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_else_is_kept() {
    for place in all().await {
        let store = place.open().await;
        let audit = vec![line(1), line(2)];
        let repo = |name: &str| Repo { id: 1, name: name.to_owned(), installation: 2 };
        store.settle(Settle { audit, repos: vec![repo("old/name")], ..Settle::default() }).await.unwrap();
        store.settle(Settle { audit: vec![line(3)], repos: vec![repo("a/b")], ..Settle::default() }).await.unwrap();
        assert_eq!(store.audit(2).await.unwrap(), [line(3), line(2)]);
        assert_eq!(store.repo(1).await.unwrap(), Some(repo("a/b")));
        store.create(subject("run:1", None)).await.unwrap();
        for (version, episode) in [(0, 3), (1, 12)] {
            let write = domain::ports::Write { look: Some(look(episode, 0, 1)), ..write("run:1", version, 0) };
            store.commit(write).await.unwrap();
        }
        assert_eq!(store.last_episode(&look(1, 0, 0).key.ledger).await.unwrap(), 12);
        assert_eq!(store.last_episode(&Digest::of(b"other")).await.unwrap(), 0);
        store.alive().await.unwrap();
        store.close().await;
    }
}
