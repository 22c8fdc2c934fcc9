//! Properties that hold for any input, and workloads held against each other through the judge.
#![allow(clippy::unwrap_used)] // helpers of tests stand outside the test functions that may unwrap

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use domain::arms::{Declared, Role};
use domain::assemble::assemble;
use domain::bytesize::ByteSize;
use domain::case::{CountedRound, Trials, case};
use domain::comparability::{Sameness, compare};
use domain::ids::{ArmName, CommitSha, Digest, ExecutionId, JobId, RunId, RunTag, SuiteName};
use domain::record::StageRecord;
use domain::rounds::{RoundMode, TrialName, order};
use domain::setting::Setting;
use domain::steps::NoSteps;
use domain::workload::{Field, Known, Workload};
use proptest::prelude::*;
use stats::{Arm, Calibration, Config, Reading, Reason, Stage, Trial, Verdict};

/// What parses prints as it was, and parses again to the same.
fn round_trip<T: FromStr + ToString + PartialEq + std::fmt::Debug>(text: &str) -> Result<(), TestCaseError> {
    if let Ok(parsed) = text.parse::<T>() {
        let printed = parsed.to_string();
        prop_assert!(printed.eq_ignore_ascii_case(text), "{text:?} prints as {printed:?}");
        prop_assert!(printed.parse::<T>().is_ok_and(|again| again == parsed));
    }
    Ok(())
}

fn every_parser(text: &str) -> Result<(), TestCaseError> {
    round_trip::<ArmName>(text)?;
    round_trip::<CommitSha>(text)?;
    round_trip::<Digest>(text)?;
    round_trip::<ExecutionId>(text)?;
    round_trip::<JobId>(text)?;
    round_trip::<Role>(text)?;
    round_trip::<RunId>(text)?;
    round_trip::<RunTag>(text)?;
    round_trip::<SuiteName>(text)?;
    round_trip::<TrialName>(text)?;
    let _ = text.parse::<RoundMode>();
    if let Ok(size) = text.parse::<ByteSize>() {
        prop_assert_eq!(size.to_string().parse::<ByteSize>(), Ok(size));
    }
    Ok(())
}

