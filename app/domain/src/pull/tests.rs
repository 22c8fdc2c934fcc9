mod again;
mod jobs;
mod pushes;

use proptest::prelude::*;

use super::*;
use crate::command::Who;
use crate::ids::{CommitSha, RunId};
use crate::ports::forge::{Account, Permission, Pull, PullId, Reaction, Repo};
use crate::time::Ms;
use crate::view::{Ending, Verdict};

fn sha(digit: u8) -> CommitSha {
    format!("{digit:x}").repeat(40).parse().unwrap()
}

fn id() -> PullId {
    PullId { repo: Repo { id: 7, name: "octo/demo".to_owned(), installation: 3 }, number: 42 }
}

fn pull(head: u8) -> Pull {
    Pull {
        id: id(),
        head: sha(head),
        head_ref: "topic".to_owned(),
        head_repo: Some(7),
        base_ref: "main".to_owned(),
        base: sha(1),
        open: true,
        merged: false,
        draft: false,
    }
}

fn run(n: u32) -> RunId {
    RunId::new(1_795_984_130, n).unwrap()
}

fn asked(n: u32, head: u8) -> Asked {
    Asked {
        run: run(n),
        pull: id(),
        suite: "demo".to_owned(),
        pairs: vec![("preset".to_owned(), "quick".to_owned())],
        head: sha(head),
        base_ref: "main".to_owned(),
        base: sha(1),
        fork: false,
        by: Account { id: 5, login: "mona".to_owned() },
        comment: u64::from(n),
        at: Ms(1),
        continues: None,
        retries: None,
        cause: Cause::Command,
        jobs: false,
    }
}

fn verdict(verdict: Verdict) -> Over {
    Over {
        verdict: Some(verdict),
        ended: None,
        said: verdict.word().to_owned(),
        evidence: None,
        alive: vec![],
        at: Ms(9),
    }
}

/// Takes the events in turn and returns what came of the last.
fn take(events: impl IntoIterator<Item = Event>) -> Stepped {
    let mut last = Stepped { state: PullState::new(id()), effects: Vec::new(), said: Said::Nothing, ended: Vec::new() };
    for event in events {
        last = step(&last.state, event, Ms(10));
    }
    last
}

#[test]
fn a_command_becomes_a_run() {
    let first = take([Event::Observed(Box::new(pull(2)), Ms(1)), Event::Ask(Box::new(asked(1, 2)))]);
    let react = What::React { comment: 1, with: Reaction::Eyes };
    assert_eq!(first.effects, [react, What::Plan { run: run(1) }]);
    assert_eq!(first.state.active.as_deref(), Some("demo"));
    let planned = step(&first.state, Event::Planned(run(1)), Ms(11));
    assert_eq!(planned.state.running().unwrap().stage, Stage::Running);
    assert_eq!(planned.effects, [What::React { comment: 1, with: Reaction::Rocket }]);
    let over = step(&planned.state, Event::RunOver(run(1), verdict(Verdict::Pass)), Ms(12));
    assert_eq!((over.state.active.as_deref(), over.state.running()), (None, None));
    assert!(
        matches!(&over.state.of_run(&run(1)).unwrap().stage, Stage::Over(over) if over.verdict == Some(Verdict::Pass))
    );
}

#[test]
fn one_run_at_a_time() {
    let second = take([Event::Ask(Box::new(asked(1, 2))), Event::Ask(Box::new(asked(2, 2)))]);
    assert_eq!(second.said, Said::Running(Box::new(asked(1, 2))));
    assert_eq!(second.effects, [What::React { comment: 2, with: Reaction::Confused }]);
    let again = take([Event::Ask(Box::new(asked(1, 2))), Event::Ask(Box::new(asked(1, 2)))]);
    assert_eq!((again.said, again.effects), (Said::Handled, vec![]));
}

