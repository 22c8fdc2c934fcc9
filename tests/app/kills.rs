//! The service is killed again and again while GitHub misbehaves. In the end every command has its one answer.
//!
//! `ZEPHYR_AB_KILLS` says how often, `ZEPHYR_AB_SEED` when and what goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bot::service::inbox;
use domain::ports::{Desk as _, Store as _};
use sandbox::faults::{Fault, Faults, Rule};

use super::harness::{App, MARKER, REPO, is_over, living, pause, until_nothing_lives};
use super::replaying::fates;
use crate::generate::dice::Dice;
use crate::support::count;

/// Pull requests, each with one command.
const PULLS: usize = 6;
/// How long most services live at most before they are killed, once they answer.
const SHORT: Duration = Duration::from_millis(800);
/// How long the others live at most: a run may come to its end.
const LONG: Duration = Duration::from_secs(6);

/// What goes wrong by chance.
const FAULTS: Faults = Faults {
    lost: 0.15,
    doubled: 0.2,
    reordered: 0.2,
    late: 0.1,
    late_ms: 300,
    refused: 0.02,
    forgotten: 0.03,
    cut: 0.02,
    cut_after: 0.03,
    primary: 0.0,
    secondary: 0.02,
    slow: 0.05,
    slow_ms: 100,
};

/// A pull request and the comment with its command.
struct Asked {
    number: u64,
    comment: u64,
}

fn ask(app: &App, turn: usize) -> Asked {
    let number = app.pull(&format!("topic-{turn}"), 4000);
    Asked { number, comment: app.comment(number, "mona", "/ab-test tiny") }
}

/// Whether everything is said about a pull request.
fn is_answered(app: &App, asked: &Asked) -> bool {
    let head = app.sandbox.look(REPO, asked.number).expect("an issue").pull.expect("a pull request").head_sha;
    let mut checks = app.checks().into_iter().filter(|check| check.head_sha == head);
    app.verdict(asked.number).is_some_and(|body| is_over(&body)) && checks.any(|check| check.status == "completed")
}

/// What is written down: nothing is open, and each pull request has one run. Returns the outcomes.
async fn stored(app: &App, asked: &[Asked]) -> Vec<(String, String)> {
    let store = app.store().await;
    let counts = store.counts(inbox::HANDLER).await.expect("counts");
    assert_eq!((counts.open_deliveries, counts.unsaid, counts.active_runs), (0, 0, 0));
    let repo = app.sandbox.deliveries().iter().find_map(|delivery| delivery.repository).expect("a repository");
    let mut found = Vec::new();
    for asked in asked {
        let runs = store.runs(repo, asked.number).await.expect("runs");
        assert_eq!(runs.len(), 1, "pull request {}: {runs:#?}", asked.number);
        let open = store.effects(&format!("pull:{repo}:{}", asked.number)).await.expect("effects");
        assert!(open.is_empty(), "pull request {}: {open:#?}", asked.number);
        found.extend(runs.into_iter().map(|run| (run.id.to_string(), run.outcome.unwrap_or_default())));
    }
    store.close().await;
    found
}

fn verify(folder: &Path) {
    let command = Command::new(env!("CARGO_BIN_EXE_zephyr-ab")).args(["evidence", "verify"]).arg(folder).output();
    let output = command.expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", folder.display());
}

#[test]
fn a_service_that_is_killed_again_and_again_answers_every_command_once() {
    let (kills, seed) = (count("ZEPHYR_AB_KILLS", 50), count("ZEPHYR_AB_SEED", 20_261_130));
    println!("{kills} kills, seed {seed}");
    let kills = usize::try_from(kills).expect("a number");
    let mut dice = Dice::new(seed);
    let mut app = App::new(4);
    app.configure("runs_at_once = 2\nsweep_every_s = 5");
    app.start();
    app.until_swept();
    app.sandbox.set_faults(FAULTS);
    // The first command's delivery and the first writes of the app meet a fault for certain.
    app.sandbox.add_rule(Rule::next("POST", "*/comments", Fault::CutAfter));
    app.sandbox.add_rule(Rule::next("POST", "*/check-runs", Fault::Forgotten(502)));

    let mut asked = Vec::new();
    for kill in 0..kills {
        // The commands come while half of the kills do.
        while asked.len() < PULLS && asked.len() * kills <= kill * PULLS * 2 {
            asked.push(ask(&app, asked.len()));
        }
        let longest = if dice.chance(0.2) { LONG } else { SHORT };
        pause(longest.mul_f64(dice.unit()));
        app.kill();
        app.start();
    }
    assert_eq!(asked.len(), PULLS);
    app.sandbox.set_faults(Faults::default());
    app.sandbox.clear_rules();
    app.until("every command is answered", || asked.iter().all(|asked| is_answered(&app, asked)).then_some(()));
    app.until("every reaction", || asked.iter().all(|asked| app.reactions(asked.comment).len() == 2).then_some(()));
    // Who lives is seen: what is not seen afterwards is gone.
    let own = format!("/proc/{}:", app.pid());
    assert!(living(app.folder()).iter().any(|process| process.starts_with(&own)));
    app.stop();
    until_nothing_lives(app.folder());

    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for asked in &asked {
        assert_eq!(app.ours(asked.number, MARKER).len(), 1, "pull request {}", asked.number);
        assert_eq!(app.reply(asked.number), None);
        let body = app.verdict(asked.number).unwrap_or_default();
        *ends.entry(body.lines().nth(1).unwrap_or_default().to_owned()).or_default() += 1;
    }
    let runs = app.runtime().block_on(stored(&app, &asked));
    let mut trials = 0;
    for (run, outcome) in &runs {
        let folder = app.folder().join("data/evidence").join(run);
        assert!(folder.is_dir(), "run {run} is {outcome} and has no evidence");
        verify(&folder);
        let fates = fates(&folder);
        let names: BTreeSet<String> = fates.iter().map(|fate| fate.name.to_string()).collect();
        assert_eq!(names.len(), fates.len(), "run {run}: a trial has two fates");
        trials += fates.len();
    }
    let sent = app.sandbox.deliveries();
    let lost = sent.iter().filter(|one| one.event == "issue_comment" && !(200..300).contains(&one.status_code)).count();
    println!(
        "{PULLS} runs, {trials} trials, {} requests, {} deliveries, {lost} of comments lost\n{ends:#?}",
        app.sandbox.requests().len(),
        sent.len()
    );
    app.assert_lawful();
}
