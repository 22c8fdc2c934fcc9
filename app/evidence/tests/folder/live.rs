//! What a run leaves, from its plan to its seal.

use domain::arms::Role;
use domain::ports::{Discard, Ending, Failure, Fate, How, LookKind, Records as _, RecordsError};
use domain::time::Ms;
use domain::view::Ending as EndedHow;
use evidence::verify::Compared;
use evidence::{Storage as _, verify};

use crate::support::*;

#[test]
fn a_slower_change_is_a_regression_and_verifies() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    let (judged, sealed) = whole(&folder, &plan, 5, 1.5);
    assert_eq!(sole(&judged), ("regression", "CPU_HIGHER"));
    let storage = moved(folder.storage());
    let verified = verify(&storage, &templates()).unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!(verified.compared, Compared::Bytes);
    let comment = folder.comment(&plan.run).unwrap();
    assert!(comment.contains(&sealed.digest.as_str()[..12]), "{comment}");
    assert!(!comment.contains(&sealed.digest.as_str()[..13]));
    assert_eq!(folder.composed(&plan.run).unwrap().digest, sealed.digest);
    insta::assert_json_snapshot!("told", told(&storage));
    insta::assert_snapshot!("files", verified.files.join("\n"));
    let looks = storage.read("looks.jsonl").unwrap().unwrap();
    insta::assert_snapshot!("looks", String::from_utf8(looks).unwrap());
}

#[test]
fn the_same_is_no_regression() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    let (judged, _) = whole(&folder, &plan, 5, 1.0);
    assert_eq!(sole(&judged).0, "pass", "{judged:?}");
}

#[test]
fn everything_may_be_asked_again() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    let first = whole(&folder, &plan, 5, 1.5);
    let storage = moved(folder.storage());
    let before: Vec<_> = storage.list("").unwrap();
    // The folder is sealed now: every question is answered as it was, and nothing changes.
    assert_eq!(whole(&folder, &plan, 5, 1.5), first);
    let after = moved(folder.storage());
    assert_eq!(after.list("").unwrap(), before);
    for file in before {
        assert_eq!(after.read(&file).unwrap(), storage.read(&file).unwrap(), "{file}");
    }
}

#[test]
fn other_content_under_the_same_name_is_a_conflict() {
    let (folder, plan) = (folder(), plan(&["head"], &[2]));
    folder.open(&plan).unwrap();
    let mut other = plan.clone();
    other.limit_ms += 1;
    let conflict =
        |result: Result<(), RecordsError>| assert!(matches!(result, Err(RecordsError::Conflict(_))), "{result:?}");
    conflict(folder.open(&other));
    add(&folder, &plan, 1, 0, &Role::Control, 1.0);
    let trial = name(&plan, 1, 0, &Role::Control);
    conflict(folder.answer(&trial, &Role::Control, &[answer("steps.json", "[]")]));
    conflict(folder.note(&fate(trial.clone(), Role::Control, Fate::Discarded(Discard::Lost))));
    folder.answer(&trial, &Role::Control, &[answer("late.json", "{}")]).unwrap();
    let sealed = Ending {
        run: plan.run.clone(),
        how: How::Ended { how: EndedHow::Cancelled, why: Some("cancelled by somebody".to_owned()) },
        started: Ms(START),
        ended: Ms(START + 1),
        replaced: 0,
        alive: vec![],
    };
    let digest = folder.seal(&sealed).unwrap();
    assert_eq!(folder.seal(&sealed).unwrap(), digest);
    conflict(folder.seal(&Ending { replaced: 1, ..sealed }).map(drop));
    conflict(folder.answer(&trial, &Role::Control, &[answer("later.json", "{}")]));
    conflict(folder.note(&fate(name(&plan, 2, 0, &Role::Control), Role::Control, Fate::Counted)));
}

#[test]
fn a_run_without_a_verdict() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    folder.open(&plan).unwrap();
    add(&folder, &plan, 1, 0, &Role::Control, 1.0);
    let trial = name(&plan, 1, 0, &treatment("head"));
    folder.note(&fate(trial, treatment("head"), Fate::Discarded(Discard::Stopped))).unwrap();
    let how = How::Ended { how: EndedHow::Cancelled, why: Some("cancelled by somebody".to_owned()) };
    let (started, ended) = (Ms(START), Ms(START + 70_000));
    folder.seal(&Ending { run: plan.run.clone(), how, started, ended, replaced: 0, alive: vec![] }).unwrap();
    let verified = verify(&moved(folder.storage()), &templates()).unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!(verified.composed.unwrap().judged, None);
    insta::assert_json_snapshot!("told_without_a_verdict", told(&moved(folder.storage())));
}