#[test]
fn a_verdict_answers_the_same_request() {
    let until =
        |over: Over| vec![Event::Ask(Box::new(asked(1, 2))), Event::Planned(run(1)), Event::RunOver(run(1), over)];
    let ask = |n, head| Event::Ask(Box::new(asked(n, head)));
    let mut events = until(verdict(Verdict::Pass));
    events.push(ask(2, 2));
    assert!(matches!(take(events).said, Said::Decided(..)));
    // Another head, and a comparison that decided nothing, are measured.
    let mut events = until(verdict(Verdict::Pass));
    events.push(ask(2, 3));
    let moved = take(events);
    assert_eq!(moved.state.active.as_deref(), Some("demo"));
    assert_eq!(moved.state.shown["demo"].history[0].verdict, Verdict::Pass);
    let mut events = until(verdict(Verdict::Inconclusive));
    events.push(ask(2, 2));
    assert_eq!(take(events).said, Said::Nothing);
    // More rounds need something to go on with.
    let mut more = asked(2, 2);
    more.pairs = vec![("rounds".to_owned(), "+2".to_owned())];
    let mut events = until(verdict(Verdict::Pass));
    events.push(Event::Ask(Box::new(more.clone())));
    assert_eq!(take(events).state.active.as_deref(), Some("demo"));
    assert_eq!(take([Event::Ask(Box::new(more))]).said, Said::NothingToContinue);
}

#[test]
fn what_is_not_planned_takes_no_verdict_away() {
    let ask = |n, pairs: &str| {
        let pairs = vec![("preset".to_owned(), pairs.to_owned())];
        Event::Ask(Box::new(Asked { pairs, ..asked(n, 2) }))
    };
    let over = |n, of| [Event::Planned(run(n)), Event::RunOver(run(n), verdict(of))];
    let mut events = vec![ask(1, "quick")];
    events.extend(over(1, Verdict::Regression));
    let regression = take(events.clone()).state;
    events.push(ask(2, "nonsense"));
    let refusal = Event::NotPlanned { run: run(2), how: Ending::Refused, why: "no such preset".to_owned() };
    let cancel = Event::Cancel { suite: "demo".to_owned(), by: "mona".to_owned(), comment: Some(9) };
    for end in [refusal, cancel] {
        let mut events = events.clone();
        events.push(end);
        let after = take(events.clone());
        assert!(matches!(&after.said, Said::NotPlanned(asked, _) if asked.run == run(2)), "{:?}", after.said);
        assert_eq!(after.state.shown, regression.shown);
        assert_eq!(after.state.active, None);
    }
    // What was measured and cancelled is shown, and the verdict before it can still be continued.
    events.extend([Event::Planned(run(2))]);
    let ended = Some((Ending::Cancelled, None));
    events.push(Event::RunOver(run(2), Over { verdict: None, ended, ..verdict(Verdict::Pass) }));
    let mut more = asked(3, 2);
    more.pairs = vec![("rounds".to_owned(), "+2".to_owned())];
    events.push(Event::Ask(Box::new(more)));
    let more = take(events).state;
    assert_eq!(more.running().unwrap().asked.continues, Some(run(1)));
    assert_eq!(more.running().unwrap().history.len(), 1);
}

#[test]
fn cancelling_at_every_stage() {
    let cancel = |comment| Event::Cancel { suite: "demo".to_owned(), by: "mona".to_owned(), comment: Some(comment) };
    assert_eq!(take([cancel(9)]).said, Said::NothingRuns);
    let planning = take([Event::Ask(Box::new(asked(1, 2))), cancel(9)]);
    let Stage::Over(over) = &planning.state.shown["demo"].stage else { panic!("{:?}", planning.state) };
    assert_eq!(over.ended, Some((Ending::Cancelled, Some("asked by mona".to_owned()))));
    // A plan that arrives afterwards starts nothing.
    let late = step(&planning.state, Event::Planned(run(1)), Ms(11));
    assert_eq!((late.effects, &late.state), (vec![], &planning.state));
    let running = take([Event::Ask(Box::new(asked(1, 2))), Event::Planned(run(1)), cancel(9)]);
    assert!(running.effects.contains(&What::Cancel {
        run: run(1),
        by: "asked by mona".to_owned(),
        how: Ending::Cancelled
    }));
    assert_eq!(running.state.active.as_deref(), Some("demo"));
    let closed = Event::Observed(Box::new(Pull { open: false, ..pull(2) }), Ms(20));
    let closed = take([Event::Ask(Box::new(asked(1, 2))), Event::Planned(run(1)), closed]);
    let why = "the pull request was closed".to_owned();
    assert_eq!(closed.effects, [What::Cancel { run: run(1), by: why, how: Ending::Cancelled }]);
    let merged = Event::Observed(Box::new(Pull { open: false, merged: true, ..pull(2) }), Ms(20));
    let merged = take([Event::Ask(Box::new(asked(1, 2))), Event::Planned(run(1)), merged]);
    assert_eq!((merged.effects, merged.state.active.as_deref()), (vec![], Some("demo")));
}

