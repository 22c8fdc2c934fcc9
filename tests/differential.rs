//! Thousands of generated cases through the reference and through ours: the same refusals, verdicts, reasons, rows,
//! directions, flags, notes and table, and every number to 1e-9.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::generate;
use crate::reference::{Compared, Reference, difference, minimise, python};
use crate::support::count;

/// Reason codes that a run of at least 3,000 cases reaches.
const REACHED: usize = 50;

#[derive(Default)]
struct Tally {
    reasons: BTreeMap<String, u64>,
    refused: u64,
    crashed: BTreeMap<String, u64>,
    failures: Vec<(u64, String)>,
}

fn compare(python: &PathBuf, next: &AtomicU64, last: u64, tally: &Mutex<Tally>) {
    let mut reference = Reference::start(python);
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= last || tally.lock().expect("not poisoned").failures.len() >= 5 {
            return;
        }
        let case = generate::case(seed);
        let came = difference(&mut reference, &case.to_string());
        if let Compared::Different(found) = &came {
            let small = minimise(&mut reference, &case);
            let now = match difference(&mut reference, &small.to_string()) {
                Compared::Different(found) => found.to_string(),
                _ => "gone on repetition".to_owned(),
            };
            let path = std::env::temp_dir().join(format!("zephyr-ab-differs-{seed}.json"));
            std::fs::write(&path, small.to_string()).expect("a temporary file");
            let message = format!("seed {seed}: {found}\nsmaller: {now}\n{small}\nin {}", path.display());
            tally.lock().expect("not poisoned").failures.push((seed, message));
            continue;
        }
        let mut tally = tally.lock().expect("not poisoned");
        match came {
            Compared::Same(reasons) if reasons.is_empty() => tally.refused += 1,
            Compared::Same(reasons) => {
                for reason in reasons {
                    *tally.reasons.entry(reason).or_default() += 1;
                }
            }
            Compared::Crashed(message) => *tally.crashed.entry(message).or_default() += 1,
            Compared::Different(_) => {}
        }
    }
}

#[test]
fn ours_agrees_with_the_reference() {
    let Some(python) = python() else { return };
    let cases = count("ZEPHYR_AB_DIFF_CASES", 3_000);
    let first = count("ZEPHYR_AB_DIFF_SEED", 1);
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| compare(&python, &next, first + cases, &tally));
        }
    });
    let tally = tally.into_inner().expect("not poisoned");
    println!("{cases} cases from seed {first}: {} refused by both", tally.refused);
    for (reason, times) in &tally.reasons {
        println!("{times:8} {reason}");
    }
    let absent: Vec<&str> =
        stats::Reason::ALL.iter().map(|r| r.code()).filter(|code| !tally.reasons.contains_key(*code)).collect();
    println!("{} of {} reasons; not reached: {absent:?}", tally.reasons.len(), stats::Reason::ALL.len());
    println!("no answer of the reference, skipped: {:?}", tally.crashed);
    let failures: Vec<&String> = tally.failures.iter().map(|(_, message)| message).collect();
    assert!(failures.is_empty(), "{}", failures.into_iter().cloned().collect::<Vec<_>>().join("\n\n"));
    let crashed: u64 = tally.crashed.values().sum();
    assert!(crashed * 50 <= cases, "{crashed} of {cases} cases are beyond the reference");
    assert!(cases < 3_000 || tally.reasons.len() >= REACHED, "{absent:?}");
}
