//! Ten pull requests at once on two places: who has spent least goes first, everybody knows how many go before, and nobody
//! spends more than they may.

use std::collections::BTreeMap;
use std::fs;

use bot::service::inbox;
use domain::ports::Desk as _;
use domain::ports::desk::RunRow;
use evidence::{Bundle, DiskStorage};

use super::harness::{App, REPO, is_over};

/// CPU hours that a trial is expected to take; it takes much less.
const EACH: &str = "0.01";
/// CPU milliseconds of a whole run: four rounds of two arms.
const PROMISED: u64 = 36_000 * 8;
/// Four runs of a person fit, and a fifth does not.
const LIMITS: &str = "
[limits]
per_person = { cpu_hours_per_day = 0.32 }
per_pull_request = { runs_per_day = 1 }
";
/// Who asks, in this order. The first two are there before the others.
const ASKS: [&str; 10] = ["mona", "mona", "mona", "mona", "mona", "hubot", "ana", "hubot", "ben", "hubot"];

fn service() -> App {
    let mut app = App::new(4);
    app.configure("runs_at_once = 2");
    let path = app.folder().join("suites/tiny.toml");
    let suite = fs::read_to_string(&path).expect("the suite");
    // Who is held back for a while is not stopped for that.
    let suite = suite.replace("10min", "3600s").replace("20min", "2h");
    let expect = format!("default = true\nexpect = {{ cpu_hours = {EACH}, wall = \"3s\" }}\n");
    fs::write(path, suite.replace("default = true\n", &expect) + LIMITS).expect("a suite");
    for login in ["ana", "ben"] {
        app.sandbox.grant(REPO, login, "write").expect("a right");
    }
    app.start();
    app
}

/// What goes on, as it should.
struct Model<'a> {
    app: &'a App,
    /// Who asked, by pull request.
    by: BTreeMap<u64, &'static str>,
    /// Those that run, the longest first.
    running: Vec<u64>,
    /// Those that wait.
    waiting: Vec<u64>,
    /// The run of each pull request, as it was made.
    rows: BTreeMap<u64, RunRow>,
    /// CPU milliseconds that finished runs have used, by person.
    used: BTreeMap<&'static str, u64>,
}

impl Model<'_> {
    /// Steps of the head of this pull request wait or go on.
    fn hold(&self, branch: &str, hold: bool) {
        let path = self.app.folder().join(format!("hold-{branch}"));
        if hold { fs::write(path, "") } else { fs::remove_file(path) }.expect("a file");
    }

    fn branch(index: usize) -> String {
        format!("topic-{index}")
    }

    /// A pull request whose steps wait for a file of their own.
    fn pull(&mut self, index: usize) -> u64 {
        let branch = Self::branch(index);
        self.hold(&branch, true);
        let step = self.app.step(2000).replace("/hold\n", &format!("/hold-{branch}\n"));
        self.app.sandbox.commit(REPO, &branch, &[("step.sh", Some(&step))], &branch).expect("a commit");
        let number = self.app.sandbox.pull(REPO, &branch, "main", &branch, "mona").expect("a pull request");
        self.by.insert(number, ASKS[index]);
        number
    }

    /// What somebody has spent this week, with what their running runs are expected to.
    fn spent(&self, who: &str) -> u64 {
        let running = self.running.iter().filter(|number| self.by[number] == who).count() as u64;
        self.used.get(who).copied().unwrap_or(0) + running * PROMISED
    }

    /// Those that wait, in the order in which they are to start.
    fn line(&self) -> Vec<u64> {
        let mut line = self.waiting.clone();
        line.sort_by_key(|number| {
            let row = &self.rows[number];
            (self.spent(self.by[number]), row.created, row.id.clone())
        });
        line
    }

    /// The runs that were made.
    fn read_rows(&mut self) {
        let repo = self.app.newest_repo();
        for number in self.by.keys() {
            let rows = self.app.read_store(async |store| store.runs(repo, *number).await.expect("runs"));
            assert_eq!(rows.len(), 1, "{rows:#?}");
            self.rows.extend(rows.into_iter().map(|row| (*number, row)));
        }
    }

    /// Every comment says what goes on.
    fn look(&self) {
        for (place, number) in self.line().into_iter().enumerate() {
            let before = self.running.len() + place;
            let others = if before == 1 { "other run" } else { "other runs" };
            let comment = self.app.until_comment(number, &format!("behind {before} {others}."));
            assert!(comment.contains("queued"), "{comment}");
        }
        for number in &self.running {
            self.app.until_heading(*number, "round 1");
        }
    }

    /// The run of this pull request has started.
    fn started(&mut self, number: u64) {
        self.app.until_heading(number, "round 1");
        self.waiting.retain(|other| *other != number);
        self.running.push(number);
    }

    /// The longest running one ends, and its evidence says what it has used.
    fn end_first(&mut self) {
        let number = self.running.remove(0);
        let index = self.by.keys().position(|other| *other == number).expect("a pull request");
        self.hold(&Self::branch(index), false);
        self.app.until_over(number);
        let run = &self.rows[&number].id;
        let storage = DiskStorage::new(self.app.folder().join("data/evidence").join(run.as_str()));
        let bundle = Bundle::read(&storage, "").expect("evidence");
        let trials = evidence::spent::cpu(&bundle);
        assert!(trials.iter().all(|trial| trial.whole), "{trials:#?}");
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few seconds
        let cpu: u64 = trials.iter().map(|trial| (trial.seconds.unwrap_or(0.0) * 1000.0).round() as u64).sum();
        assert!((1..PROMISED).contains(&cpu), "{cpu} ms");
        *self.used.entry(self.by[&number]).or_default() += cpu;
    }
}