#[test]
fn a_verdict_is_stale_when_something_else_would_be_merged() {
    let state = |seen: Pull| take([Event::Observed(Box::new(seen), Ms(1)), Event::Ask(Box::new(asked(1, 2)))]).state;
    let stale = |state: PullState| state.stale(&state.shown["demo"]);
    assert_eq!(stale(state(pull(2))), None);
    let moved = stale(state(pull(3))).unwrap();
    assert_eq!(moved, "the head is now 3333333; 2222222 was measured");
    let retargeted = stale(state(Pull { base_ref: "next".to_owned(), ..pull(2) })).unwrap();
    assert_eq!(retargeted, "the base branch is now next");
}

#[test]
fn the_head_that_is_meant() {
    let push = |before, after, at| Push { before: sha(before), after: sha(after), at: Ms(at) };
    // (fork, head now, named, pushes, written) -> head or refusal.
    let own = pull(4);
    assert_eq!(head_meant(&own, None, &[], Some(Ms(5))), Ok(sha(4)));
    assert_eq!(head_meant(&own, None, &[push(3, 4, 6)], Some(Ms(5))), Ok(sha(3)));
    assert_eq!(head_meant(&own, None, &[push(2, 3, 6), push(3, 4, 7)], Some(Ms(5))), Ok(sha(2)));
    assert_eq!(head_meant(&own, None, &[push(3, 4, 5)], Some(Ms(5))), Ok(sha(4)));
    assert_eq!(head_meant(&own, None, &[push(3, 4, 6)], None), Ok(sha(4)));
    assert_eq!(head_meant(&own, Some("4444444"), &[], Some(Ms(5))), Ok(sha(4)));
    assert!(matches!(head_meant(&own, Some("5555555"), &[], Some(Ms(5))), Err(Denied::HeadMoved { .. })));
    for repo in [None, Some(8)] {
        let fork = Pull { head_repo: repo, ..pull(4) };
        assert_eq!(head_meant(&fork, None, &[], Some(Ms(5))), Err(Denied::NeedsSha { head: sha(4) }));
        // A beginning can be forged.
        assert_eq!(head_meant(&fork, Some("4444444"), &[], Some(Ms(5))), Err(Denied::NeedsSha { head: sha(4) }));
        assert_eq!(head_meant(&fork, Some(sha(4).as_str()), &[push(3, 4, 6)], Some(Ms(5))), Ok(sha(4)));
        assert!(matches!(head_meant(&fork, Some(sha(3).as_str()), &[], Some(Ms(5))), Err(Denied::HeadMoved { .. })));
    }
    assert_eq!(head_meant(&Pull { open: false, ..pull(4) }, None, &[], Some(Ms(5))), Err(Denied::Closed));
}

#[test]
fn who_may() {
    use Permission::{Admin, None, Read, Write};
    for (who, permission, requester, expected) in [
        (Who::Anyone, None, false, true),
        (Who::Read, None, false, false),
        (Who::Read, Read, false, true),
        (Who::Write, Read, true, false),
        (Who::Write, Write, false, true),
        (Who::Write, Admin, false, true),
        (Who::RequesterOrWrite, None, true, true),
        (Who::RequesterOrWrite, Read, false, false),
    ] {
        assert_eq!(may(who, permission, requester, "mona").is_ok(), expected, "{who:?} {permission:?} {requester}");
    }
}

