//! Budgets, the line, and what is learnt from finished runs.

use domain::budget::{Learnt, Limit, Limits, Promise, Short, Used, Whose};
use domain::ids::Digest;
use domain::ports::desk::{RunRow, Settle, Settled};
use domain::ports::{Desk as _, Store as _};
use domain::time::{DAY, HOUR, Ms};
use store::SqlStore;

use crate::place::{all, shared};
use crate::words::{id, run};

const NOW: Ms = Ms(1_795_984_130_000);

fn of(n: u32, person: u64) -> RunRow {
    let created = NOW.plus(u64::from(n));
    RunRow { person, created, ..run(n, u64::from(n), &format!("request {n}")) }
}

fn limits(person: f64) -> Limits {
    let limit = |cpu_hours, runs| Limit { cpu_hours, runs };
    Limits {
        pull_request: limit(None, Some(2)),
        person: limit(Some(person), None),
        repository: limit(Some(100.0), None),
    }
}

fn promise(n: u32, person: u64, hours: Option<u64>) -> Promise {
    Promise {
        run: id(n),
        repo: 1,
        number: u64::from(n),
        person,
        suite: "mine".to_owned(),
        preset: Some("light".to_owned()),
        fingerprint: Digest::of(b"one"),
        cpu_ms: hours.map(|hours| hours * HOUR),
        limits: limits(10.0),
        now: NOW,
    }
}

fn over(n: u32, used: Used) -> Settle {
    let over = vec![(id(n), "pass".to_owned(), None)];
    Settle { over, used: vec![(id(n), used)], at: NOW, ..Settle::default() }
}

fn cpu(hours: u64) -> Used {
    Used { cpu_ms: Some(hours * HOUR), ..Used::default() }
}

async fn begun(store: &SqlStore, runs: impl IntoIterator<Item = RunRow>) {
    let begin = runs.into_iter().collect();
    assert_eq!(store.settle(Settle { begin, at: NOW, ..Settle::default() }).await.unwrap(), Settled::Done);
}