/// A good id with a few characters replaced, removed or put in.
fn nearly() -> impl Strategy<Value = String> {
    let good = prop::sample::select(vec![
        "exact-web-20261129-202850-8d10c1b5",
        "20261129-202850-8d10c1b5",
        "20261129T202850Z-8d10c1b5",
        "zab-20261129T202850Z-8d10c1b5-r2.1-3",
        "/bot/zab-1/child-2",
        "deadbeef00112233445566778899aabbccddeeff",
        "wide.pool_2-x",
        "16GiB",
        "1.5 GB",
    ]);
    let edit = (any::<prop::sample::Index>(), prop::option::of(any::<char>()), any::<bool>());
    (good, prop::collection::vec(edit, 0..4)).prop_map(|(good, edits)| {
        let mut chars: Vec<char> = good.chars().collect();
        for (at, put, remove) in edits {
            let at = at.index(chars.len().max(1));
            if remove && at < chars.len() {
                chars.remove(at);
            }
            chars.splice(at.min(chars.len())..at.min(chars.len()), put);
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        every_parser(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn no_near_miss_makes_a_parser_panic(text in nearly()) {
        every_parser(&text)?;
    }

    #[test]
    fn every_execution_id_of_the_form_parses(
        name in prop::option::of("[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?"),
        date in (1970u32..=9999, 1u32..=12, 1u32..=28),
        time in (0u32..24, 0u32..60, 0u32..60),
        random: u32,
    ) {
        let suffix = format!("{:04}{:02}{:02}-{:02}{:02}{:02}-{random:08x}", date.0, date.1, date.2, time.0, time.1, time.2);
        let text = name.as_ref().map_or_else(|| suffix.clone(), |name| format!("{name}-{suffix}"));
        let id: ExecutionId = text.parse().unwrap();
        prop_assert_eq!(id.name(), name.as_deref());
        prop_assert_eq!(id.suffix(), suffix);
    }

    #[test]
    fn run_ids_sort_by_time(one in 0u64..200_000_000_000, other in 0u64..200_000_000_000, random: u32) {
        let at = |seconds| RunId::new(seconds, random).unwrap();
        prop_assert_eq!(at(one).cmp(&at(other)), one.cmp(&other));
    }

    #[test]
    fn every_arm_has_one_place_and_two_rounds_balance(treatments in 1usize..6, round in 1u32..1000) {
        let names: Vec<ArmName> = (0..treatments).map(|n| format!("t{n}").parse().unwrap()).collect();
        let (this, next) = (order(round, &names), order(round + 1, &names));
        prop_assert_eq!(this.iter().collect::<BTreeSet<_>>().len(), treatments + 1);
        prop_assert_eq!(this.into_iter().rev().collect::<Vec<_>>(), next);
    }
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        1 => Just(Reading::Missing),
        1 => Just(Reading::Bad),
        20 => (0u32..1000).prop_map(|n| Reading::Value(f64::from(n))),
    ]
}

prop_compose! {
    fn record()(
        ids in (0u32..12, 0u32..4),
        ended in prop::bool::weighted(0.95),
        readings in prop::array::uniform6(reading()),
    ) -> StageRecord<'static> {
        StageRecord {
            execution_id: Cow::Owned(format!("20261129-202850-{:08x}", ids.0)),
            stage_name: Cow::Owned(format!("stage{}", ids.1)),
            status: Some(Cow::Borrowed(if ended { "END" } else { "FAILED" })),
            elapsed: readings[0],
            cpu_time_total: readings[1],
            items: readings[2],
            bytes_processed: readings[3],
            total_shards: readings[4],
            mem_peak_bytes_max: readings[5],
            ..StageRecord::default()
        }
    }
}

/// The same sums, straight from the definition.
fn plainly(records: &[StageRecord<'_>]) -> Vec<(String, Stage)> {
    let mut rows: BTreeMap<&str, Vec<&StageRecord<'_>>> = BTreeMap::new();
    for record in records {
        rows.entry(&record.stage_name).or_default().push(record);
    }
    let join = |readings: Vec<Reading>, join: fn(f64, f64) -> f64| {
        if readings.iter().all(|r| r.is_missing()) {
            return Reading::Missing;
        }
        let values: Option<Vec<f64>> = readings.iter().map(|r| r.value()).collect();
        values.map_or(Reading::Bad, |values| Reading::of(values.into_iter().fold(0.0, join)))
    };
    let plus = |a: f64, b: f64| a + b;
    rows.into_iter()
        .map(|(name, records)| {
            let all = |of: fn(&StageRecord<'_>) -> Reading| records.iter().map(|r| of(r)).collect();
            let stage = Stage {
                cpu_time_total: join(all(|r| r.cpu_time_total), plus),
                elapsed: join(all(|r| r.elapsed), plus),
                items: join(all(|r| r.items), plus),
                bytes_processed: join(all(|r| r.bytes_processed), plus),
                total_shards: join(all(|r| r.total_shards), plus),
                mem_peak_bytes_max: join(all(|r| r.mem_peak_bytes_max), f64::max),
                row_executions: Reading::Value(records.len() as f64),
                not_ended: records.iter().find(|r| r.status.as_deref() != Some("END")).map(|_| "FAILED".to_owned()),
            };
            (name.to_owned(), stage)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_the_plain_sums_in_any_order(
        records in prop::collection::vec(record(), 0..40).prop_map(|records| {
            let mut seen = BTreeSet::new();
            records.into_iter()
                .filter(|r| seen.insert((r.execution_id.to_string(), r.stage_name.to_string())))
                .collect::<Vec<_>>()
        }),
        turn: prop::sample::Index,
    ) {
        let trial = assemble(&[&records], &NoSteps).unwrap().trials.remove(0).trial;
        prop_assert_eq!(&trial.stages, &plainly(&records));
        let executions: BTreeSet<&str> = records.iter().map(|r| &*r.execution_id).collect();
        prop_assert_eq!(trial.executions, Some(executions.len() as u64));
        let mut turned = records.clone();
        turned.rotate_left(turn.index(records.len().max(1)) % records.len().max(1));
        turned.reverse();
        prop_assert_eq!(assemble(&[&turned], &NoSteps).unwrap().trials.remove(0).trial, trial);
    }

    #[test]
    fn records_survive_json(record in record()) {
        let text = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(serde_json::from_str::<StageRecord<'_>>(&text).unwrap(), record);
    }
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        any::<bool>().prop_map(Setting::Flag),
        (-1e12..1e12).prop_map(|n: f64| Setting::Number(n.try_into().unwrap())),
        (0u64..1 << 62).prop_map(|n| Setting::size(ByteSize(n))),
        prop::collection::vec(".{0,8}", 0..4).prop_map(Setting::List),
        ".{0,20}".prop_map(Setting::Text),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(String, Setting)>> {
    let further = prop::collection::btree_map("[a-z][a-z_]{0,6}[.][a-z]{1,4}", setting(), 0..5);
    (prop::collection::vec(setting(), Field::ALL.len()), further).prop_map(|(standard, further)| {
        let standard = Field::ALL.iter().map(|field| field.name().to_owned()).zip(standard);
        standard.chain(further).collect()
    })
}

fn workload<'a>(pairs: impl IntoIterator<Item = &'a (String, Setting)>) -> Workload {
    let mut workload = Workload::new(&"zephyr".parse().unwrap());
    for (name, setting) in pairs {
        workload.set_named(name, Known::Set(setting.clone())).unwrap();
    }
    workload
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_keys_does_not_matter(pairs in pairs()) {
        let (one, other) = (workload(&pairs), workload(pairs.iter().rev()));
        prop_assert_eq!(one.fingerprint(&[]).unwrap(), other.fingerprint(&[]).unwrap());
        prop_assert_eq!(compare(&one, &other, &Declared::default()).sameness, Sameness::Equal);
    }

    #[test]
    fn any_changed_field_shows(pairs in pairs(), at: prop::sample::Index, to in prop::option::of(setting())) {
        let (one, mut other) = (workload(&pairs), workload(&pairs));
        let (name, before) = &pairs[at.index(pairs.len())];
        prop_assume!(to.as_ref() != Some(before));
        other.set_named(name, to.clone().map_or(Known::Unset, Known::Set)).unwrap();
        prop_assert_ne!(one.fingerprint(&[]).unwrap(), other.fingerprint(&[]).unwrap());
        let Sameness::Differs(differences) = compare(&one, &other, &Declared::default()).sameness else {
            return Err(TestCaseError::fail("equal"));
        };
        prop_assert_eq!(differences.len(), 1);
        prop_assert_eq!(&differences[0].field, name);
        prop_assert_eq!((differences[0].control.as_ref(), &differences[0].treatment), (Some(before), &to));
        prop_assert_eq!(one.fingerprint(&[name]).unwrap(), other.fingerprint(&[name]).unwrap());
    }

    #[test]
    fn comparison_and_fingerprint_agree(one in pairs(), other in pairs()) {
        let (one, other) = (workload(&one), workload(&other));
        let equal = compare(&one, &other, &Declared::default()).sameness == Sameness::Equal;
        prop_assert_eq!(equal, one.fingerprint(&[]).unwrap() == other.fingerprint(&[]).unwrap());
    }

    #[test]
    fn an_unknown_field_has_no_fingerprint(pairs in pairs(), at: prop::sample::Index) {
        let (known, mut unknown) = (workload(&pairs), workload(&pairs));
        let name = &pairs[at.index(pairs.len())].0;
        unknown.set_named(name, Known::Unknown).unwrap();
        prop_assert!(unknown.fingerprint(&[]).is_err());
        prop_assert_eq!(compare(&known, &unknown, &Declared::default()).sameness, Sameness::Unknown(vec![name.clone()]));
        prop_assert_eq!(compare(&unknown, &unknown, &Declared::default()).sameness, Sameness::Unknown(vec![name.clone()]));
    }

    #[test]
    fn workloads_survive_json(pairs in pairs()) {
        let one = workload(&pairs);
        let text = serde_json::to_string(&one).unwrap();
        prop_assert_eq!(serde_json::from_str::<Workload>(&text).unwrap().fingerprint(&[]), one.fingerprint(&[]));
    }

    #[test]
    fn a_size_is_its_bytes_however_it_is_written(mebibytes in 1u64..1 << 30) {
        let bytes = mebibytes << 20;
        let written = [format!("{mebibytes}MiB"), bytes.to_string(), format!("{bytes} B"), ByteSize(bytes).to_string()];
        let digests: BTreeSet<Digest> = written
            .iter()
            .map(|text| {
                let mut workload = workload(&full());
                workload.set(Field::PoolRam, Known::Set(Setting::size(text.parse().unwrap())));
                workload.fingerprint(&[]).unwrap()
            })
            .collect();
        prop_assert_eq!(digests.len(), 1);
    }
}

/// A workload of which everything is known.
fn full() -> Vec<(String, Setting)> {
    Field::ALL.iter().map(|field| (field.name().to_owned(), Setting::text("x"))).collect()
}

/// Three rounds in which the treatment takes `share` of the control's elapsed time at equal CPU and work.
fn rounds(share: f64) -> Trials {
    let trial = |elapsed: f64, wobble: f64| {
        let stage = |seconds: f64| Stage {
            cpu_time_total: Reading::Value(seconds * wobble),
            elapsed: Reading::Value(seconds * elapsed * wobble),
            items: Reading::Value(1000.0),
            bytes_processed: Reading::Value(1e6),
            mem_peak_bytes_max: Reading::Value(1e9),
            total_shards: Reading::Value(160.0),
            row_executions: Reading::Value(1.0),
            not_ended: None,
        };
        let stages = ["a", "b", "c", "d"].into_iter().zip([400.0, 300.0, 200.0, 100.0]);
        Trial {
            stages: stages.map(|(name, seconds)| (name.to_owned(), stage(seconds))).collect(),
            executions: Some(1),
            ..Trial::default()
        }
    };
    let round = |n: u32| {
        let wobble = 1.0 + 0.001 * f64::from(n);
        CountedRound { control: trial(1.0, wobble), treatments: vec![Some(trial(share, 2.0 - wobble))] }
    };
    Trials::Paired((1..=3).map(round).collect())
}

/// 5 workers against 80, judged after what the comparison of the workloads found.
fn five_against_eighty(declared: &Declared, share: f64) -> stats::Judgement {
    let pool = |workers| {
        let mut workload = workload(&full());
        workload.set(Field::PoolWorkers, Known::Set(Setting::whole(workers)));
        workload
    };
    let mut arm = Arm::default();
    compare(&pool(5), &pool(80), declared).apply(&mut arm);
    let ratios: Vec<f64> = (0..10).map(|n| 0.001 * (f64::from(n) - 4.5)).collect();
    let ratios: BTreeMap<String, Vec<f64>> =
        ["a", "b", "c", "d", "TOTAL"].iter().map(|row| ((*row).to_owned(), ratios.clone())).collect();
    let calibration = Calibration {
        grade: stats::Grade::A,
        ratios: stats::PerMetric::from_fn(|_| ratios.clone()),
        ..Calibration::default()
    };
    let case = case(Config::default(), calibration, vec![("head".parse().unwrap(), arm)], rounds(share)).unwrap();
    stats::judge(&case).headline().clone()
}

#[test]
fn an_undeclared_pool_is_a_mismatch_whatever_the_clocks_say() {
    for share in [1.0, 1.0 / 28.72, 3.0] {
        let judgement = five_against_eighty(&Declared::default(), share);
        assert_eq!(
            (judgement.verdict, judgement.reason),
            (Verdict::Inconclusive, Reason::FingerprintMismatch),
            "{share}"
        );
        assert!(!judgement.topology);
    }
}

#[test]
fn a_declared_pool_is_judged_and_named() {
    let mut declared = Declared::default();
    declared.parameter("pool_workers", "80").unwrap();
    let judgement = five_against_eighty(&declared, 1.0 / 28.72);
    assert_eq!((judgement.verdict, judgement.reason), (Verdict::Pass, Reason::WallLowerRepeated));
    assert!(judgement.topology);
    assert_eq!(judgement.declared, [("pool_workers".to_owned(), serde_json::json!(80))]);
}
