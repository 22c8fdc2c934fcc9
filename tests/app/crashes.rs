//! A crash at every write of a run: before it is done, and after it is done and before anybody hears of it. Whatever the
//! point is, the next process ends the run, says one thing once, and loses nothing.
//!
//! All points with `ZEPHYR_AB_POINTS=all`, or every so many-th of them with a number.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bot::service::inbox;
use bot::service::labs::Labs;
use domain::ports::Desk as _;
use domain::ports::desk::Delivery;
use domain::time::Ms;
use evidence::{DiskStorage, Templates};
use sandbox::clock::{Clock as _, Hand};

use super::crashing::{Crashing, Mode, Point, is_claim};
use super::harness::{App, MARKER, REPO, is_over, now_ms, until_nothing_lives};
use super::inside::{ByHand, Ended, Place};
use super::replaying::{Launches, Replaying, Tape, fates};

/// Every so many-th point where not all of them are tried.
const STRIDE: usize = 16;
/// Writes between which a trial lives from its submission to its fate, whatever else is written meanwhile.
const TRIAL: usize = 18;

/// A sandbox, and a clock for everybody in it.
struct World {
    app: App,
    clock: Arc<Hand>,
}

/// A pull request with a command, and a place for the service that handles it.
struct Case {
    place: Place,
    number: u64,
    comment: u64,
    delivery: Delivery,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(Hand::at(now_ms()));
        let of_sandbox = Arc::clone(&clock);
        let app = App::at(4, Arc::new(move || of_sandbox.now_ms()));
        Self { app, clock }
    }

    fn case(&self, name: &str, idle: (Duration, u64)) -> Case {
        let app = &self.app;
        let number = app.pull(name, 4000);
        let comment = app.comment(number, "mona", "/ab-test tiny");
        let is_it = |one: &sandbox::model::Delivery| {
            one.event == "issue_comment" && one.payload["comment"]["id"].as_u64() == Some(comment)
        };
        let sent = app.sandbox.deliveries().into_iter().find(is_it).expect("a delivery");
        let delivery = Delivery {
            guid: sent.guid,
            event: sent.event,
            headers: "{}".to_owned(),
            payload: sent.payload.to_string(),
            received: Ms(self.clock.now_ms()),
        };
        let pull = format!("pull:{}:{number}", sent.repository.expect("a repository"));
        let (file, folder) = (app.folder().join("zephyr-ab.toml"), app.folder().join(name));
        let place = Place::new(&file, folder, pull, ByHand(Arc::clone(&self.clock)), idle);
        Case { place, number, comment, delivery }
    }

    /// Goes on after a crash, and looks at what came of it. Returns the second line of the comment.
    fn look(&self, case: &Case, what: &str) -> (String, PathBuf) {
        let app = &self.app;
        let body = app.verdict(case.number).unwrap_or_else(|| panic!("{what}: no comment"));
        assert!(is_over(&body), "{what}: {body}");
        assert_eq!(app.ours(case.number, MARKER).len(), 1, "{what}");
        assert_eq!(app.reply(case.number), None, "{what}");
        let reactions = app.reactions(case.comment);
        let distinct: BTreeSet<&str> = reactions.iter().map(String::as_str).collect();
        assert_eq!((reactions.len(), distinct), (2, BTreeSet::from(["eyes", "rocket"])), "{what}");
        let head = app.sandbox.look(REPO, case.number).expect("an issue").pull.expect("a pull request").head_sha;
        let checks: Vec<_> = app.checks().into_iter().filter(|check| check.head_sha == head).collect();
        assert_eq!(checks.len(), 1, "{what}: {checks:#?}");
        assert_eq!(checks[0].status, "completed", "{what}: {checks:#?}");
        let folder = self.app.runtime().block_on(self.stored(case, what));
        let all = fates(&folder);
        let names: BTreeSet<String> = all.iter().map(|fate| fate.name.to_string()).collect();
        assert_eq!(names.len(), all.len(), "{what}: a trial has two fates");
        let verified = evidence::verify(&DiskStorage::new(&folder), &Templates::built_in().expect("templates"));
        let verified = verified.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(verified.is_fine(), "{what}: {:#?}", verified.problems);
        until_nothing_lives(&case.place.folder);
        (body.lines().nth(1).unwrap_or_default().to_owned(), folder)
    }

    /// Looks at what is written down. Returns the folder of the one run.
    async fn stored(&self, case: &Case, what: &str) -> PathBuf {
        let store = case.place.store().await;
        let counts = store.counts(inbox::HANDLER).await.expect("counts");
        assert_eq!((counts.open_deliveries, counts.unsaid, counts.active_runs), (0, 0, 0), "{what}");
        let repo = case.place.pull.split(':').nth(1).and_then(|id| id.parse().ok()).expect("a repository");
        let runs = store.runs(repo, case.number).await.expect("runs");
        assert_eq!(runs.len(), 1, "{what}: {runs:#?}");
        assert!(runs[0].outcome.is_some() && runs[0].ended.is_some(), "{what}: {runs:#?}");
        store.close().await;
        let evidence = case.place.evidence();
        let all: Vec<String> = names_in(&evidence);
        assert_eq!(all, [runs[0].id.to_string()], "{what}: folders of evidence");
        evidence.join(runs[0].id.as_str())
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder).expect("a folder").flatten();
    all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn real(place: &Place, desk: &Crashing) -> Labs<Crashing> {
    Labs::new(place.shared().clone(), desk.clone())
}

