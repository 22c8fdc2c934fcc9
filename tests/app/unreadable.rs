//! What is stored and cannot be read, as after going back to an older version.

use domain::ports::{Committed, Store as _, Write};
use domain::time::Ms;

use super::harness::{App, REPO};

#[test]
fn a_state_that_cannot_be_read_stops_nobody_else() {
    let mut app = App::started(4);
    let broken = app.pull("broken", 1);
    let help = app.comment(broken, "mona", "/ab-test help");
    app.until_reaction(help, "eyes");
    app.until_reply(broken, "how to ask");
    app.stop();
    let repo = app.sandbox.comments(REPO, broken)[0].repo;
    app.read_store(async |store| {
        let subject = format!("pull:{repo}:{broken}");
        let known = store.read(&subject).await.expect("a store").expect("a subject");
        let write = Write {
            subject,
            version: known.version,
            fence: known.fence,
            state: "{\"schema\": 99}".to_owned(),
            due: Some(Ms(0)),
            finished: Vec::new(),
            effects: vec![("react:1:eyes".to_owned(), "no effect".to_owned(), Ms(0))],
            look: None,
            at: Ms(0),
        };
        assert!(matches!(store.commit(write).await.expect("a store"), Committed::Done(_)));
    });
    app.start();
    // Not understood, which is written down at once, and understood, for which that state is read first.
    app.comment(broken, "mona", "/ab-test tini");
    app.comment(broken, "mona", "/ab-test tiny");
    let fine = app.pull("fine", 40_000);
    app.comment(fine, "mona", "/ab-test tiny");
    app.until_over(fine);
    assert_eq!(app.verdict(broken), None);
    assert!(app.log().contains("schema 99"), "{}", app.log());
    app.assert_lawful();
    app.stop();
}
