//! Commands and pushes on a pull request, measured on the real servers.

use std::collections::BTreeSet;
use std::fs;

use super::lines;
use super::proxy::Fault;
use super::rig::{Rig, USER};
use crate::app::harness::{App, is_over};

const REPO: &str = "octo/bench";
const MARKER: &str = "<!-- zephyr-ab-test:rig -->";

/// The verdict comment; one at most.
fn body(app: &App, number: u64) -> Option<String> {
    let all = app.sandbox.comments(REPO, number);
    let of = |comment: &sandbox::model::Comment| comment.via_app && comment.body.lines().next() == Some(MARKER);
    let mut ours: Vec<String> = all.into_iter().filter(of).map(|comment| comment.body).collect();
    assert!(ours.len() <= 1, "{ours:#?}");
    ours.pop()
}

/// The one check of a commit, once it has ended.
fn ended_check(app: &App, head: &str) -> Option<sandbox::model::Check> {
    let mut checks = app.checks_of(head);
    assert!(checks.len() <= 1, "{checks:#?}");
    checks.pop().filter(|check| check.status == "completed")
}

/// The launch's answer is lost, and the service is killed while the job runs: it is found again, and not launched twice. A
/// push stops it, and the new head is measured; a push while more than half of that is done lets it come to its verdict. All of it in
/// one comment.
pub(super) fn on_a_pull_request(rig: &Rig) {
    let mut app = App::empty(1);
    app.sandbox.repository(REPO).expect("a repository");
    app.sandbox.grant(REPO, "mona", "write").expect("a right");
    let folder = app.sandbox.folder(REPO).expect("a folder");
    let bare = folder.to_str().expect("UTF-8").to_owned();
    let foreign = lines::older_branch(rig);
    rig.branch("third", "pr", |text| text + "\n# Once more.\n");
    rig.repository.git(&["push", "--quiet", &bare, "main:main", "pr:topic"]);
    app.sandbox.install("octo", &[REPO]).expect("an installation");
    let number = app.sandbox.pull(REPO, "topic", "main", "MinHash twice", "mona").expect("a pull request");
    let head =
        |app: &App| app.sandbox.look(REPO, number).expect("a pull request").pull.expect("a pull request").head_sha;
    let push = |app: &App, branch: &str| {
        rig.repository.git(&["push", "--quiet", "--force", &bare, &format!("{branch}:topic")]);
        app.sandbox.pushed(REPO, "mona").expect("a push");
        head(app)
    };
    let clusters = fs::read_to_string(rig.world.path("cluster.toml")).expect("a file");
    app.configuration("rig", &clusters);
    let before = rig.proxy.launched();
    let new = || rig.proxy.launched().difference(&before).cloned().collect::<BTreeSet<String>>();
    rig.proxy.fail("LaunchJob", Fault::Broken);
    app.start();
    let first = head(&app);
    app.sandbox.comment(REPO, number, "mona", "/ab-test rig preset=small rounds=1 harness=head").expect("a comment");
    app.until("the first job is launched", || (!new().is_empty()).then_some(()));
    app.until("the comment tells of the round", || {
        body(&app, number).filter(|body| body.contains("round 1 of at most 1"))
    });
    app.kill();
    app.start();

    // Nothing is measured yet: a push begins anew, and the job of the old head is stopped.
    let second = push(&app, "older");
    let launched = app.until("both jobs of the new head", || Some(new()).filter(|new| new.len() == 3));
    let check = app.until("the check of the old head", || ended_check(&app, &first));
    assert_eq!(check.conclusion.as_deref(), Some("cancelled"));
    let left = rig.jobs(&format!("/{USER}/zab-{}", check.external_id));
    let live = |state: &str| ["JOB_STATE_RUNNING", "JOB_STATE_PENDING", "JOB_STATE_BUILDING"].contains(&state);
    assert!(!left.is_empty() && left.iter().all(|(_, state)| !live(state)), "{left:?}");

    // The control is measured and the treatment runs: another push lets it finish.
    let treatment = launched.iter().find(|job| job.ends_with("-2")).expect("a treatment");
    app.until("the treatment at work", || {
        let sql = format!(r#"SELECT execution_id FROM "zephyr.execution" WHERE root_job_id = '{treatment}'"#);
        (!rig.query(&sql).rows.is_empty()).then_some(())
    });
    let third = push(&app, "third");
    let told = app.until("it goes on", || body(&app, number).filter(|body| body.contains("goes on to its end")));
    assert!(told.contains(&third[..7]) && told.contains(&second[..7]), "{told}");
    let check = app.until("the check of the second head", || ended_check(&app, &second));
    assert!(["neutral", "success", "failure"].contains(&check.conclusion.as_deref().unwrap_or_default()), "{check:?}");
    let run = &check.external_id;
    assert!(launched.iter().filter(|job| job.contains(run.as_str())).count() == 2, "{launched:?}");
    lines::of_several_generations(&rig.read(&app.folder().join("data/evidence").join(run)), &foreign);

    // The third head is measured next; its first job is enough here.
    app.until("a job of the third head", || (new().len() == 4).then_some(()));
    let cancel = app.sandbox.comment(REPO, number, "mona", "/ab-test rig cancel").expect("a comment");
    app.until_reaction(cancel, "eyes");
    let over =
        app.until("it is cancelled", || body(&app, number).filter(|body| is_over(body) && body.contains("cancelled")));
    // The verdict before it is not lost.
    assert!(over.contains(&second[..7]), "{over}");
    app.until("the check of the third head", || ended_check(&app, &third));
    let left = rig.jobs(&format!("/{USER}/zab-"));
    assert!(left.iter().all(|(_, state)| !live(state)), "{left:?}");

    // Jobs that had run before, named on the pull request whose head they are of.
    rig.repository.git(&["push", "--quiet", &bare, "trapped:named"]);
    let number = app.sandbox.pull(REPO, "named", "main", "MinHash twice, named", "mona").expect("a pull request");
    let named = app.sandbox.look(REPO, number).expect("a pull request").pull.expect("a pull request").head_sha;
    let place = super::judged::Place { repo: REPO, number, marker: MARKER, head: &named };
    super::judged::by_name(rig, &mut app, &place);
    app.assert_lawful();
    app.stop();
}