#[test]
fn failures_that_repeat_are_told_from_those_that_do_not() {
    let head = treatment("head");
    let failed = |oom| Fate::Failed(Failure { oom, text: "sort: killed".to_owned() });
    // Twice out of memory, in the treatment only.
    let (one, plan) = (folder(), plan(&["head"], &[5]));
    one.open(&plan).unwrap();
    let mut look = look(&plan, LookKind::Guardrail, 1, 0);
    for replacement in 0..2 {
        add(&one, &plan, 1, replacement, &Role::Control, 1.0);
        with(&one, &plan, 1, replacement, &head, failed(true), &[]);
        look.confirmations.push(name(&plan, 1, replacement, &head));
    }
    assert_eq!(sole(&one.judge(&look).unwrap()), ("regression", "NEW_OOM"));
    // Once, and then two clean trials: one whose round was replaced, one in a round that counts.
    let other = folder();
    other.open(&plan).unwrap();
    let mut look = crate::support::look(&plan, LookKind::Declared { index: 0 }, 1, 5);
    add(&other, &plan, 1, 0, &Role::Control, 1.0);
    with(&other, &plan, 1, 0, &head, failed(false), &[]);
    add(&other, &plan, 1, 1, &Role::Control, 1.0);
    add(&other, &plan, 1, 1, &head, 1.0);
    look.confirmations = vec![name(&plan, 1, 0, &head), name(&plan, 1, 1, &head), name(&plan, 2, 0, &head)];
    look.rounds[0].replacement = 1;
    for round in 2..=5 {
        add(&other, &plan, round, 0, &Role::Control, 1.0);
        add(&other, &plan, round, 0, &head, 1.0);
    }
    let judged = other.judge(&look).unwrap();
    assert_eq!(sole(&judged).0, "pass", "{judged:?}");
    other.seal(&Ending { replaced: 1, ..ending(&plan, &look, &judged) }).unwrap();
    let comment = other.comment(&plan.run).unwrap();
    assert!(comment.contains("sort: killed"), "{comment}");
    // One failure and one clean trial are not enough.
    look.confirmations.truncate(2);
    look.kind = LookKind::Guardrail;
    let judged = evidence::judge::judge(&moved(other.storage()), "", &look).unwrap().judged;
    assert_eq!(sole(&judged), ("inconclusive", "NEW_APP_FAILURE_UNCONFIRMED"));
}

#[test]
fn a_run_that_could_not_be_completed_says_why() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    folder.open(&plan).unwrap();
    add(&folder, &plan, 1, 0, &Role::Control, 1.0);
    add(&folder, &plan, 1, 0, &treatment("head"), 2.0);
    let look = look(&plan, LookKind::Blocked(stats::Reason::ChurnLimit), 1, 1);
    let judged = folder.judge(&look).unwrap();
    assert_eq!(sole(&judged), ("inconclusive", "CHURN_LIMIT"));
    folder.seal(&ending(&plan, &look, &judged)).unwrap();
    assert!(verify(&moved(folder.storage()), &templates()).unwrap().is_fine());
}

/// Answers of a trial that ended with its second step, and what that step printed.
fn broken(exit: &serde_json::Value, said: &str) -> Vec<domain::ports::Answer> {
    let step = |name: &str, exit: &serde_json::Value| {
        serde_json::json!({"step": name, "cpu_seconds": 1.0, "elapsed_seconds": 1.0, "peak_bytes": 1, "exit": exit,
            "stdout_bytes": 0, "stderr_bytes": 0, "truncated": false})
    };
    let steps = serde_json::json!([step("sort", &serde_json::json!({"code": 0})), step("merge", exit)]);
    vec![answer("steps.json", &steps.to_string()), answer("02-merge.stderr", said)]
}