#[test]
fn ten_pull_requests_at_once_on_two_places() {
    let app = service();
    let (running, waiting) = (Vec::new(), Vec::new());
    let (by, used, rows) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut model = Model { app: &app, by, running, waiting, rows, used };
    let pulls: Vec<u64> = (0..ASKS.len()).map(|index| model.pull(index)).collect();
    let ask = |index: usize| app.comment(pulls[index], ASKS[index], "/ab-test tiny");
    let mut asked: Vec<u64> = Vec::new();
    for (index, number) in pulls.iter().enumerate().take(2) {
        asked.push(ask(index));
        model.started(*number);
    }
    asked.extend((2..ASKS.len()).map(ask));

    // One of mona's is one too many: which one is a matter of whose plan was ready first.
    let refused = app.until("one is refused", || {
        let of = |number: &&u64| app.verdict(**number).is_some_and(|body| is_over(&body));
        pulls.iter().find(of).copied()
    });
    assert_eq!(model.by[&refused], "mona");
    let comment = app.verdict(refused).expect("a comment");
    for words in [
        "Over the budget: the person who asks may spend 0.32 CPU hours in 24 hours",
        "0.32 are spent or promised, and this would cost about 0.08",
        "enough is free again at 20",
    ] {
        assert!(comment.contains(words), "{words:?} in {comment}");
    }
    model.waiting = pulls[2..].iter().copied().filter(|number| *number != refused).collect();
    for number in &model.waiting {
        app.until_heading(*number, "queued");
    }
    model.read_rows();
    model.look();
    let mut order = Vec::new();
    while !model.waiting.is_empty() {
        model.end_first();
        // What the one that ended has used decides as well.
        let next = model.line()[0];
        model.started(next);
        model.look();
        order.push(model.by[&next]);
    }
    // Each of the others once, before anybody has a second one.
    let mut first: Vec<&str> = order[..3].to_vec();
    first.sort_unstable();
    assert_eq!(first, ["ana", "ben", "hubot"], "{order:?}");
    model.end_first();
    model.end_first();

    // Of a budget of runs nothing is left, whatever they used.
    app.comment(pulls[0], "hubot", "/ab-test tiny");
    app.until_reply(pulls[0], "over the budget: this pull request may have 1 run in 24 hours, and had 1");
    // Who was refused was promised nothing; by now it is known what such a run costs.
    let index = pulls.iter().position(|number| *number == refused).expect("a pull request");
    model.hold(&Model::branch(index), false);
    asked.push(app.comment(refused, "ana", "/ab-test tiny"));
    let learnt = app
        .until("a verdict", || app.verdict(refused).filter(|body| is_over(body) && !body.contains("Over the budget")));
    assert!(learnt.contains("(learnt from 9 runs)"), "{learnt}");

    let store = app.runtime().block_on(app.store());
    app.until("everything is said", || {
        let counts = app.runtime().block_on(store.counts(inbox::HANDLER)).expect("counts");
        ((counts.open_deliveries, counts.unsaid, counts.active_runs) == (0, 0, 0)).then_some(())
    });
    let repo = app.newest_repo();
    for number in &pulls {
        let runs = app.runtime().block_on(store.runs(repo, *number)).expect("runs");
        assert_eq!(runs.len(), 1 + usize::from([pulls[0], refused].contains(number)), "{runs:#?}");
        assert!(runs.iter().all(|run| run.outcome.is_some()), "{runs:#?}");
    }
    for comment in &asked {
        assert_eq!(app.reactions(*comment).first().map(String::as_str), Some("eyes"), "comment {comment}");
    }
    app.runtime().block_on(store.close());
    app.assert_lawful();
}
