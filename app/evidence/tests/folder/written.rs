//! A case that is written as JSON is read as the same case and judged the same.

use proptest::prelude::*;
use serde_json::{Value, json};
use stats::case::{Confirmation, Events, Residual};
use stats::config::{Normalize, Work};
use stats::digits::twelve;
use stats::input::write::to_json;
use stats::{Arm, Calibration, Case, Config, Control, Event, Grade, PerMetric, Reading, Reason, Round, Stage, Trial};

fn vectors() -> Vec<(String, String)> {
    let all: Value = serde_json::from_str(include_str!("../../../../tests/stats/vectors.json")).unwrap();
    let list = all.as_array().or_else(|| all["vectors"].as_array()).unwrap().clone();
    let cases =
        list.into_iter().filter(|v| v["kind"] == "verdict" && v["expected"]["usage_error"] != Value::Bool(true));
    cases.map(|v| (v["id"].as_str().unwrap().to_owned(), v.to_string())).collect()
}

#[test]
fn every_vector_is_judged_the_same_after_a_round_trip() {
    let mut count = 0;
    for (id, text) in vectors() {
        let case = stats::input::parse(&text).unwrap();
        let once = stats::input::parse(&to_json(&case).unwrap()).unwrap_or_else(|e| panic!("{id}: {e}"));
        let twice = stats::input::parse(&to_json(&once).unwrap()).unwrap();
        assert_eq!(once, twice, "{id}");
        assert_eq!(to_json(&once).unwrap(), to_json(&twice).unwrap(), "{id}");
        let said = |case: &Case| -> Vec<_> {
            stats::judge(case).treatments().into_iter().map(|(n, j)| (n.to_owned(), j.verdict, j.reason)).collect()
        };
        assert_eq!(said(&case), said(&once), "{id}");
        count += 1;
    }
    assert!(count > 30, "{count}");
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        1 => Just(Reading::Missing),
        1 => Just(Reading::Bad),
        1 => Just(Reading::Value(0.0)),
        8 => (1e-3..1e6_f64).prop_map(|x| Reading::of(twelve(x))),
        4 => (0_u64..1 << 40).prop_map(|n| Reading::of(twelve(n as f64))),
    ]
}

fn stage() -> impl Strategy<Value = Stage> {
    let status = proptest::option::weighted(0.1, "[A-DF-Z\"\\\\é\n]{1,8}");
    (reading(), reading(), reading(), reading(), reading(), reading(), status).prop_map(
        |(cpu_time_total, elapsed, items, bytes_processed, mem_peak_bytes_max, total_shards, not_ended)| Stage {
            cpu_time_total,
            elapsed,
            items,
            bytes_processed,
            mem_peak_bytes_max,
            total_shards,
            row_executions: Reading::Value(1.0),
            not_ended,
        },
    )
}

fn trial() -> impl Strategy<Value = Trial> {
    let names = ["z", "a", "stage0-Map → Write", "\"q\"", ""];
    let stages = proptest::collection::vec(stage(), 0..names.len());
    (stages, proptest::option::of(0_u64..50), proptest::option::weighted(0.2, (0_usize..8, 1_u64..9))).prop_map(
        move |(stages, executions, event)| {
            let mut events = Events::default();
            if let Some((which, times)) = event {
                events.set(Event::ALL[which], times);
            }
            let stages = names.iter().map(|n| (*n).to_owned()).zip(stages).collect();
            Trial { stages, executions, events }
        },
    )
}

