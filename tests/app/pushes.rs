//! What pushes, closing, merging, retargeting do, through the whole program.

use super::harness::{App, MARKER, REPO};

impl App {
    /// A service that is not started yet; its suite says this of pushes.
    pub(super) fn pushed(rounds: u32, rerun: &str) -> Self {
        let mut app = Self::new(rounds);
        rerun.clone_into(&mut app.rerun);
        app.configure("");
        app.start();
        app
    }

    /// Somebody pushes a change that matters. Returns the new head.
    pub(super) fn push(&self, branch: &str, loops: u32) -> String {
        let step = self.step(loops) + &format!("# {branch} {loops}\n");
        self.sandbox.push(REPO, branch, &[("step.sh", Some(&step))], "more", "mona").expect("a push")
    }

    /// Somebody pushes words only. Returns the new head.
    pub(super) fn push_words(&self, branch: &str, words: &str) -> String {
        self.sandbox.push(REPO, branch, &[("README.md", Some(words))], "words", "mona").expect("a push")
    }

    /// How the runs of a pull request ended, in words; of a service that was stopped.
    pub(super) fn ends(&self, number: u64) -> Vec<String> {
        self.outcomes(number).into_iter().map(|(how, _)| how.unwrap_or_else(|| "goes on".to_owned())).collect()
    }
}

/// Pushes are measured at once.
pub(super) const QUICK: &str = "on_push = \"supersede\"\ndebounce = \"1s\"";

#[test]
fn a_push_supersedes_the_run_and_is_measured() {
    let mut app = App::pushed(4, QUICK);
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    let first = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    let steps = app.until("a step lives", || Some(app.living()).filter(|living| !living.is_empty()));
    let second = app.push("topic", 2);
    let comment = app.until_comment(number, &second[..7]);
    assert!(comment.contains(&format!("`{}` was pushed after `{}`", &second[..7], &first[..7])), "{comment}");
    // Its jobs are stopped, and the same request runs on the new head.
    app.until("the new head is measured", || {
        app.verdict(number).filter(|body| body.contains("round 1") && body.contains(&format!("head `{}", &second[..7])))
    });
    let living = app.living();
    assert!(steps.iter().all(|step| !living.contains(step)), "{living:#?}");
    app.hold_steps(false);
    let done = app.until_over(number);
    assert!(done.contains(&second[..12]), "{done}");
    assert_eq!(app.until_concluded(&first), "cancelled");
    app.until_concluded(&second);
    assert_eq!(app.ours(number, MARKER).len(), 1);
    app.assert_lawful();
    app.stop();
    let ends = app.ends(number);
    assert_eq!((ends.len(), ends[0].as_str()), (2, "superseded"), "{ends:?}");
}

#[test]
fn the_newest_of_several_pushes_is_measured() {
    let mut app = App::pushed(4, "on_push = \"supersede\"\ndebounce = \"3s\"");
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    let pushes: Vec<String> = (2..5).map(|loops| app.push("topic", loops)).collect();
    let newest = pushes.last().expect("a push");
    app.hold_steps(false);
    app.until("the newest is over", || {
        app.verdict(number).filter(|body| super::harness::is_over(body) && body.contains(&newest[..12]))
    });
    app.stop();
    assert_eq!(app.ends(number).len(), 2);
    for passed in &pushes[..2] {
        assert_eq!(app.checks_of(passed).len(), 0, "{passed}");
    }
}

#[test]
fn finish_reports_the_old_head_as_such() {
    let mut app = App::pushed(4, "on_push = \"finish\"\ndebounce = \"1s\"");
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    let first = app.head(number);
    app.comment(number, "mona", "/ab-test tiny preset=looked");
    app.until_heading(number, "round 1");
    app.until("a step lives", || Some(app.living()).filter(|living| !living.is_empty()));
    let second = app.push("topic", 2);
    let told = app.until_comment(number, "goes on to its end");
    assert!(told.contains(&format!("`{}` is measured", &second[..7])), "{told}");
    app.hold_steps(false);
    // The verdict of the old head is kept in the history of the new one.
    app.until("the new head is over", || {
        let body = app.verdict(number)?;
        (super::harness::is_over(&body) && body.contains(&second[..12]) && body.contains(&first[..7])).then_some(())
    });
    assert_ne!(app.until_concluded(&first), "cancelled");
    app.until_concluded(&second);
    app.stop();
    let ends = app.ends(number);
    assert_eq!(ends.len(), 2);
    assert_ne!(ends[0], "superseded");
}

