//! How much is asked of GitHub.

use std::collections::BTreeMap;

use sandbox::exchange::Logged;

use super::harness::{App, REPO};

/// Requests that a run of three rounds may cost, from the command to the verdict.
const MOST: usize = 40;

/// A step that takes longer than what is said is collected for: every round is told of.
const SLOW: &str = r#"i=0
while [ "$i" -lt 40000 ]; do i=$(( i + 1 )); done
sleep 1
echo '{"items": 7}'
"#;

#[test]
fn a_run_costs_few_requests() {
    let mut app = App::new(4);
    app.reconfigure("write_pause_ms = 0\n", "");
    app.sandbox.commit(REPO, "main", &[("step.sh", Some(SLOW))], "A slow benchmark").expect("a commit");
    app.sandbox.commit(REPO, "topic", &[("step.sh", Some(&format!("{SLOW}# x\n")))], "x").expect("a commit");
    let number = app.sandbox.pull(REPO, "topic", "main", "x", "mona").expect("a pull request");
    app.start();
    app.until_swept();
    app.all_handled();
    app.sandbox.clear_requests();
    app.comment(number, "mona", "/ab-test tiny");
    let over = app.until_over(number);
    app.until_concluded(&app.head(number));
    assert!(over.contains("4 interleaved rounds"), "{over}");
    let all = app.sandbox.requests();
    // Every round was told of.
    for round in 1..=4 {
        let said = format!("round {round} of at most 4");
        assert!(all.iter().any(|one| one.method != "GET" && one.body.contains(&said)), "{said}");
    }
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for one in &all {
        let path: String = one.path.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        *kinds.entry(format!("{} {path}", one.method)).or_default() += 1;
    }
    // Four rounds are the fewest that are judged here: a comment that tells of the fourth is read and written, a check
    // is written.
    let fourth = |one: &&Logged| one.method == "PATCH" && one.body.contains("round 4 of at most 4");
    let cost = |one: &Logged| if one.path.contains("/issues/comments/") { 2 } else { 1 };
    let three = all.len() - all.iter().filter(fourth).map(cost).sum::<usize>();
    println!("{} requests for four rounds, {three} for three: {kinds:#?}", all.len());
    assert!(three <= MOST, "{three} requests: {kinds:#?}");
    app.assert_lawful();
    app.stop();
}
