//! Several who want the same.

use std::collections::BTreeMap;

use domain::ports::desk::{Desk, Settle, Settled};
use domain::ports::{Committed, Store};
use domain::time::Ms;

use crate::place::{Place, all, database, server, shared};
use crate::words::{delivery, id, run, subject, write};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_claimed_twice() {
    for place in shared().await {
        let stores = [place.open().await, place.open().await];
        for n in 0..400 {
            assert!(stores[0].create(subject(&format!("run:{n:03}"), Some(n % 7))).await.unwrap());
        }
        let worker = |n: usize| {
            let store = stores[n % 2].clone();
            async move {
                let mut claimed = Vec::new();
                loop {
                    let some = store.claim(&format!("worker {n}"), Ms(10), Ms(1000), 5).await.unwrap();
                    if some.is_empty() {
                        return claimed;
                    }
                    claimed.extend(some);
                }
            }
        };
        let workers: Vec<_> = (0..8).map(|n| tokio::spawn(worker(n))).collect();
        let mut times = BTreeMap::new();
        for worker in workers {
            for subject in worker.await.unwrap() {
                assert_eq!(subject.fence, 1);
                *times.entry(subject.key).or_insert(0) += 1;
            }
        }
        // Who finds only rows that somebody else is about to get goes away with nothing.
        for subject in stores[1].claim("late", Ms(10), Ms(1000), 400).await.unwrap() {
            *times.entry(subject.key).or_insert(0) += 1;
        }
        assert_eq!(times.len(), 400);
        assert!(times.values().all(|times| *times == 1));
        for store in stores {
            store.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_write_one_is_outdated_and_locks_are_taken_in_one_order() {
    for place in shared().await {
        let stores = [place.open().await, place.open().await];
        for key in ["pull:1", "pull:2"] {
            stores[0].create(subject(key, None)).await.unwrap();
        }
        for version in 0..20 {
            let both = |store: usize, keys: [&'static str; 2]| {
                let store = stores[store].clone();
                let settle =
                    Settle { writes: keys.iter().map(|key| write(key, version, 0)).collect(), ..Settle::default() };
                tokio::spawn(async move { store.settle(settle).await.unwrap() })
            };
            let (one, other) = (both(0, ["pull:1", "pull:2"]), both(1, ["pull:2", "pull:1"]));
            let mut answers = [one.await.unwrap(), other.await.unwrap()];
            answers.sort_by_key(|answer| *answer != Settled::Done);
            assert_eq!(answers, [Settled::Done, Settled::Outdated]);
        }
        for store in stores {
            store.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_than_so_many_are_granted_however_many_ask() {
    for place in shared().await {
        let stores = [place.open().await, place.open().await];
        let begin = (1..=12).map(|n| run(n, u64::from(n), &format!("request {n}"))).collect();
        assert_eq!(stores[0].settle(Settle { begin, ..Settle::default() }).await.unwrap(), Settled::Done);
        let asks: Vec<_> = (1..=12_u32)
            .rev()
            .map(|n| {
                let store = stores[n as usize % 2].clone();
                tokio::spawn(async move { (n, store.grant(&format!("run:{}", id(n)), 3, Ms(20)).await.unwrap()) })
            })
            .collect();
        let mut granted = Vec::new();
        for ask in asks {
            let (n, yes) = ask.await.unwrap();
            granted.extend(yes.then_some(n));
        }
        // Who has not asked yet keeps nobody waiting; who waits longest goes first when there is room.
        assert_eq!(granted.len(), 3);
        let over = granted.iter().map(|n| (id(*n), "pass".to_owned(), None)).collect();
        assert_eq!(stores[0].settle(Settle { over, ..Settle::default() }).await.unwrap(), Settled::Done);
        let mut next = Vec::new();
        for n in (1..=12_u32).rev() {
            next.extend(stores[0].grant(&format!("run:{}", id(n)), 3, Ms(20)).await.unwrap().then_some(n));
        }
        next.sort_unstable();
        let waiting: Vec<u32> = (1..=12).filter(|n| !granted.contains(n)).take(3).collect();
        assert_eq!(next, waiting);
        for store in stores {
            store.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_fails_takes_none_with_it() {
    for place in all().await {
        let store = place.open().await;
        store.create(subject("run:a", None)).await.unwrap();
        let mut asks = Vec::new();
        for n in 0..200_u64 {
            let store = store.clone();
            asks.push(tokio::spawn(async move {
                match n % 4 {
                    0 => store.receive(delivery(&format!("{n}"), n)).await.map(|new| assert!(new)),
                    1 => store.commit(write("run:a", 77, 0)).await.map(|done| assert_eq!(done, Committed::Outdated)),
                    2 => store.create(subject(&format!("run:{n}"), None)).await.map(|new| assert!(new)),
                    _ => {
                        // The first is written before the second is found to have a number that cannot be stored.
                        let create = vec![subject("run:one", None), subject("run:two", None)];
                        let create = create.into_iter().enumerate().map(|(n, mut subject)| {
                            subject.version = if n == 1 { u64::MAX } else { 0 };
                            subject
                        });
                        store.settle(Settle { create: create.collect(), ..Settle::default() }).await.map(|_| ())
                    }
                }
            }));
        }
        for (n, ask) in asks.into_iter().enumerate() {
            let answer = ask.await.unwrap();
            assert_eq!(answer.is_err(), n % 4 == 3, "{n}: {answer:?}");
        }
        assert_eq!(store.open_deliveries(1, Ms(1000), 1000).await.unwrap().len(), 50);
        assert_eq!(store.read("run:one").await.unwrap(), None);
        assert!(store.read("run:198").await.unwrap().is_some());
        store.close().await;
        assert!(store.alive().await.unwrap_err().to_string().contains("closed"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_refused_is_undone_alone() {
    for place in all().await {
        let store = place.open().await;
        store.create(subject("run:there", None)).await.unwrap();
        let mut asks = Vec::new();
        for n in 0..100_u64 {
            let store = store.clone();
            asks.push(tokio::spawn(async move {
                // The first is made before the second is found to be there.
                let create = vec![subject(&format!("run:{n}"), None), subject("run:there", None)];
                let refused = store.settle(Settle { create, ..Settle::default() }).await.unwrap();
                assert_eq!(refused, Settled::Outdated);
                assert!(store.create(subject(&format!("pull:{n}"), None)).await.unwrap());
            }));
        }
        for ask in asks {
            ask.await.unwrap();
        }
        for n in 0..100 {
            assert_eq!(store.read(&format!("run:{n}")).await.unwrap(), None);
            assert!(store.read(&format!("pull:{n}")).await.unwrap().is_some());
        }
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_no_longer_waits_cancels_nothing_and_closing_does_what_waits() {
    for place in shared().await {
        let store = place.open().await;
        for n in 0..50 {
            let mut receive = Box::pin(store.receive(delivery(&format!("{n}"), n)));
            // Sent by the first poll, then dropped.
            let waker = std::task::Waker::noop();
            let _ = receive.as_mut().poll(&mut std::task::Context::from_waker(waker));
        }
        store.close().await;
        let store = place.open().await;
        let known: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        assert_eq!(store.known_deliveries(&known).await.unwrap(), known);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_made_once_by_many_who_open_at_once() {
    let mut urls = vec![];
    let file = Place::file();
    urls.push(file.url.clone());
    if let Some(server) = server() {
        urls.push(database(&server).await);
    }
    for url in urls {
        let open = |_| {
            let url = url.clone();
            tokio::spawn(async move { store::SqlStore::open(&url, store::Options::default()).await.unwrap() })
        };
        let opening: Vec<_> = (0..4).map(open).collect();
        for store in opening {
            let store = store.await.unwrap();
            store.alive().await.unwrap();
            store.close().await;
        }
    }
}