/// With trials of this machine: time goes on while they run.
const REAL: (Duration, u64) = (Duration::from_millis(10), 100);
/// With trials that are over at once.
const REPLAYED: (Duration, u64) = (Duration::ZERO, 1000);

/// The points that are tried of a run that writes so often: every so many-th, and all of the whole life of a trial.
fn points(writes: &[&'static str], stride: usize) -> Vec<Point> {
    let all = (1..=writes.len()).flat_map(|n| [(n, Mode::Before), (n, Mode::After)]);
    // What is claimed is known when it is done: the write before it is the same point.
    let all = all.filter(|(n, mode)| *mode == Mode::After || !is_claim(writes[n - 1]));
    let middle = writes.len() / 2;
    let trial = |(n, mode): &Point| *mode == Mode::After && (middle..middle + TRIAL).contains(n);
    all.enumerate().filter(|(i, point)| i % stride == 0 || trial(point)).map(|(_, point)| point).collect()
}

#[test]
fn a_crash_at_any_write_loses_nothing_and_repeats_nothing_that_shows() {
    let stride = match std::env::var("ZEPHYR_AB_POINTS").as_deref() {
        Ok("all") => 1,
        Ok(number) => number.parse().expect("all, or a whole number"),
        Err(_) => STRIDE,
    };
    let world = World::new();
    let run = |case: &Case, delivery: Option<&Delivery>, launches: &Launches, tape: &Arc<Tape>, at: Option<Point>| {
        let lab = |_: &Place, _: &Crashing| Replaying::new(tape, launches);
        world.app.runtime().block_on(case.place.process(delivery, lab, at))
    };

    // What trials of this machine answer, once; the others answer the same.
    let first = world.case("real", REAL);
    let whole = world.app.runtime().block_on(first.place.process(Some(&first.delivery), real, None));
    assert_eq!(whole.0, Ended::Done);
    let (heading, folder) = world.look(&first, "trials of this machine");
    println!("without a crash: {heading}");
    let tape = Arc::new(Tape::of(&folder));

    let (case, launches) = (world.case("whole", REPLAYED), Launches::default());
    let (ended, writes) = run(&case, Some(&case.delivery), &launches, &tape, None);
    assert_eq!(ended, Ended::Done);
    let (replayed, _) = world.look(&case, "no crash");
    assert_eq!(heading, replayed, "what is replayed is judged as it was");

    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let points = points(&writes, stride);
    for (n, mode) in &points {
        let what = format!("write {n} of {} ({}), {mode:?}", writes.len(), writes[n - 1]);
        let (case, launches) = (world.case(&format!("{n}-{mode:?}"), REPLAYED), Launches::default());
        let (ended, before) = run(&case, Some(&case.delivery), &launches, &tape, Some((*n, *mode)));
        assert_eq!((ended, before.as_slice()), (Ended::Crashed, &writes[..*n]), "{what}: another run");
        // What was not acknowledged is sent again.
        let again = (writes[n - 1] == "receive" || !before.contains(&"receive")).then_some(&case.delivery);
        let (ended, _) = run(&case, again, &launches, &tape, None);
        assert_eq!(ended, Ended::Done, "{what}");
        let (heading, folder) = world.look(&case, &what);
        let launched = launches.lock().expect("launches").clone();
        let twice: Vec<_> = launched.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "{what}: started twice: {twice:?}");
        let fates: BTreeSet<String> = fates(&folder).iter().map(|fate| fate.name.to_string()).collect();
        let lost: Vec<_> = launched.keys().filter(|name| !fates.contains(&name.to_string())).collect();
        assert!(lost.is_empty(), "{what}: without a fate: {lost:?}");
        *ends.entry(heading).or_default() += 1;
    }
    world.app.assert_lawful();
    let tried: Vec<String> = points.iter().map(|(n, mode)| format!("{n} {mode:?}")).collect();
    println!("{} writes, {} points: {}\n{ends:#?}", writes.len(), tried.len(), tried.join(", "));
}

/// The same with trials of this machine, which die with their process.
#[test]
fn trials_of_this_machine_die_with_their_process_and_their_round_is_measured_anew() {
    let world = World::new();
    let process = |case: &Case, delivery: Option<&Delivery>, at: Option<Point>| {
        world.app.runtime().block_on(case.place.process(delivery, real, at))
    };
    let whole = world.case("whole", REAL);
    let (ended, writes) = process(&whole, Some(&whole.delivery), None);
    assert_eq!(ended, Ended::Done);
    world.look(&whole, "no crash");
    for (part, mode) in [(3, Mode::After), (5, Mode::Before), (6, Mode::After)] {
        // How often a trial is asked for depends on the machine: the point is reached, but may be another one.
        let n = writes.len() * part / 8;
        let case = world.case(&format!("{n}-{mode:?}"), REAL);
        let (ended, before) = process(&case, Some(&case.delivery), Some((n, mode)));
        let what = format!("write {n} of about {} ({:?}), {mode:?}", writes.len(), before.last());
        assert_eq!(ended, Ended::Crashed, "{what}");
        assert_eq!(process(&case, None, None).0, Ended::Done, "{what}");
        let (heading, folder) = world.look(&case, &what);
        println!("{what}: {heading}, {} trials", fates(&folder).len());
    }
    world.app.assert_lawful();
}
