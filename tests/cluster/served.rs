//! A command on a pull request, measured on the real servers.

use std::fs;

use super::proxy::Fault;
use super::rig::Rig;
use crate::app::harness::{App, is_over};

const REPO: &str = "octo/bench";
const MARKER: &str = "<!-- zephyr-ab-test:rig -->";

/// The launch's answer is lost, and the service is killed while the job runs: it is found again, and not launched twice.
pub(super) fn on_a_pull_request(rig: &Rig) {
    let mut app = App::empty(1);
    app.sandbox.repository(REPO).expect("a repository");
    app.sandbox.grant(REPO, "mona", "write").expect("a right");
    let bare = app.sandbox.folder(REPO).expect("a folder");
    let bare = bare.to_str().expect("UTF-8");
    rig.repository.git(&["push", "--quiet", bare, "main:main", "pr:topic"]);
    app.sandbox.install("octo", &[REPO]).expect("an installation");
    let number = app.sandbox.pull(REPO, "topic", "main", "MinHash twice", "mona").expect("a pull request");
    let clusters = fs::read_to_string(rig.world.path("cluster.toml")).expect("a file");
    app.configuration("rig", &clusters);
    let before = rig.proxy.launched().len();
    rig.proxy.fail("LaunchJob", Fault::Broken);
    app.start();
    app.sandbox.comment(REPO, number, "mona", "/ab-test rig preset=small rounds=1").expect("a comment");
    let body = |app: &App| {
        let all = app.sandbox.comments(REPO, number);
        let mut ours: Vec<String> = all
            .into_iter()
            .filter(|comment| comment.via_app && comment.body.lines().next() == Some(MARKER))
            .map(|comment| comment.body)
            .collect();
        assert!(ours.len() <= 1, "{ours:#?}");
        ours.pop()
    };
    app.until("the first job is launched", || (rig.proxy.launched().len() > before).then_some(()));
    app.until("the comment tells of the round", || body(&app).filter(|body| body.contains("round 1 of at most 1")));
    app.kill();
    app.start();
    let done = app.until("the run is over", || body(&app).filter(|body| is_over(body)));
    assert_eq!(rig.proxy.launched().len() - before, 2, "{done}");
    assert!(done.contains("`minhash · stage0-Map → Write`") || done.contains("minhash"), "{done}");
    let check = app.until("the check ends", || app.checks().pop().filter(|check| check.status == "completed"));
    assert_eq!((check.name.as_str(), app.checks().len()), ("zephyr-ab / rig", 1));
    let run = check.external_id;
    let left = rig.jobs(&format!("/{}/zab-{run}", super::rig::USER));
    let live = |state: &str| ["JOB_STATE_RUNNING", "JOB_STATE_PENDING", "JOB_STATE_BUILDING"].contains(&state);
    assert!(!left.is_empty() && left.iter().all(|(_, state)| !live(state)), "{left:?}");
    let place = super::judged::Place { repo: REPO, number, marker: MARKER, run: &run };
    super::judged::by_name(rig, &mut app, &place, &done);
    app.assert_lawful();
    app.stop();
}
