//! What people type: understood as it was meant, or refused with a word on how, and never anything in between.

use sandbox::model::Kind;

use super::harness::{App, REPO};

/// Texts that show a command and give none.
const SHOWN: [&str; 9] = [
    "> /ab-test zephyr\n\nI have seen this one.",
    "> I wrote:\n> /ab-test zephyr\n> and waited.",
    "Type this:\n\n```\n/ab-test zephyr\n```\n",
    "`/ab-test zephyr`",
    "<!--\n/ab-test zephyr\n-->\nNothing to see.",
    "[/ab-test zephyr](https://example.com)",
    "# /ab-test zephyr",
    "    /ab-test zephyr",
    "Please type /ab-test zephyr",
];

/// Lines that are refused, each with what the reply must say.
const REFUSED: [(&str, &[&str]); 17] = [
    ("/ab-test zephir", &["nearest: zephyr"]),
    ("/ab-test zephyr presett=light", &["nearest: preset"]),
    ("/ab-test zephyr preset=lihgt", &["nearest: light"]),
    ("/ab-test zephyr.", &["nearest: zephyr", "remove the full stop"]),
    ("/ab-test zephyr preset=light.", &["remove the full stop"]),
    ("/ab-test zephyr preset=light .", &["key=value"]),
    ("/ab-test zephyr sources=\"x'; echo hello; '\"", &["allowed: 1 to 1000 characters A-Z"]),
    ("/ab-test zephyr sample=gs://b/../../c", &["without /../"]),
    ("/ab-test zephyr treatment=a@--upload-pack=x", &["neither head nor 7 to 40 hexadecimal digits"]),
    ("/ab-test zephyr preset=$(id)", &["allowed: 1 to 1000 characters A-Z"]),
    ("/ab-test zephyr preset=light\n/ab-test zephyr preset=full", &["a comment has one command: write two comments"]),
    (
        "/ab-test zephyr treatment=head@0123456789012345678901234567890123456789",
        &["head is the name of the treatment that runs the head as it is"],
    ),
    ("/ab-test zephyr treatment=control@head", &["it is the arm that treatments are compared with"]),
    ("/ab-test zephyr treatment=a@head treatment=a@0123456", &["every treatment needs a name of its own"]),
    ("/ab-test zephyr treatment=@NAME@@head", &["allowed"]),
    ("/ab-test zephyr retry", &["no run here whose measurements could be completed"]),
    ("/ab-test zephyr aa", &["cannot do it yet"]),
];

/// Lines that are understood.
const UNDERSTOOD: [&str; 3] =
    ["Please look.\r\n\r\n/ab-test tiny\r\n", "   /ab-test tiny", "Now:\r\n/ab-test  tiny   preset=quick  \r\nThanks."];

/// Markdown of a reply as a reader sees it, as far as these tests go.
fn read(body: &str) -> String {
    body.replace(['\\', '\u{200b}'], "")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#x27;", "'")
        .replace("&quot;", "\"")
}

