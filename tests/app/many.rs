//! Very many deliveries: some arrive twice, in another order, or never. Each command is one run.
//!
//! `ZEPHYR_AB_DELIVERIES` says how many comments, 2,000 if it is not set; 10,000 is what a busy organisation sends in a day.

use std::collections::BTreeMap;

use bot::service::inbox;
use domain::ports::Desk as _;
use sandbox::faults::Faults;

use super::harness::{App, MARKER, REPO};
use crate::generate::dice::Dice;
use crate::support::count;

/// One in so many comments is a command.
const ONE_IN: usize = 50;
/// Comments that are under way at once at most.
const BATCH: usize = 500;

const FAULTS: Faults = Faults {
    lost: 0.01,
    doubled: 0.2,
    reordered: 0.3,
    late: 0.05,
    late_ms: 200,
    refused: 0.0,
    forgotten: 0.0,
    cut: 0.0,
    cut_after: 0.0,
    primary: 0.0,
    secondary: 0.0,
    slow: 0.0,
    slow_ms: 0,
};

/// What else people write.
const TALK: [&str; 5] = [
    "Looks good to me.",
    "What does `/ab-test tiny` do?",
    "> /ab-test tiny\n\nNo, please.",
    "```\n/ab-test tiny\n```",
    "    /ab-test tiny",
];

#[test]
fn each_command_of_very_many_deliveries_is_one_run() {
    let comments = usize::try_from(count("ZEPHYR_AB_DELIVERIES", 2000)).expect("a number");
    let mut app = App::new(4);
    // Planning refuses at once: what is tested is what comes before it.
    app.local = false;
    app.configure("runs_at_once = 64\nsweep_every_s = 5\n[log]\nlevel = \"warn\"");
    app.start();
    app.until_swept();
    let mut dice = Dice::new(count("ZEPHYR_AB_SEED", 20_261_130));
    let commands = comments / ONE_IN;
    app.pull("topic", 4000);
    let open = |_| app.sandbox.pull(REPO, "topic", "main", "topic", "mona").expect("a pull request");
    let pulls: Vec<u64> = (0..commands).map(open).collect();

    app.sandbox.set_faults(FAULTS);
    let mut asked = BTreeMap::new();
    for turn in 0..comments {
        let number = *dice.pick(&pulls);
        if turn % ONE_IN == ONE_IN / 2 {
            let number = pulls[turn / ONE_IN];
            asked.insert(number, app.comment(number, "mona", "/ab-test tiny"));
        } else {
            let talk = app.comment(number, "hubot", dice.word(&TALK));
            if dice.chance(0.02) {
                // Whoever edits a comment asks for nothing.
                app.sandbox.edit_comment(talk, "hubot", "/ab-test tiny").expect("an edit");
            }
        }
        if turn % BATCH == BATCH - 1 {
            app.runtime().block_on(app.sandbox.quiesce());
        }
    }
    assert_eq!(asked.len(), commands);
    app.runtime().block_on(app.sandbox.quiesce());
    app.sandbox.set_faults(Faults::default());

    // What the app itself says is told of as well; the end of a run is its last word.
    let completed = || app.checks().iter().filter(|check| check.status == "completed").count();
    app.until("every run is over", || (completed() == commands).then_some(()));
    app.until("every comment", || pulls.iter().all(|number| app.verdict(*number).is_some()).then_some(()));
    let store = app.runtime().block_on(app.store());
    let (mut all, mut lost) = (BTreeMap::new(), 0);
    app.until("every delivery is known and handled", || {
        all = app.sandbox.deliveries().into_iter().map(|sent| (sent.guid.clone(), sent)).collect();
        all.retain(|_, sent| ["issue_comment", "pull_request"].contains(&sent.event.as_str()));
        lost = all.values().filter(|sent| sent.status_code == 0).count();
        let guids: Vec<String> = all.keys().cloned().collect();
        app.runtime().block_on(async {
            let known = store.known_deliveries(&guids).await.expect("deliveries");
            let counts = store.counts(inbox::HANDLER).await.expect("counts");
            (known.len() == all.len() && counts.open_deliveries == 0 && counts.unsaid == 0).then_some(())
        })
    });
    app.stop();

    let mut rows = 0;
    let repo = all.values().find_map(|sent| sent.repository).expect("a repository");
    for (number, comment) in &asked {
        let runs = app.runtime().block_on(store.runs(repo, *number)).expect("runs");
        let requests: Vec<&str> = runs.iter().map(|run| run.request.as_str()).collect();
        assert_eq!(requests, [format!("comment:{repo}:{comment}")], "pull request {number}");
        assert!(runs.iter().all(|run| !run.active && run.outcome.is_some()), "{runs:#?}");
        assert_eq!(app.ours(*number, MARKER).len(), 1, "pull request {number}");
        assert_eq!(app.reactions(*comment), ["eyes"], "pull request {number}");
        rows += runs.len();
    }
    assert_eq!(rows, commands);
    assert_eq!(app.checks().len(), commands);
    assert!(lost > 0, "nothing was lost");
    println!("{} deliveries, {lost} lost and found in the log, {commands} commands, {rows} runs", all.len());
    app.runtime().block_on(store.close());
    app.assert_lawful();
}
