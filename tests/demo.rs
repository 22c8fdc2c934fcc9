//! `zephyr-ab demo`: with its page, and each branch once without; `tests/bench/demo.sh` runs ten of each.
//!
//! These measure what the machine really does, so each has it for itself as far as other whole programs of these tests
//! go. What else the machine does can hide a change, which is no error: a second attempt is made then. It can never make
//! up another answer.

use serde_json::Value;

use crate::support::world::{Started, World, alone, listed, runs};

const ATTEMPTS: u32 = 2;

struct Shown {
    verdict: String,
    reason: String,
    answer: Value,
}

/// Runs the demo, verifies its folder, and says what it said.
fn show(args: &[&str]) -> Shown {
    let world = World::new();
    let ran = world.call(&[&["demo", "--plain", "--format", "json"], args].concat());
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    world.nothing_lives();
    // The repository and the evidence are kept, and nothing else.
    let [kept] = &listed(&world.path("tmp"))[..] else { panic!("{:?}", listed(&world.path("tmp"))) };
    let out = world.path("tmp").join(kept).join("evidence");
    let [run] = &runs(&out)[..] else { panic!("{:?}", listed(&out)) };
    let folder = out.join(run);
    assert!(ran.stderr.contains(&format!("evidence: {} ", folder.display())), "{}", ran.stderr);
    let verified = world.call(&["evidence", "verify", folder.to_str().expect("UTF-8")]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let text = |key: &str| answer[key].as_str().expect("a word").to_owned();
    Shown { verdict: text("verdict"), reason: text("reason"), answer }
}

/// Runs a branch until it shows what is expected, or, while elapsed time says little because the machine is busy, as much of
/// that as CPU time says alone; nothing may be said but that and `inconclusive`.
fn expect(branch: &str, expected: &str, by_cpu_alone: Option<&str>) {
    let _alone = alone();
    for attempt in 1..=ATTEMPTS {
        let Shown { verdict, reason, answer } = show(&["--branch", branch]);
        println!("demo {branch}: {verdict} ({reason}), 1 of 10 runs, attempt {attempt}");
        if verdict == expected || by_cpu_alone.is_some_and(|enough| enough == reason) {
            return;
        }
        assert_eq!(verdict, "inconclusive", "{branch}: {answer:#}");
    }
    panic!("{branch}: the machine is too busy to show {expected}");
}

#[test]
fn slower_is_a_regression() {
    expect("slower", "regression", None);
}

#[test]
fn dearer_is_a_tradeoff() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("skipped: demo dearer needs two processors");
        return;
    }
    expect("dearer", "tradeoff", Some("TRADEOFF_OR_REGRESSION"));
}

#[test]
fn different_work_is_never_compared() {
    let _alone = alone();
    let Shown { verdict, reason, answer } = show(&["--branch", "different"]);
    println!("demo different: {verdict} ({reason}), 1 of 10 runs");
    assert_eq!((verdict.as_str(), reason.as_str()), ("inconclusive", "DIFFERENT_WORK"), "{answer:#}");
}

#[test]
fn the_same_is_a_pass_or_not_known() {
    let _alone = alone();
    let Shown { verdict, reason, answer } = show(&["--branch", "same"]);
    println!("demo same: {verdict} ({reason}), 1 of 10 runs");
    assert!(["pass", "inconclusive"].contains(&verdict.as_str()), "{answer:#}");
}

#[test]
fn one_round_decides_nothing() {
    let _alone = alone();
    let Shown { verdict, answer, .. } = show(&["--branch", "slower", "--rounds", "1"]);
    assert_eq!(verdict, "inconclusive", "{answer:#}");
}

/// What is left of the demo with a page when it has ended: nothing.
fn assert_gone(world: &World) {
    world.nothing_lives();
    assert_eq!(listed(&world.path("tmp")), [""; 0], "temporary files are left");
}