#[test]
fn what_is_typed_is_run_or_refused_or_left_alone() {
    let mut app = App::new(4);
    app.reconfigure("suites = [\"tiny\"]", "suites = [\"tiny\", \"zephyr\"]\nruns_at_once = 4");
    app.start();
    app.hold_steps(true);
    let name = "x".repeat(300);
    let shown: Vec<(u64, u64)> = (0..SHOWN.len())
        .map(|at| {
            let number = app.pull(&format!("shown-{at}"), 1);
            (number, app.comment(number, "mona", SHOWN[at]))
        })
        .collect();
    let refused: Vec<(u64, u64)> = (0..REFUSED.len())
        .map(|at| {
            let number = app.pull(&format!("refused-{at}"), 1);
            (number, app.comment(number, "mona", &REFUSED[at].0.replace("@NAME@", &name)))
        })
        .collect();
    let understood: Vec<(u64, u64)> = (0..UNDERSTOOD.len())
        .map(|at| {
            let number = app.pull(&format!("understood-{at}"), 1);
            (number, app.comment(number, "mona", UNDERSTOOD[at]))
        })
        .collect();
    // Programs are not heard, whoever they are.
    let bots = app.pull("bots", 1);
    let _ = app.sandbox.user("dependabot[bot]", Kind::Bot);
    let ours = app.sandbox.settings().bot.0;
    let heard: Vec<u64> =
        ["dependabot[bot]", &ours].iter().map(|bot| app.comment(bots, bot, "/ab-test tiny")).collect();
    // Nor is who puts a command into somebody else's mouth.
    let edited = app.pull("edited", 1);
    let innocent = app.comment(edited, "mona", "Looks fine.");
    app.sandbox.edit_comment(innocent, "hubot", "/ab-test tiny").expect("an edit");

    for ((_, comment), text) in shown.iter().zip(SHOWN) {
        assert!(app.outcome(*comment).contains("no command"), "{text}");
    }
    for ((number, comment), (text, says)) in refused.iter().zip(REFUSED) {
        app.until_reaction(*comment, "confused");
        let reply = app.until("a reply", || app.reply(*number));
        for word in says {
            assert!(read(&reply).contains(word), "{text}: {reply}");
        }
        assert_eq!(app.reactions(*comment), ["confused"], "{text}");
    }
    for (number, comment) in &understood {
        app.until_reaction(*comment, "rocket");
        app.until("a verdict comment", || app.verdict(*number));
        assert_eq!(app.reply(*number), None);
    }
    for comment in &heard {
        assert!(app.outcome(*comment).contains("a program's comment"));
    }
    app.all_handled();
    // What was said last is said: so is everything before it.
    let last = app.comment(edited, "bob", "/ab-test help");
    app.until_reaction(last, "eyes");
    app.until_reply(edited, "how to ask");
    for (number, comment) in &shown {
        app.assert_silent(*number);
        assert_eq!(app.reactions(*comment), Vec::<String>::new());
    }
    app.assert_silent(bots);
    for comment in heard.iter().chain([&innocent]) {
        assert_eq!(app.reactions(*comment), Vec::<String>::new());
    }
    assert_eq!(app.verdict(edited), None);
    for (number, _) in &refused {
        assert_eq!(app.verdict(*number), None);
        assert!(app.checks_of(&app.head(*number)).is_empty());
    }
    app.until_checks(UNDERSTOOD.len());
    app.assert_lawful();
    app.stop();
    let audit = app.audit();
    let line = audit.iter().find(|line| line.action == "ignored").expect("it is written down");
    assert!(line.actor.contains("hubot") && line.detail.contains(&innocent.to_string()), "{line:?}");
    for (number, _) in shown.iter().chain(&refused).chain([&(bots, 0), &(edited, 0)]) {
        assert_eq!(app.outcomes(*number), [], "nothing was started on {number}");
    }
}

#[test]
fn the_same_command_by_two_people_is_one_run() {
    let mut app = App::several(4);
    app.hold_steps(true);
    // At once.
    let number = app.pull("at-once", 1);
    let first = app.comment(number, "mona", "/ab-test tiny");
    let second = app.comment(number, "hubot", "/ab-test tiny");
    app.until_reaction(first, "rocket");
    app.until_reaction(second, "confused");
    let reply = app.until_reply(number, "already running");
    assert!(reply.contains("#issuecomment-"), "{reply}");
    // A little later, when there is a comment to point at.
    let later = app.pull("later", 1);
    app.comment(later, "mona", "/ab-test tiny");
    app.until("a verdict comment", || app.verdict(later));
    let verdict = app.ours(later, super::harness::MARKER)[0].id;
    app.all_handled();
    let again = app.comment(later, "hubot", "/ab-test tiny");
    app.until_reaction(again, "confused");
    let reply = app.until_reply(later, "already running");
    assert!(reply.contains(&app.comment_url(later, verdict)), "{reply}");
    assert!(reply.contains("mona"), "{reply}");
    app.until_checks(2);
    assert_eq!(app.checks_of(&app.head(number)).len(), 1);
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(number).len(), 1);
    assert_eq!(app.outcomes(later).len(), 1);
}