async fn granted(store: &SqlStore, n: u32, at_once: u32, now: Ms) -> bool {
    store.grant(&format!("run:{}", id(n)), at_once, now).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_promised_counts_until_it_is_known_what_was_used() {
    for place in all().await {
        let store = place.open().await;
        begun(&store, (1..=6).map(|n| of(n, 7))).await;
        assert_eq!(store.promise(promise(1, 7, Some(6))).await.unwrap(), Ok(()));
        let refused = store.promise(promise(2, 7, Some(5))).await.unwrap().unwrap_err();
        assert_eq!((refused.whose, refused.free), (Whose::Person, Some(NOW.plus(DAY))));
        assert_eq!(refused.short, Short::CpuHours { spent: 6.0, cost: 5.0, limit: 10.0 });
        // Another person, and the same promise once more.
        assert_eq!(store.promise(promise(3, 8, Some(5))).await.unwrap(), Ok(()));
        assert_eq!(store.promise(promise(1, 7, Some(7))).await.unwrap(), Ok(()));
        assert!(granted(&store, 1, 9, NOW).await);
        assert_eq!(store.settle(over(1, cpu(2))).await.unwrap(), Settled::Done);
        assert_eq!(store.promise(promise(2, 7, Some(8))).await.unwrap(), Ok(()));
        assert!(store.promise(promise(4, 7, Some(1))).await.unwrap().is_err());
        // One that ends before it starts gives back what it was promised, and nothing is promised to it any more.
        assert_eq!(store.settle(over(2, Used::default())).await.unwrap(), Settled::Done);
        assert_eq!(store.promise(promise(2, 7, Some(8))).await.unwrap(), Ok(()));
        assert_eq!(store.promise(promise(4, 7, Some(8))).await.unwrap(), Ok(()));
        // Where nobody knows what was used, what was promised stays; where nobody knows what it costs, it is a run.
        assert!(granted(&store, 4, 9, NOW).await);
        assert_eq!(store.settle(over(4, Used::default())).await.unwrap(), Settled::Done);
        assert!(store.promise(promise(5, 7, Some(1))).await.unwrap().is_err());
        assert_eq!(store.promise(promise(5, 7, None)).await.unwrap(), Ok(()));
        // A day later.
        let later = Promise { now: NOW.plus(DAY), ..promise(6, 7, Some(10)) };
        assert_eq!(store.promise(later).await.unwrap(), Ok(()));
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn budgets_of_pull_requests_and_repositories() {
    for place in all().await {
        let store = place.open().await;
        begun(&store, (1..=4).map(|n| of(n, u64::from(n)))).await;
        let same = |n: u32| Promise { number: 1, ..promise(n, u64::from(n), None) };
        assert_eq!(store.promise(same(1)).await.unwrap(), Ok(()));
        assert_eq!(store.promise(same(2)).await.unwrap(), Ok(()));
        let refused = store.promise(same(3)).await.unwrap().unwrap_err();
        assert_eq!((refused.whose, refused.short), (Whose::PullRequest, Short::Runs { made: 2, limit: 2 }));
        // The same number in another repository is another pull request.
        assert_eq!(store.promise(Promise { repo: 2, ..same(3) }).await.unwrap(), Ok(()));
        let whole = Limits { repository: Limit { cpu_hours: Some(3.0), runs: None }, ..Limits::default() };
        let dear = |n| Promise { limits: whole, ..promise(n, 4, Some(2)) };
        assert_eq!(store.promise(Promise { repo: 3, ..dear(4) }).await.unwrap(), Ok(()));
        let refused = store.promise(Promise { repo: 3, ..dear(3) }).await.unwrap().unwrap_err();
        assert_eq!(refused.whose, Whose::Repository);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn however_many_ask_at_once_no_more_is_promised_than_there_is() {
    for place in shared().await {
        let stores = [place.open().await, place.open().await];
        begun(&stores[0], (1..=12).map(|n| of(n, 7))).await;
        let asks: Vec<_> = (1..=12_u32)
            .map(|n| {
                let store = stores[n as usize % 2].clone();
                tokio::spawn(async move { store.promise(promise(n, 7, Some(3))).await.unwrap().is_ok() })
            })
            .collect();
        let mut promised = 0;
        for ask in asks {
            promised += u32::from(ask.await.unwrap());
        }
        assert_eq!(promised, 3);
        for store in stores {
            store.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_spent_least_this_week_starts_first() {
    for place in all().await {
        let store = place.open().await;
        begun(&store, [of(1, 7), of(2, 7), of(3, 8), of(4, 9), of(5, 7)]).await;
        for (n, person) in [(1, 7), (2, 7), (3, 8), (4, 9)] {
            assert_eq!(store.promise(promise(n, person, Some(4))).await.unwrap(), Ok(()));
        }
        // What is promised to those that wait is not spent: the oldest goes first.
        assert!(granted(&store, 1, 1, NOW).await);
        for n in 2..=4 {
            assert!(!granted(&store, n, 1, NOW).await);
        }
        let ahead = async |n: u32, now| domain::budget::ahead(&store.places(now).await.unwrap(), &id(n), now);
        // Run 5 is not ready: it has a place, and keeps nobody.
        assert_eq!([ahead(1, NOW).await, ahead(2, NOW).await, ahead(3, NOW).await], [Some(0), Some(3), Some(1)]);
        assert_eq!([ahead(4, NOW).await, ahead(5, NOW).await], [Some(2), Some(4)]);
        assert!(!granted(&store, 2, 2, NOW).await);
        assert!(granted(&store, 3, 2, NOW).await);
        // Person 8 has used more than 7 in the end; of 9 it is not known.
        assert_eq!(store.settle(over(1, cpu(1))).await.unwrap(), Settled::Done);
        assert_eq!(store.settle(over(3, cpu(2))).await.unwrap(), Settled::Done);
        begun(&store, [of(6, 8)]).await;
        assert!(!granted(&store, 6, 0, NOW).await);
        assert_eq!([ahead(4, NOW).await, ahead(2, NOW).await, ahead(6, NOW).await], [Some(0), Some(1), Some(2)]);
        // Who waits for more than a day goes before all, and after a week nothing is counted.
        let tomorrow = NOW.plus(DAY + 3);
        assert_eq!([ahead(2, tomorrow).await, ahead(4, tomorrow).await], [Some(0), Some(1)]);
        let next_week = store.places(NOW.plus(7 * DAY)).await.unwrap();
        assert!(next_week.iter().all(|place| place.week_cpu_ms == 0));
        assert_eq!(next_week.len(), 4);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_runs_say_what_a_trial_costs() {
    for place in all().await {
        let store = place.open().await;
        begun(&store, (1..=4).map(|n| of(n, 7))).await;
        let of_other = Digest::of(b"other");
        for n in 1..=4 {
            let fingerprint = if n == 3 { of_other.clone() } else { Digest::of(b"one") };
            let now = NOW.plus(u64::from(n));
            let asks = Promise { fingerprint, now, limits: Limits::default(), ..promise(n, 7, Some(1)) };
            assert_eq!(store.promise(asks).await.unwrap(), Ok(()));
            assert!(granted(&store, n, 9, NOW).await);
            let trials = if n == 4 { 0 } else { n };
            let cpu_ms = u64::from(n);
            let used = Used { cpu_ms: Some(9), trials, trials_cpu_ms: 10 * cpu_ms, trials_wall_ms: 100 * cpu_ms };
            assert_eq!(store.settle(over(n, used)).await.unwrap(), Settled::Done);
        }
        let learnt = |trials: u32| Learnt { trials, cpu_ms: 10 * u64::from(trials), wall_ms: 100 * u64::from(trials) };
        let one = Digest::of(b"one");
        let of = async |preset, fingerprint, limit| store.learnt("mine", preset, fingerprint, limit).await.unwrap();
        assert_eq!(of(Some("light"), Some(&one), 10).await, [learnt(2), learnt(1)]);
        assert_eq!(of(Some("light"), Some(&of_other), 10).await, [learnt(3)]);
        assert_eq!(of(Some("light"), None, 2).await, [learnt(3), learnt(2)]);
        assert_eq!(of(None, None, 9).await, []);
        assert_eq!(store.learnt("other", Some("light"), None, 9).await.unwrap(), []);
        store.close().await;
    }
}