fn arm(shared: bool) -> impl Strategy<Value = Arm> {
    let round = (trial(), trial()).prop_map(move |(control, treatment)| Round {
        control: if shared { Control::Shared(0) } else { Control::Own(control) },
        treatment,
    });
    let outside = (proptest::option::of(trial()), proptest::option::of(trial()))
        .prop_map(|(control, treatment)| Confirmation { control, treatment });
    (
        proptest::collection::vec(round, 0..5),
        proptest::collection::vec(outside, 0..2),
        proptest::option::weighted(0.2, proptest::collection::vec(Just(json!({"field": "x", "control": 1.5})), 0..2)),
        any::<(bool, bool)>(),
        proptest::option::weighted(0.2, Just(Reason::TimeLimit)),
        proptest::option::weighted(0.2, Just((Reason::CpuHigher.verdict(), Reason::CpuHigher))),
    )
        .prop_map(|(rounds, confirmations, fingerprint_mismatch, (topology, confirmed), blocked, decided)| Arm {
            rounds,
            trials: Vec::new(),
            fingerprint_mismatch,
            declared: vec![("pool".to_owned(), json!(80)), ("a".to_owned(), json!({"b": [1, null]}))],
            topology,
            confirmed,
            confirmations,
            blocked,
            decided,
        })
}

fn config() -> impl Strategy<Value = Config> {
    (0.001..0.4_f64, proptest::option::of(1e6..1e12_f64), any::<bool>(), 1_u64..5, 0_usize..3).prop_map(
        |(margin, limit, counted, episode, look)| Config {
            margin: PerMetric { cpu: twelve(margin), elapsed: twelve(margin * 1.7) },
            mem_limit: limit.map(twelve),
            work: if counted { Work::Strict } else { Work::UncountedOk },
            normalize: if counted { Normalize::Item } else { Normalize::Auto },
            episode,
            looks: (look > 0).then(|| vec![2, 5]),
            look_index: (look as u64).checked_sub(1),
            paths_only: vec!["* → Write".to_owned()],
            overhead_frac: PerMetric { cpu: [("z".to_owned(), 0.25)].into(), elapsed: [].into() },
            ..Config::default()
        },
    )
}

fn calibration() -> impl Strategy<Value = Calibration> {
    (proptest::collection::vec(-0.1..0.1_f64, 0..12), 0.0..0.1_f64).prop_map(|(ratios, ss)| {
        let ratios: Vec<f64> = ratios.into_iter().map(twelve).collect();
        Calibration {
            grade: if ratios.len() > 5 { Grade::A5 } else { Grade::C },
            residual: PerMetric {
                cpu: [("z".to_owned(), Residual { ss: twelve(ss), df: 3.0 })].into(),
                elapsed: [].into(),
            },
            ratios: PerMetric {
                cpu: [("z".to_owned(), ratios.clone())].into(),
                elapsed: [("z".to_owned(), ratios)].into(),
            },
        }
    })
}

fn case() -> impl Strategy<Value = Case> {
    let arms = prop_oneof![
        arm(false).prop_map(|arm| (vec![("treatment".to_owned(), arm)], vec![], false)),
        (arm(true), arm(true), trial())
            .prop_map(|(a, b, control)| { (vec![("b".to_owned(), b), ("a".to_owned(), a)], vec![control], true) }),
    ];
    (config(), calibration(), arms).prop_map(|(config, calibration, (arms, control, several))| Case {
        config,
        calibration,
        control,
        arms,
        several,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(case in case()) {
        let text = to_json(&case).unwrap();
        let read = stats::input::parse(&text).unwrap();
        prop_assert_eq!(&read, &case);
        // NaN stands for what is not known, and equals nothing.
        prop_assert_eq!(format!("{:?}", stats::judge(&read)), format!("{:?}", stats::judge(&case)));
    }

    #[test]
    fn numbers_have_twelve_digits(x in 1e-9..1e18_f64) {
        let mut case = Case { arms: vec![("treatment".to_owned(), Arm::default())], ..Case::default() };
        let stage = Stage { cpu_time_total: Reading::of(x), ..Stage::default() };
        let control = Trial { stages: vec![("s".to_owned(), stage)], ..Trial::default() };
        case.arms[0].1.rounds.push(Round { control: Control::Own(control), treatment: Trial::default() });
        let read = stats::input::parse(&to_json(&case).unwrap()).unwrap();
        let Control::Own(control) = &read.arms[0].1.rounds[0].control else { panic!() };
        prop_assert_eq!(control.stages[0].1.cpu_time_total, Reading::Value(twelve(x)));
    }
}