fn events() -> impl Strategy<Value = Event> {
    let comment = 1u64..6;
    prop_oneof![
        (1u8..5, 0u64..20, any::<bool>(), any::<bool>()).prop_map(|(head, at, open, merged)| {
            Event::Observed(Box::new(Pull { open, merged, ..pull(head) }), Ms(at))
        }),
        (1u8..5, 1u8..5, 0u64..9).prop_map(|(before, after, at)| {
            Event::Pushed(Push { before: sha(before), after: sha(after), at: Ms(at) })
        }),
        (1u32..6, 1u8..4).prop_map(|(n, head)| Event::Ask(Box::new(asked(n, head)))),
        comment.clone().prop_map(|comment| Event::Cancel {
            suite: "demo".into(),
            by: "mona".into(),
            comment: Some(comment)
        }),
        comment.prop_map(|comment| Event::Confirm { suite: "demo".into(), digest: None, comment }),
        (1u32..6).prop_map(|n| Event::Planned(run(n))),
        (1u32..6).prop_map(|n| Event::NotPlanned { run: run(n), how: Ending::Refused, why: "no".into() }),
        (1u32..6).prop_map(|n| Event::RunOver(run(n), verdict(Verdict::Pass))),
        (1u64..4).prop_map(Event::Foreign),
        (1u32..6, 1u8..5, 0u32..100, any::<bool>()).prop_map(|(n, head, spent, same)| {
            let compared =
                if same { Compared::Same { why: String::new() } } else { Compared::Changed { why: String::new() } };
            let on_push = [OnPush::Auto, OnPush::Supersede, OnPush::Finish, OnPush::Off][spent as usize % 4];
            let (suite, run, head, spent) = ("demo".into(), Some(run(n)), sha(head), Some(spent));
            Event::Weighed(Box::new(Weighed { suite, run, head, compared, on_push, debounce_ms: 0, spent }))
        }),
        Just(Event::Due),
        Just(Event::Removed),
        (1u32..6).prop_map(|n| Event::Skip { asked: Box::new(asked(n, 2)), why: "words".into() }),
        (6u32..9).prop_map(|n| {
            let by = Account { id: 6, login: "hubot".into() };
            Event::Retry { suite: "demo".into(), run: run(n), by, comment: Some(u64::from(n)) }
        }),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_at_most_one_run_goes_on(events in proptest::collection::vec(events(), 0..40)) {
        let mut state = PullState::new(id());
        let mut planned = std::collections::BTreeSet::new();
        for event in events {
            let next = step(&state, event, Ms(10));
            for effect in &next.effects {
                if let What::Plan { run } = effect {
                    prop_assert!(state.active.is_none());
                    // A comment starts one run, ever.
                    prop_assert!(planned.insert(run.clone()));
                }
            }
            let open = next.state.shown.values().filter(|shown| !matches!(shown.stage, Stage::Over(_))).count();
            prop_assert_eq!(open, usize::from(next.state.active.is_some()));
            prop_assert_eq!(next.state.running().is_some(), next.state.active.is_some());
            let text = next.state.to_json().unwrap();
            prop_assert_eq!(PullState::from_json(&text).unwrap(), next.state.clone());
            state = next.state;
        }
    }

    #[test]
    fn looks_and_pushes_may_come_in_any_order(
        looks in proptest::collection::vec((1u8..5, 0u64..100), 1..6),
        pushes in proptest::collection::vec((1u8..5, 1u8..5, 0u64..9), 0..6),
        seed in any::<u64>(),
    ) {
        let mut looks = looks;
        looks.sort_by_key(|(_, at)| *at);
        looks.dedup_by_key(|(_, at)| *at);
        let mut all: Vec<Event> =
            looks.iter().map(|(head, at)| Event::Observed(Box::new(pull(*head)), Ms(*at))).collect();
        all.extend(pushes.iter().map(|(before, after, at)| {
            Event::Pushed(Push { before: sha(*before), after: sha(*after), at: Ms(*at) })
        }));
        let one = take(all.clone()).state;
        let mut shuffled = all;
        let mut state = seed;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(i, (state >> 33) as usize % (i + 1));
        }
        let mut other = take(shuffled).state;
        other.pushes.sort_by(|a, b| (a.at, &a.after, &a.before).cmp(&(b.at, &b.after, &b.before)));
        let mut one = one;
        one.pushes.sort_by(|a, b| (a.at, &a.after, &a.before).cmp(&(b.at, &b.after, &b.before)));
        prop_assert_eq!(one, other);
    }
}