#[test]
fn a_control_that_fails_names_the_step_and_what_it_said() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    folder.open(&plan).unwrap();
    let mut look = look(&plan, LookKind::Guardrail, 1, 0);
    let text = "step merge exited with 1:\nusage: bench\nname one step: sort, @team";
    for replacement in 0..2 {
        let failed = Fate::Failed(Failure { oom: false, text: text.to_owned() });
        let answers = broken(&serde_json::json!({"code": 1}), "usage: bench\nname one step: sort, @team\n");
        with(&folder, &plan, 1, replacement, &Role::Control, failed, &answers);
        look.confirmations.push(name(&plan, 1, replacement, &Role::Control));
    }
    let judged = folder.judge(&look).unwrap();
    assert_eq!(sole(&judged), ("inconclusive", "CONTROL_FAILED"));
    folder.seal(&ending(&plan, &look, &judged)).unwrap();
    assert!(verify(&moved(folder.storage()), &templates()).unwrap().is_fine());
    let comment = folder.comment(&plan.run).unwrap();
    for part in [
        "The treatment was not started, so nothing is known of it.",
        "In `control`: step merge exited with 1 (2 times); the last line of its output: `name one step: sort, @\u{200B}team`.",
        "round 1: step merge exited with 1\n  usage: bench\n",
    ] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    assert!(!comment.contains("did not."), "{comment}");
}

#[test]
fn a_time_limit_names_the_step_from_its_answers() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    folder.open(&plan).unwrap();
    add(&folder, &plan, 1, 0, &Role::Control, 1.0);
    let answers = broken(&serde_json::json!({"limit": true}), &format!("{}\nstill at it\n", "x".repeat(5000)));
    with(&folder, &plan, 1, 0, &treatment("head"), Fate::Discarded(Discard::TimeLimit), &answers);
    let look = look(&plan, LookKind::Blocked(stats::Reason::TimeLimit), 1, 0);
    let judged = folder.judge(&look).unwrap();
    assert_eq!(sole(&judged), ("inconclusive", "TIME_LIMIT"));
    folder.seal(&ending(&plan, &look, &judged)).unwrap();
    assert!(verify(&moved(folder.storage()), &templates()).unwrap().is_fine());
    let comment = folder.comment(&plan.run).unwrap();
    let said = "In `head`: step merge reached its time limit; the last line of its output: `still at it`.";
    assert!(comment.contains(said), "{comment}");
}

#[test]
fn rounds_of_a_cancelled_run_are_counted() {
    let (folder, plan) = (folder(), plan(&["head"], &[5]));
    folder.open(&plan).unwrap();
    for round in 1..=2 {
        add(&folder, &plan, round, 0, &Role::Control, 1.0);
        add(&folder, &plan, round, 0, &treatment("head"), 1.0);
    }
    add(&folder, &plan, 3, 0, &Role::Control, 1.0);
    let how = How::Ended { how: EndedHow::Cancelled, why: Some("a request to terminate".to_owned()) };
    let (started, ended) = (Ms(START), Ms(START + 70_000));
    folder.seal(&Ending { run: plan.run.clone(), how, started, ended, replaced: 0, alive: vec![] }).unwrap();
    let comment = folder.comment(&plan.run).unwrap();
    let said = "Cancelled (a request to terminate); there is no verdict. 2 complete rounds are in the folder";
    assert!(comment.contains(said) && comment.contains("rounds 2 of at most 5"), "{comment}");
}

#[test]
fn the_line_that_repeats_a_run_asks_for_the_same() {
    let line = |treatments: &[&str]| {
        let (folder, plan) = (folder(), plan(treatments, &[5]));
        whole(&folder, &plan, 5, 1.0);
        folder.composed(&plan.run).unwrap().view.reproduce.remove(0)
    };
    let head = "--head bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    for (treatments, asked, with_head) in [(&["head"][..], 0, true), (&["fast", "slow"], 2, false)] {
        let line = line(treatments);
        let pairs =
            line.strip_prefix("zephyr-ab run suite.toml ").unwrap().split(' ').filter(|word| word.contains('='));
        let request = domain::request::Request::new("demo", pairs).unwrap().options().unwrap();
        assert_eq!(request.treatments.len(), asked, "{line}");
        assert_eq!(line.contains(head), with_head, "{line}");
        assert!(line.ends_with(" --repo <repository> --out .."), "{line}");
    }
}