#[test]
fn off_a_draft_and_a_switch_leave_the_verdict_stale() {
    let mut app = App::pushed(4, "on_push = \"off\"");
    let number = app.pull("topic", 1);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_over(number);
    let off = app.push("topic", 2);
    let told = app.until_comment(number, "Pushes start nothing in this suite");
    assert!(told.contains(&off[..7]) && told.contains("stale"), "{told}");
    // Somebody switches it on: the next push is measured. A reader may not.
    let denied = app.comment(number, "bob", "/ab-test tiny auto on");
    app.until_reaction(denied, "confused");
    let on = app.comment(number, "hubot", "/ab-test tiny auto on");
    app.until_reaction(on, "eyes");
    app.until_reply(number, "measured by themselves from now on");
    app.sandbox.set_draft(REPO, number, true, "mona").expect("a draft");
    app.push("topic", 3);
    app.until_comment(number, "draft");
    app.sandbox.set_draft(REPO, number, false, "mona").expect("no draft");
    let off = app.comment(number, "hubot", "/ab-test tiny auto off");
    app.until_reaction(off, "eyes");
    app.push("topic", 4);
    app.until_comment(number, "switched off here");
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(number).len(), 1);
}

#[test]
fn what_changes_nothing_is_carried_over() {
    let mut app = App::pushed(4, QUICK);
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    let first = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    // In the middle of the run: it goes on.
    let second = app.push_words("topic", "one");
    let told = app.until_comment(number, "stands for");
    assert!(told.contains(&format!("stands for `{}`", &second[..7])), "{told}");
    app.hold_steps(false);
    let done = app.until_over(number);
    assert!(!done.contains("stale") && done.contains("stands for"), "{done}");
    let conclusion = app.until_concluded(&first);
    assert_eq!(app.until_concluded(&second), conclusion);
    // After it, and by a rebase that changes no file that matters.
    let third = app.push_words("topic", "two");
    app.until_comment(number, &format!("stands for `{}`", &third[..7]));
    assert_eq!(app.until_concluded(&third), conclusion);
    app.stop();
    assert_eq!(app.ends(number).len(), 1);
}

#[test]
fn closed_merged_retargeted_reopened() {
    let mut app = App::pushed(4, QUICK);
    app.hold_steps(true);
    let numbers: Vec<u64> = ["closed", "merged", "other"].iter().map(|branch| app.pull(branch, 1)).collect();
    app.sandbox.commit(REPO, "release", &[("note", Some("x"))], "a release").expect("a commit");
    for (number, at) in numbers.iter().zip(["round 1", "queued", "queued"]) {
        app.comment(*number, "mona", "/ab-test tiny");
        app.until_heading(*number, at);
    }
    app.sandbox.close(REPO, numbers[0], "mona").expect("closed");
    app.until_heading(numbers[0], "cancelled");
    // Reopening starts nothing.
    app.sandbox.reopen(REPO, numbers[0], "mona").expect("open");
    // Merged, it goes on.
    app.until_heading(numbers[1], "round 1");
    app.sandbox.merge(REPO, numbers[1], "mona").expect("merged");
    let merged = app.until_comment(numbers[1], "was merged into");
    assert!(merged.contains("goes on"), "{merged}");
    app.hold_steps(false);
    app.sandbox.retarget(REPO, numbers[2], "release", "mona").expect("another base");
    app.until_over(numbers[1]);
    let over = app.until_over(numbers[2]);
    assert!(over.contains("stale") && over.contains("goes into `release` now"), "{over}");
    app.all_handled();
    app.until_heading(numbers[0], "cancelled");
    app.assert_lawful();
    app.stop();
    for number in numbers {
        assert_eq!(app.ends(number).len(), 1);
    }
}
