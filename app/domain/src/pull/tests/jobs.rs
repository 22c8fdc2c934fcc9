//! Jobs that had run before, compared on a pull request.

use super::*;

fn compare(n: u32, head: u8) -> Asked {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    Asked { pairs: vec![pair("control", "/me/a"), pair("treatment", "head@/me/b")], jobs: true, ..asked(n, head) }
}

fn until(over: Over) -> Vec<Event> {
    vec![
        Event::Observed(Box::new(pull(2)), Ms(1)),
        Event::Ask(Box::new(compare(1, 2))),
        Event::Planned(run(1)),
        Event::RunOver(run(1), over),
    ]
}

fn then(mut events: Vec<Event>, event: Event) -> Stepped {
    events.push(event);
    take(events)
}

#[test]
fn a_verdict_about_jobs_is_none_about_a_run() {
    let passed = until(verdict(Verdict::Pass));
    assert!(matches!(then(passed.clone(), Event::Ask(Box::new(compare(2, 2)))).said, Said::Decided(..)));
    // The same words, asked of the head.
    let same = Asked { jobs: false, ..compare(2, 2) };
    assert_eq!(then(passed.clone(), Event::Ask(Box::new(same))).said, Said::Nothing);
    let more = Asked { pairs: vec![("rounds".to_owned(), "+2".to_owned())], ..asked(2, 2) };
    assert_eq!(then(passed, Event::Ask(Box::new(more))).said, Said::NothingToContinue);
}

#[test]
fn a_retry_looks_at_all_of_the_jobs_again() {
    let mut over = verdict(Verdict::Inconclusive);
    over.evidence = Some(crate::ids::Digest::of(b"folder"));
    let by = Account { id: 5, login: "mona".to_owned() };
    let retry = Event::Retry { suite: "demo".to_owned(), run: run(2), by, comment: Some(2) };
    let again = then(until(over), retry);
    let asked = &again.state.running().unwrap().asked;
    assert_eq!((asked.jobs, &asked.retries, &asked.pairs), (true, &None, &compare(1, 2).pairs));
}

#[test]
fn no_push_names_jobs() {
    let by = Account { id: 6, login: "hubot".to_owned() };
    let auto = Auto { on: true, by, comment: 3, at: Ms(2), head: None };
    let mut events = until(verdict(Verdict::Pass));
    events.push(Event::Auto { suite: "demo".to_owned(), auto });
    events.push(Event::Observed(Box::new(pull(3)), Ms(20)));
    let weighed = Weighed {
        suite: "demo".to_owned(),
        run: Some(run(1)),
        head: sha(3),
        compared: Compared::Changed { why: "1 file".to_owned() },
        on_push: OnPush::Auto,
        debounce_ms: 0,
        spent: None,
    };
    let pushed = then(events.clone(), Event::Weighed(Box::new(weighed.clone())));
    let asked = &pushed.state.next["demo"].asked;
    assert_eq!((asked.jobs, &asked.pairs, &asked.head), (false, &Vec::new(), &sha(3)));
    // Nobody switched it on: naming jobs asks for nothing more.
    events.retain(|event| !matches!(event, Event::Auto { .. }));
    assert!(then(events, Event::Weighed(Box::new(weighed))).state.next.is_empty());
}
