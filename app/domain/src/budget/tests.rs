use proptest::prelude::*;

use super::cost::Source;
use super::line::PATIENCE;
use super::*;

const NOW: Ms = Ms(1_795_984_130_000);

fn limits(cpu_hours: f64, runs: u32) -> Limits {
    let person = Limit { cpu_hours: Some(cpu_hours), runs: Some(runs) };
    Limits { person, ..Limits::default() }
}

fn spent(hours_ago: u64, cpu_hours: f64) -> Promised {
    Promised { at: Ms(NOW.0 - hours_ago * crate::time::HOUR), cpu_ms: to_ms(cpu_hours) }
}

fn of_person(person: Vec<Promised>) -> Past {
    Past { person, ..Past::default() }
}

#[test]
fn what_does_not_fit_is_said_with_all_its_numbers() {
    let past = of_person(vec![spent(23, 6.0), spent(30, 100.0), spent(2, 25.0)]);
    let fits = |cost: f64| check(&limits(40.0, 9), &past, Some(to_ms(cost)), NOW);
    assert_eq!(fits(9.0), Ok(()));
    let refused = [
        fits(15.0).unwrap_err().to_string(),
        fits(20.5).unwrap_err().to_string(),
        fits(61.25).unwrap_err().to_string(),
        check(&limits(40.0, 2), &past, None, NOW).unwrap_err().to_string(),
        check(&limits(40.0, 0), &Past::default(), None, NOW).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(refused.join("\n"), @r"
    over the budget: the person who asks may spend 40 CPU hours in 24 hours; 31 are spent or promised, and this would cost about 15; enough is free again at 2026-11-29 21:28:50 UTC
    over the budget: the person who asks may spend 40 CPU hours in 24 hours; 31 are spent or promised, and this would cost about 20.5; enough is free again at 2026-11-30 18:28:50 UTC
    over the budget: the person who asks may spend 40 CPU hours in 24 hours; 31 are spent or promised, and this would cost about 61.2; it never fits: ask for less, or raise the limit of the suite
    over the budget: the person who asks may have 2 runs in 24 hours, and had 2; enough is free again at 2026-11-29 21:28:50 UTC
    over the budget: the person who asks may have 0 runs in 24 hours, and had 0; it never fits: ask for less, or raise the limit of the suite
    ");
}

#[test]
fn of_several_budgets_the_one_is_named_that_takes_longest() {
    let limit = |cpu_hours| Limit { cpu_hours: Some(cpu_hours), runs: None };
    let limits = Limits { pull_request: limit(10.0), person: limit(10.0), repository: limit(10.0) };
    let past = Past {
        pull_request: vec![spent(20, 10.0)],
        person: vec![spent(20, 10.0), spent(3, 10.0)],
        repository: vec![spent(20, 10.0), spent(3, 10.0)],
    };
    let over = check(&limits, &past, Some(to_ms(1.0)), NOW).unwrap_err();
    assert_eq!((over.whose, over.free), (Whose::Person, Some(NOW.plus(21 * crate::time::HOUR))));
    let never = Limits { repository: limit(0.5), ..limits };
    let over = check(&never, &past, Some(to_ms(1.0)), NOW).unwrap_err();
    assert_eq!((over.whose, over.free), (Whose::Repository, None));
}

#[test]
fn an_unknown_cost_counts_as_a_run_only() {
    let past = of_person(vec![spent(1, 40.0)]);
    assert_eq!(check(&limits(40.0, 2), &past, None, NOW), Ok(()));
    assert!(check(&limits(40.0, 1), &past, None, NOW).is_err());
    assert!(check(&limits(39.0, 2), &past, None, NOW).is_err(), "more than all of it is spent");
}

#[test]
fn hours_as_people_read_them() {
    let of = |x: f64| hours(x);
    assert_eq!(
        [of(0.0), of(61.2), of(182.83), of(1.0), of(0.004_25), of(0.000_012)].join(" "),
        "0 61.2 183 1 0.0043 0.000012"
    );
    assert_eq!([of(100.0), of(40.0), of(9.999), of(0.5)].join(" "), "100 40 10 0.5");
}

#[test]
fn an_estimate_is_the_mean_of_all_trials() {
    let run = |trials, cpu_ms, wall_ms| Learnt { trials, cpu_ms, wall_ms };
    let learnt = Estimate::learnt(&[run(4, 4000, 400), run(1, 2000, 600), run(0, 0, 0)]);
    assert_eq!(learnt, Some(Estimate { cpu_ms: 1200, wall_ms: Some(200), source: Source::Learnt(2) }));
    assert_eq!(Estimate::learnt(&[run(0, 0, 0)]), None);
    assert_eq!(Estimate::learnt(&[]), None);
}

fn place(n: u32, week_cpu_ms: u64, since: Ms) -> Place {
    let run = RunId::new(NOW.seconds(), n).unwrap();
    Place { run, started: false, ready: true, week_cpu_ms, since }
}

fn order(places: &[Place], now: Ms) -> Vec<String> {
    let mut all: Vec<(u64, &Place)> =
        places.iter().map(|place| (ahead(places, &place.run, now).unwrap(), place)).collect();
    all.sort_by_key(|(ahead, _)| *ahead);
    all.into_iter().map(|(_, place)| place.run.to_string()).collect()
}

#[test]
fn who_spent_least_goes_first_unless_somebody_waits_for_a_day() {
    let at = |ms: u64| Ms(NOW.0 - ms);
    let long = at(PATIENCE + 1);
    let places =
        [place(1, 9, at(50)), place(2, 5, at(20)), place(3, 5, at(30)), place(4, 5, at(30)), place(5, 99, long)];
    let wanted = [4, 2, 3, 1, 0].map(|index: usize| places[index].run.to_string());
    assert_eq!(order(&places, NOW), wanted);
    let mut some = places.to_vec();
    some[3].started = true;
    some[2].ready = false;
    let ahead = |index: usize| ahead(&some, &some[index].run, NOW).unwrap();
    // The one that is not ready keeps nobody, and has a place all the same.
    assert_eq!([0, 1, 2, 3, 4].map(ahead), [3, 2, 2, 0, 1]);
    assert_eq!(super::ahead(&some, &RunId::new(1, 1).unwrap(), NOW), None);
}

prop_compose! {
    fn promised()(ago in 0..2 * DAY, cpu_ms in 0..to_ms(30.0)) -> Promised {
        Promised { at: Ms(NOW.0 - ago), cpu_ms }
    }
}

proptest! {
    #[test]
    fn what_fits_never_goes_beyond_the_limit(
        past in prop::collection::vec(promised(), 0..12),
        cpu_hours in 0.0..100.0,
        runs in 0_u32..12,
        cost in prop::option::of(0..to_ms(60.0)),
    ) {
        let limits = limits(cpu_hours, runs);
        let before = Spent::of(&past, NOW);
        let after = before.cpu_ms + cost.unwrap_or(0);
        let fits = after <= to_ms(cpu_hours) && before.runs < u64::from(runs);
        let said = check(&limits, &of_person(past.clone()), cost, NOW);
        prop_assert_eq!(said.is_ok(), fits);
        if let Err(over) = said {
            match over.free {
                // Then it fits, and not a moment sooner.
                Some(at) => {
                    prop_assert_eq!(check(&limits, &of_person(past.clone()), cost, at), Ok(()));
                    prop_assert!(check(&limits, &of_person(past), cost, Ms(at.0 - 1)).is_err());
                }
                None => prop_assert!(check(&limits, &Past::default(), cost, NOW).is_err()),
            }
        }
    }

    #[test]
    fn less_spent_less_wanted_and_more_allowed_never_refuse_what_fits(
        past in prop::collection::vec(promised(), 0..12),
        drop in 0_usize..12,
        cpu_hours in 0.0..100.0,
        more in 0.0..10.0,
        runs in 0_u32..12,
        cost in 0..to_ms(60.0),
        less in 0..to_ms(60.0),
    ) {
        let whole = of_person(past.clone());
        let fits = |past: &Past, cpu_hours, runs, cost| check(&limits(cpu_hours, runs), past, cost, NOW).is_ok();
        if fits(&whole, cpu_hours, runs, Some(cost)) {
            let mut fewer = past;
            if drop < fewer.len() {
                fewer.remove(drop);
            }
            prop_assert!(fits(&of_person(fewer), cpu_hours, runs, Some(cost)));
            prop_assert!(fits(&whole, cpu_hours + more, runs + 1, Some(cost)));
            prop_assert!(fits(&whole, cpu_hours, runs, Some(cost.saturating_sub(less))));
            prop_assert!(fits(&whole, cpu_hours, runs, None));
        }
    }

    #[test]
    fn everybody_has_a_place_of_their_own_and_who_waits_for_a_day_is_before_who_does_not(
        of in prop::collection::vec((0_u64..4, 0..2 * DAY, any::<bool>()), 1..12),
    ) {
        let places: Vec<Place> = of.iter().zip(0..).map(|((week, ago, started), n)| {
            Place { started: *started, ..place(n, *week, Ms(NOW.0 - ago)) }
        }).collect();
        let started = places.iter().filter(|place| place.started).count() as u64;
        let at = |place: &Place| ahead(&places, &place.run, NOW).unwrap();
        let mut waiting: Vec<u64> = places.iter().filter(|place| !place.started).map(at).collect();
        waiting.sort_unstable();
        prop_assert_eq!(waiting, (started..places.len() as u64).collect::<Vec<_>>());
        for one in places.iter().filter(|place| !place.started && NOW.since(place.since) > PATIENCE) {
            for other in places.iter().filter(|place| !place.started && NOW.since(place.since) <= PATIENCE) {
                prop_assert!(at(one) < at(other));
            }
        }
    }
}
