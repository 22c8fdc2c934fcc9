//! Jobs of a run, named on its pull request: judged again, and nothing launched for it.

use super::proxy::Fault;
use super::rig::{Rig, USER};
use crate::app::harness::App;

/// What a check ended with: its conclusion and its title.
type Ended = (String, String);

/// The pull request that the jobs are named on, and its run, which they are of.
pub(super) struct Place<'a> {
    pub(super) repo: &'a str,
    pub(super) number: u64,
    pub(super) marker: &'a str,
    pub(super) run: &'a str,
}

impl Place<'_> {
    fn job(&self, place: u32) -> String {
        format!("/{USER}/zab-{}-r1.0-{place}", self.run)
    }

    fn says(&self, app: &App, text: &str) -> String {
        let verdict = || {
            let all = app.sandbox.comments(self.repo, self.number).into_iter();
            let ours = all.filter(|comment| comment.body.lines().next() == Some(self.marker));
            ours.map(|comment| comment.body).find(|body| body.contains(text))
        };
        app.until(text, verdict)
    }

    fn ask(&self, app: &App, control: &str, treatment: &str) {
        let line = format!("/ab-test rig compare control={control} treatment=head@{treatment}");
        app.sandbox.comment(self.repo, self.number, "mona", &line).expect("a comment");
    }

    /// How the check of the comparison ends that is the `nth` on this pull request, its run's being the first.
    fn ends(&self, app: &App, nth: usize) -> Ended {
        let check = app.until("the check of the comparison ends", || {
            let mut checks = app.checks();
            assert!(checks.len() <= nth, "{checks:#?}");
            if checks.len() < nth { None } else { checks.pop() }.filter(|check| check.status == "completed")
        });
        assert_ne!(check.external_id, self.run);
        (check.conclusion.unwrap_or_default(), check.output["title"].clone())
    }
}

/// What a comment is about to say first.
fn heading(body: &str) -> &str {
    body.lines().find(|line| line.starts_with('#')).unwrap_or_default()
}

/// The service is killed while it asks for the jobs; the next one knows whose they are. `done` is the comment of the run.
pub(super) fn by_name(rig: &Rig, app: &mut App, place: &Place<'_>, done: &str) {
    let stopped = || rig.proxy.calls().iter().filter(|call| call.method == "TerminateJob").count();
    let (launched, before_stopped) = (rig.proxy.launched(), stopped());
    let (control, treatment) = (place.job(1), place.job(2));
    let asked = || rig.proxy.calls().iter().filter(|call| call.method == "GetJobState").count();
    let before = asked();
    // More than are asked before the service is killed.
    (0..1000).for_each(|_| rig.proxy.fail("GetJobState", Fault::Unavailable));
    place.ask(app, &control, &treatment);
    app.until("the jobs are asked for", || (asked() > before).then_some(()));
    app.kill();
    rig.proxy.heal();
    app.start();
    let (conclusion, title) = place.ends(app, 2);
    let body = place.says(app, "Existing jobs are compared here, and nothing was launched.");
    assert!(
        body.contains("They say that they were made of the merge base and the head of this pull request."),
        "{body}"
    );
    assert!(body.contains("nothing was launched: whether they ran side by side"), "{body}");
    assert_eq!(heading(&body), heading(done), "the same jobs come to the same");
    let first = app.checks().into_iter().find(|check| check.external_id == place.run).expect("the check of the run");
    assert_eq!((first.conclusion, &first.output["title"]), (Some(conclusion), &title));

    place.ask(app, &treatment, &control);
    let (conclusion, title) = place.ends(app, 3);
    assert_eq!(conclusion, "neutral", "{title}");
    assert!(title.starts_with("jobs of other commits were compared: "), "{title}");
    let body = place.says(app, "this says nothing of the head");
    assert!(body.contains("which is not the merge base") && body.contains("which is not the head"), "{body}");

    // Nobody's job: what was said before stands.
    place.ask(app, &format!("/{USER}/no-such-job"), &treatment);
    app.until("the refusal", || {
        let all = app.sandbox.comments(place.repo, place.number);
        all.into_iter().find(|comment| comment.via_app && comment.body.contains("does not know this job"))
    });
    place.says(app, "this says nothing of the head");
    assert_eq!(app.checks().len(), 3);
    assert_eq!(rig.proxy.launched(), launched, "nothing is launched");
    assert_eq!(stopped(), before_stopped, "nothing is stopped");
}
