//! Answers that are missing or broken, and files that are not what they should be.

use domain::arms::Role;
use domain::ports::{Answer, Discard, Fate, LookKind, Records as _, RecordsError};
use domain::setting::Setting;
use domain::workload::Known;
use evidence::{Storage as _, verify};

use crate::support::*;

/// The verdict where the treatment of round 2 of 5 has these answers.
fn with_answers(role: &Role, kind: &Fate, broken: &[Answer]) -> (&'static str, &'static str) {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    folder.open(&plan).unwrap();
    for round in 1..=5 {
        for each in [Role::Control, treatment("head")] {
            if round == 2 && each == *role {
                with(&folder, &plan, round, 0, &each, kind.clone(), broken);
            } else {
                add(&folder, &plan, round, 0, &each, 1.0);
            }
        }
    }
    let look = look(&plan, LookKind::Declared { index: 0 }, 1, 5);
    let judged = folder.judge(&look).unwrap();
    let said = sole(&judged);
    folder.seal(&ending(&plan, &look, &judged)).unwrap();
    let verified = verify(&moved(folder.storage()), &templates()).unwrap();
    assert_eq!(verified.problems, [], "{said:?}");
    said
}

#[test]
fn answers_that_cannot_be_read_are_a_reason_and_no_guess() {
    for role in [Role::Control, treatment("head")] {
        for (text, reason) in [
            (None, "ROWS_MISSING"),
            (Some("[]"), "ROWS_MISSING"),
            (Some("{"), "SCHEMA_DRIFT"),
            (Some("{}"), "SCHEMA_DRIFT"),
            (Some(r#"[{"step":"a","colour":1}]"#), "SCHEMA_DRIFT"),
        ] {
            let broken: Vec<Answer> = text.iter().map(|text| answer("steps.json", text)).collect();
            assert_eq!(with_answers(&role, &Fate::Counted, &broken), ("inconclusive", reason), "{role} {text:?}");
        }
        let lost = with_answers(&role, &Fate::Discarded(Discard::Lost), &[]);
        assert_eq!(lost, ("inconclusive", "ROWS_MISSING"));
    }
}

#[test]
fn numbers_that_are_bad_are_left_to_the_procedure() {
    let steps = String::from_utf8(answers(&[("sort", 2.0), ("merge", 1.0)], 0)[0].bytes.clone()).unwrap();
    let bad = steps.replacen("\"cpu_seconds\":2.0", "\"cpu_seconds\":-2.0", 1);
    assert_ne!(bad, steps);
    let said = with_answers(&treatment("head"), &Fate::Counted, &[answer("steps.json", &bad)]);
    assert_eq!(said, ("inconclusive", "BAD_VALUE"));
}

#[test]
fn unequal_workloads_come_first() {
    let (folder, mut plan) = (folder(), plan(&["head"], &[2]));
    let head = plan.workloads.get_mut("head").unwrap();
    head.set_named("size", Known::Set(Setting::whole(41))).unwrap();
    let (judged, _) = whole(&folder, &plan, 2, 1.0);
    assert_eq!(sole(&judged), ("inconclusive", "FINGERPRINT_MISMATCH"));
    let comment = folder.comment(&plan.run).unwrap();
    assert!(comment.contains("size") && comment.contains("41"), "{comment}");
    let mut unknown = crate::support::plan(&["head"], &[2]);
    unknown.workloads.get_mut("control").unwrap().set_named("size", Known::Unknown).unwrap();
    let folder = crate::support::folder();
    assert_eq!(sole(&whole(&folder, &unknown, 2, 1.0).0), ("inconclusive", "FINGERPRINT_UNKNOWN"));
}

#[test]
fn a_plan_of_a_newer_version_is_refused() {
    let (folder, plan) = (folder(), plan(&["head"], &[2]));
    folder.open(&plan).unwrap();
    let at = format!("{}.open/plan.json", plan.run);
    let text = String::from_utf8(folder.storage().read(&at).unwrap().unwrap()).unwrap();
    let newer = text.replacen("\"schema\": 1", "\"schema\": 2", 1).replacen("\"title\"", "\"subtitle\"", 1);
    folder.storage().write(&at, newer.as_bytes()).unwrap();
    let error = folder.judge(&look(&plan, LookKind::Guardrail, 1, 0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plan.json: the plan has schema 2; this version reads up to 1: use a newer zephyr-ab"
    );
}

#[test]
fn looks_that_do_not_fit_the_plan() {
    let (folder, plan) = (folder(), plan(&["head"], &[2]));
    folder.open(&plan).unwrap();
    let good = look(&plan, LookKind::Guardrail, 1, 0);
    let mut ledger = good.clone();
    ledger.episode = 2;
    let mut index = good.clone();
    index.kind = LookKind::Declared { index: 1 };
    let mut order = look(&plan, LookKind::Guardrail, 1, 2);
    order.rounds.reverse();
    for bad in [ledger, index, order] {
        let refused = folder.judge(&bad);
        assert!(matches!(refused, Err(RecordsError::Unusable(_))), "{refused:?}");
    }
    // What is not written yet may be there when it is asked again.
    for early in [look(&plan, LookKind::Guardrail, 1, 1), {
        let mut named = good.clone();
        named.confirmations.push(name(&plan, 1, 0, &treatment("head")));
        named
    }] {
        let refused = folder.judge(&early);
        assert!(matches!(refused, Err(RecordsError::Failed(_))), "{refused:?}");
    }
}

#[test]
fn names_and_sizes() {
    let (folder, plan) = (folder(), plan(&["head"], &[2]));
    folder.open(&plan).unwrap();
    let trial = name(&plan, 1, 0, &Role::Control);
    for bad in ["../plan.json", "/etc/passwd", "A.json", "a//b", ".hidden", ""] {
        let refused = folder.answer(&trial, &Role::Control, &[answer("good.json", "{}"), answer(bad, "x")]);
        assert!(matches!(refused, Err(RecordsError::Unusable(_))), "{bad}");
    }
    let large = Answer { name: "large".to_owned(), bytes: vec![0; evidence::folder::LARGEST_ANSWER + 1] };
    let refused = folder.answer(&trial, &Role::Control, &[large]).unwrap_err().to_string();
    assert_eq!(refused, "arms/control-1.0-1/large: has 16777217 bytes; allowed: 16777216");
    // Nothing of a refused answer is there.
    assert_eq!(folder.storage().list(&format!("{}.open", plan.run)).unwrap(), ["plan.json"]);
}

#[test]
fn an_answer_before_its_plan_is_refused() {
    let (folder, plan) = (folder(), plan(&["head"], &[2]));
    let trial = name(&plan, 1, 0, &Role::Control);
    assert!(folder.answer(&trial, &Role::Control, &[answer("a", "x")]).is_err());
    assert!(folder.note(&fate(trial, Role::Control, Fate::Counted)).is_err());
}
