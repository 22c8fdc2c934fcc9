//! Jobs of a run, named on its pull request: judged again, and nothing launched for it.

use super::proxy::Fault;
use super::rig::{Rig, USER};
use crate::app::harness::App;

/// What a check ended with: its conclusion and its title.
type Ended = (String, String);

/// The pull request that the jobs are named on, and its head.
pub(super) struct Place<'a> {
    pub(super) repo: &'a str,
    pub(super) number: u64,
    pub(super) marker: &'a str,
    pub(super) head: &'a str,
}

impl Place<'_> {
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

    /// How the check of the comparison ends that is the `nth` on this head.
    fn ends(&self, app: &App, nth: usize) -> Ended {
        let check = app.until("the check of the comparison ends", || {
            let mut checks = app.checks_of(self.head);
            assert!(checks.len() <= nth, "{checks:#?}");
            if checks.len() < nth { None } else { checks.pop() }.filter(|check| check.status == "completed")
        });
        (check.conclusion.unwrap_or_default(), check.output["title"].clone())
    }
}

/// What a comment is about to say first.
fn heading(body: &str) -> &str {
    body.lines().find(|line| line.starts_with('#')).unwrap_or_default()
}

/// The jobs of the first run, whose head is that of the pull request. The service is killed while it asks for them; the next one
/// knows whose they are.
pub(super) fn by_name(rig: &Rig, app: &mut App, place: &Place<'_>) {
    let first = rig.first.get().expect("the first run");
    let stopped = || rig.proxy.calls().iter().filter(|call| call.method == "TerminateJob").count();
    let (launched, before_stopped) = (rig.proxy.launched(), stopped());
    let (control, treatment) = (first.control.clone(), first.treatment.clone());
    let asked = || rig.proxy.calls().iter().filter(|call| call.method == "GetJobState").count();
    let before = asked();
    // More than are asked before the service is killed.
    (0..1000).for_each(|_| rig.proxy.fail("GetJobState", Fault::Unavailable));
    place.ask(app, &control, &treatment);
    app.until("the jobs are asked for", || (asked() > before).then_some(()));
    app.kill();
    rig.proxy.heal();
    app.start();
    place.ends(app, 1);
    let body = place.says(app, "Existing jobs are compared here, and nothing was launched.");
    assert!(
        body.contains("They say that they were made of the merge base and the head of this pull request."),
        "{body}"
    );
    assert!(body.contains("nothing was launched: whether they ran side by side"), "{body}");
    assert_eq!(heading(&body), heading(&first.folder.comment()), "the same jobs come to the same");

    place.ask(app, &treatment, &control);
    let (conclusion, title) = place.ends(app, 2);
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
    assert_eq!(app.checks_of(place.head).len(), 2);
    assert_eq!(rig.proxy.launched(), launched, "nothing is launched");
    assert_eq!(stopped(), before_stopped, "nothing is stopped");
}