#[test]
fn a_pull_request_gets_its_verdict() {
    let _alone = alone();
    for attempt in 1..=ATTEMPTS {
        let world = World::new();
        let ran = world.call(&["demo", "--once", "--no-open"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_gone(&world);
        let [page, heading] = &ran.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{}", ran.stdout) };
        assert!(page.starts_with("http://127.0.0.1:") && page.ends_with("/octo/demo/pull/1"), "{page}");
        assert!(heading.starts_with("Demo A/B test: "), "{heading}");
        // Every change of the comment was told while it went on.
        for told in ["maintainer writes: /ab-test demo", "⏳ round 1 of at most 5", heading] {
            assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
        }
        println!("demo: {heading}, attempt {attempt}");
        if heading.contains("⛔ regression") && heading.contains("join CPU +") {
            return;
        }
        assert!(heading.contains("❔ inconclusive"), "{heading}");
    }
    panic!("the machine is too busy to show a regression");
}

/// The page of a running demo, as a browser sees it.
struct Page {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
}

impl Page {
    fn of(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        // Whoever runs first installs it.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Self { runtime, client: client.build().expect("a client"), url: url.to_owned() }
    }

    fn text(&self) -> String {
        let get = async { self.client.get(&self.url).send().await?.text().await };
        self.runtime.block_on(get).expect("a page")
    }

    /// Sends the form for comments from a page of `origin`, and returns the status.
    fn comment(&self, origin: &str, by: &str, body: &str) -> u16 {
        let mut form = reqwest::Url::parse("http://x").expect("an address");
        form.query_pairs_mut().append_pair("by", by).append_pair("body", body);
        let post = self.client.post(format!("{}/comments", self.url)).header("origin", origin);
        let post = post.body(form.query().unwrap_or_default().to_owned());
        self.runtime.block_on(post.send()).expect("an answer").status().as_u16()
    }

    fn origin(&self) -> &str {
        self.url.split("/octo/").next().unwrap_or_default()
    }
}

/// Waits for the first line that the demo prints.
fn page_of(started: &mut Started) -> Page {
    started.until_said("an address", |started| started.stdout().contains('\n'));
    Page::of(started.stdout().lines().next().unwrap_or_default())
}

#[test]
fn people_write_on_the_page_until_it_is_ended() {
    let world = World::new();
    let mut started = world.begin(&["demo", "--no-open", "--rounds", "1", "--branch", "different"]);
    let page = page_of(&mut started);
    assert!(page.url.ends_with("/pull/5"), "{}", page.url);
    started.until_said("a verdict", |started| started.stdout().lines().count() == 2);
    // The page has what the terminal said, and the check, whose last state may still be on its way.
    started.until_so("a check with a conclusion", || page.text().contains("neutral after"));
    let text = page.text();
    for shown in
        ["<h2>🤖 Demo A/B test: ❔ inconclusive", "/ab-test demo rounds=1", "zephyr-ab / demo", "Skip half of the data"]
    {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    // What no page of ours sent is refused, and who may not is told so.
    assert_eq!(page.comment("http://evil.example", "maintainer", "/ab-test demo"), 403);
    assert_eq!(page.comment(page.origin(), "visitor", "/ab-test demo"), 303);
    started.until_so("a refusal", || page.text().contains("visitor has no right in the repository"));
    started.until_said("a line for it", |started| started.stderr().contains("visitor has no right in the repository"));
    assert!(!page.text().contains("Demo A/B test: ⏳"), "only what was asked for by who may has run");
    started.signal("INT", true);
    assert_eq!(started.wait().code, Some(0));
    assert_gone(&world);
}

#[test]
fn an_early_end_leaves_nothing() {
    let world = World::new();
    let mut started = world.begin(&["demo", "--once", "--no-open"]);
    started.until_said("a round", |started| started.stderr().contains("round 1"));
    started.signal("INT", true);
    let ran = started.wait();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_gone(&world);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let world = World::new();
    let ran = world.call(&["demo", "--once", "--no-open", "--port", &port]);
    assert!(
        ran.code == Some(1) && ran.stderr.starts_with(&format!("error: no page on port {port}: ")),
        "{}",
        ran.stderr
    );
    assert_gone(&world);
}