#[test]
fn only_who_may_is_obeyed() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("rights", 1);
    for (login, has) in [("visitor", "no right in the repository"), ("bob", "the right to read")] {
        let comment = app.comment(number, login, "/ab-test tiny");
        app.until_reaction(comment, "confused");
        let reply = app.until_reply(number, has);
        assert!(reply.contains("the right to push is needed") && reply.contains(login), "{reply}");
        assert_eq!(app.reactions(comment), ["confused"]);
    }
    let status = app.comment(number, "visitor", "/ab-test status");
    app.until_reaction(status, "confused");
    app.until_reply(number, "the right to read the repository as a collaborator is needed");
    assert_eq!(app.verdict(number), None);
    // Who writes may, by the number of the account: the name alone is worth nothing.
    app.deliver_by_hand();
    app.comment(number, "mona", "/ab-test tiny");
    let delivery = app.newest("issue_comment");
    let mut stolen = delivery.payload.clone();
    for path in ["/sender/id", "/comment/user/id"] {
        *stolen.pointer_mut(path).expect("an account") = 999_999.into();
    }
    stolen["comment"]["id"] = 77.into();
    let outcome = app.deliver("stolen-name", "issue_comment", &stolen);
    assert!(outcome.contains("denied") && outcome.contains("mona"), "{outcome}");
    assert_eq!(app.verdict(number), None);
    let outcome = app.deliver(&delivery.guid, "issue_comment", &delivery.payload);
    assert!(outcome.contains("run"), "{outcome}");
    app.until_heading(number, "round 1");
    app.assert_lawful();
    app.stop();
    let audit = app.audit();
    let denied = |who: &str| audit.iter().filter(|line| line.action == "denied" && line.actor.contains(who)).count();
    assert_eq!((denied("visitor"), denied("bob"), denied("mona")), (2, 1, 1), "{audit:#?}");
    assert!(audit.iter().any(|line| line.action == "run" && line.actor.contains("mona")), "{audit:#?}");
}

/// The text with a word in place of everything that has a shape: `0` is any digit, `x` any hexadecimal one.
fn masked(text: &str, shape: &str, word: &str) -> String {
    let fits = |found: char, like: char| match like {
        '0' => found.is_ascii_digit(),
        'x' => found.is_ascii_hexdigit(),
        other => found == other,
    };
    let is_there = |rest: &str| {
        let mut found = rest.chars();
        shape.chars().all(|like| found.next().is_some_and(|found| fits(found, like)))
    };
    let (mut out, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        if is_there(rest) {
            out.push_str(word);
            rest = &rest[shape.len()..];
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

#[test]
fn help_and_status_say_how_things_are() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("words", 1);
    app.comment(number, "visitor", "/ab-test help");
    let help = app.until_reply(number, "how to ask");
    insta::assert_snapshot!("help", help);
    app.comment(number, "bob", "/ab-test status");
    let nothing = app.until_reply(number, "nothing was asked for");
    insta::assert_snapshot!("status_of_nothing", nothing);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    app.comment(number, "bob", "/ab-test status");
    let status = app.until_reply(number, "how things are here");
    assert!(status.contains(&app.head(number)[..7]), "{status}");
    let status = masked(&status, "00000000T000000Z-xxxxxxxx", "[run]");
    let status = masked(&status, "0000-00-00 00:00:00 UTC", "[time]");
    // The job is named as soon as it is there.
    let status: Vec<&str> = status.lines().filter(|line| !line.starts_with("| jobs |")).collect();
    insta::assert_snapshot!("status_of_a_run", masked(&status.join("\n"), "`xxxxxxx`", "`[head]`"));
    assert_eq!(app.sandbox.comments(REPO, number).iter().filter(|comment| comment.via_app).count(), 2);
    app.assert_lawful();
    app.stop();
}
