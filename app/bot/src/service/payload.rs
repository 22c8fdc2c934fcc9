//! What a delivery tells, read with nothing expected that is not needed.
//!
//! New fields, new actions and fields that are null are no errors: what is needed is there, or the delivery tells nothing.

use domain::ids::CommitSha;
use domain::ports::forge::{Account, PullId, Repo};
use domain::pull::Push;
use domain::time::Ms;
use serde_json::Value;

/// What a delivery tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A comment on a pull request.
    Comment(Box<Comment>),
    /// A pull request changed: it is to be looked at.
    Pull {
        /// Which one.
        id: PullId,
        /// The push that changed it.
        push: Option<Push>,
        /// Its head, where that is another one than before, or the first.
        head: Option<CommitSha>,
    },
    /// A button of a check was pressed.
    Button(Box<Button>),
    /// A repository is called something else, or somewhere else.
    Repo(Repo),
    /// The app reaches other repositories than before.
    Installation {
        /// Its number.
        installation: u64,
        /// What happened to it.
        what: Reach,
        /// Whether it happened to all that the installation reaches, named here or not.
        whole: bool,
        /// The repositories that are named.
        repos: Vec<Repo>,
    },
    /// Nothing that matters here: why.
    Nothing(String),
}

/// What happened to a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It was written.
    Created,
    /// It was changed.
    Edited,
    /// It was deleted.
    Deleted,
}

/// What happened to an installation, or to some of its repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The app was removed: nothing can be read or said there.
    Gone,
    /// It was suspended: the same, until it goes on.
    Suspended,
    /// It was installed, or goes on.
    Back,
    /// Something else, such as other permissions.
    Other,
}

/// Which button of a check was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ButtonKind {
    /// The one that every check has which has ended: it is to run again.
    Rerun,
    /// One of its own, by its identifier.
    Named(String),
}

/// A button of a check that was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// The repository of the check.
    pub repo: Repo,
    /// The number of the check.
    pub check: u64,
    /// What it is found again by; empty where it has none. Only this leads to the pull request: none is named for a fork.
    pub external: String,
    /// The commit that it stands at.
    pub head: CommitSha,
    /// Which button.
    pub identifier: ButtonKind,
    /// Who pressed it.
    pub sender: Account,
    /// Whether a program did.
    pub bot: bool,
    /// The app that the check is of. Others have checks as well, and external ids.
    pub app_id: Option<u64>,
}

/// A comment on a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// What happened to it.
    pub happened: Happened,
    /// The pull request.
    pub pull: PullId,
    /// Its number.
    pub id: u64,
    /// Its text.
    pub body: String,
    /// Who wrote it; `None` where the account is gone.
    pub author: Option<Account>,
    /// Who made it happen.
    pub sender: Account,
    /// Whether a program wrote it or made it happen.
    pub bot: bool,
    /// When it was written, where that is told.
    pub written: Option<Ms>,
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// A number that a store can hold; no other one is given by the forge.
fn number(value: &Value, path: &str) -> Option<u64> {
    at(value, path)?.as_u64().filter(|number| i64::try_from(*number).is_ok())
}

fn text<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    at(value, path)?.as_str()
}

fn account(value: &Value, path: &str) -> Option<Account> {
    let account = at(value, path)?;
    Some(Account { id: number(account, "id")?, login: text(account, "login").unwrap_or("ghost").to_owned() })
}

/// Whether a program acts: by the type of its account, by its name, or because an app is named.
fn is_bot(value: &Value, path: &str) -> bool {
    let Some(account) = at(value, path) else { return false };
    text(account, "type") == Some("Bot") || text(account, "login").is_some_and(|login| login.ends_with("[bot]"))
}

fn repo(value: &Value) -> Option<Repo> {
    Some(Repo {
        id: number(value, "repository.id")?,
        name: text(value, "repository.full_name")?.to_owned(),
        // A hook of a repository says none; then it is looked for by the repository.
        installation: number(value, "installation.id").unwrap_or(0),
    })
}

/// Milliseconds of `2026-11-30T05:20:05Z`; also with a fraction or an offset of zero.
fn time(text: &str) -> Option<Ms> {
    let digits = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    let fine = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let utc = text.ends_with('Z') || text.ends_with("+00:00");
    if !fine || !utc || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days from 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms").
    let year = if month <= 2 { year - 1 } else { year };
    let era_year = year % 400;
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let year_day = (153 * shifted + 2) / 5 + day - 1;
    let days = year / 400 * 146_097 + era_year * 365 + era_year / 4 - era_year / 100 + year_day - 719_468;
    Some(Ms((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000))
}

/// Reads a delivery of the event `event`.
#[must_use]
pub fn read(event: &str, payload: &str) -> Told {
    let nothing = |why: &str| Told::Nothing(why.to_owned());
    let Ok(value) = serde_json::from_str::<Value>(payload) else { return nothing("the payload is no JSON") };
    match event {
        "issue_comment" => comment(&value).unwrap_or_else(nothing),
        "pull_request" => pull(&value).unwrap_or_else(nothing),
        "check_run" => button(&value).unwrap_or_else(nothing),
        "installation" | "installation_repositories" => installation(event, &value).unwrap_or_else(nothing),
        "repository" => repo(&value).map_or_else(|| nothing("no repository is named"), Told::Repo),
        "ping" => nothing("a ping"),
        _ => Told::Nothing(format!("the event {event} is not looked at")),
    }
}

fn comment(value: &Value) -> Result<Told, &'static str> {
    let happened = match text(value, "action") {
        Some("created") => Happened::Created,
        Some("edited") => Happened::Edited,
        Some("deleted") => Happened::Deleted,
        _ => return Err("an action that is not looked at"),
    };
    if at(value, "issue.pull_request").is_none() {
        return Err("the comment is not on a pull request");
    }
    let repo = repo(value).ok_or("no repository is named")?;
    let number = number(value, "issue.number").ok_or("no issue is named")?;
    let bot = is_bot(value, "sender") || is_bot(value, "comment.user");
    Ok(Told::Comment(Box::new(Comment {
        happened,
        pull: PullId { repo, number },
        id: self::number(value, "comment.id").ok_or("no comment is named")?,
        body: text(value, "comment.body").unwrap_or_default().to_owned(),
        author: account(value, "comment.user"),
        sender: account(value, "sender").ok_or("no sender is named")?,
        bot,
        written: text(value, "comment.created_at").and_then(time),
    })))
}

fn button(value: &Value) -> Result<Told, &'static str> {
    let identifier = match text(value, "action") {
        Some("rerequested") => ButtonKind::Rerun,
        Some("requested_action") => {
            ButtonKind::Named(text(value, "requested_action.identifier").ok_or("no button is named")?.to_owned())
        }
        _ => return Err("an action that is not looked at"),
    };
    let head = text(value, "check_run.head_sha").and_then(|sha| sha.parse().ok());
    Ok(Told::Button(Box::new(Button {
        repo: repo(value).ok_or("no repository is named")?,
        check: number(value, "check_run.id").ok_or("no check is named")?,
        external: text(value, "check_run.external_id").unwrap_or_default().to_owned(),
        head: head.ok_or("no commit is named")?,
        identifier,
        sender: account(value, "sender").ok_or("no sender is named")?,
        bot: is_bot(value, "sender"),
        app_id: number(value, "check_run.app.id"),
    })))
}

fn installation(event: &str, value: &Value) -> Result<Told, &'static str> {
    let installation = number(value, "installation.id").ok_or("no installation is named")?;
    let whole = event == "installation";
    let (what, list) = match (whole, text(value, "action").unwrap_or_default()) {
        (true, "deleted") => (Reach::Gone, "repositories"),
        (true, "suspend") => (Reach::Suspended, "repositories"),
        (true, "created" | "unsuspend") => (Reach::Back, "repositories"),
        (true, _) => (Reach::Other, "repositories"),
        (false, "removed") => (Reach::Gone, "repositories_removed"),
        (false, "added") => (Reach::Back, "repositories_added"),
        (false, _) => return Err("an action that is not looked at"),
    };
    let named = at(value, list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let repo = |named: &Value| {
        Some(Repo { id: number(named, "id")?, name: text(named, "full_name")?.to_owned(), installation })
    };
    Ok(Told::Installation { installation, what, whole, repos: named.iter().filter_map(repo).collect() })
}

fn pull(value: &Value) -> Result<Told, &'static str> {
    let repo = repo(value).ok_or("no repository is named")?;
    let number = number(value, "pull_request.number").or_else(|| self::number(value, "number"));
    let id = PullId { repo, number: number.ok_or("no pull request is named")? };
    let commit = |path: &str| text(value, path)?.parse::<CommitSha>().ok();
    let push = || {
        let at = text(value, "pull_request.updated_at").and_then(time)?;
        Some(Push { before: commit("before")?, after: commit("after")?, at })
    };
    let action = text(value, "action").unwrap_or_default();
    let push = if action == "synchronize" { push() } else { None };
    let new = matches!(action, "opened" | "synchronize" | "reopened");
    Ok(Told::Pull { id, push, head: commit("pull_request.head.sha").filter(|_| new) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn payload() -> Value {
        json!({
            "action": "created",
            "issue": {"number": 42, "pull_request": {"url": "x"}},
            "comment": {"id": 9, "body": "/ab-test zephyr", "created_at": "2026-11-29T20:28:50Z",
                        "user": {"id": 5, "login": "mona", "type": "User"}},
            "sender": {"id": 5, "login": "mona", "type": "User"},
            "repository": {"id": 7, "full_name": "octo/demo"},
            "installation": {"id": 3},
        })
    }

    #[test]
    fn a_comment() {
        let Told::Comment(comment) = read("issue_comment", &payload().to_string()) else { panic!() };
        assert_eq!((comment.pull.key().as_str(), comment.id, comment.bot), ("pull:7:42", 9, false));
        assert_eq!(comment.written, Some(Ms(1_795_984_130_000)));
        assert_eq!(comment.author.unwrap().login, "mona");
    }

    #[test]
    fn who_is_a_program() {
        for (path, kind, login) in [("sender", "Bot", "x"), ("sender", "User", "ab[bot]"), ("comment.user", "Bot", "x")]
        {
            let mut value = payload();
            let user = json!({"id": 5, "login": login, "type": kind});
            match path.split_once('.') {
                Some((outer, inner)) => value[outer][inner] = user,
                None => value[path] = user,
            }
            let Told::Comment(comment) = read("issue_comment", &value.to_string()) else { panic!() };
            assert!(comment.bot, "{path} {kind} {login}");
        }
    }

    #[test]
    fn what_is_missing_is_no_error() {
        let mut ghost = payload();
        ghost["comment"]["user"] = Value::Null;
        let Told::Comment(comment) = read("issue_comment", &ghost.to_string()) else { panic!() };
        assert_eq!(comment.author, None);
        for (event, text) in [
            ("issue_comment", "{}".to_owned()),
            ("issue_comment", "[]".to_owned()),
            ("issue_comment", "nonsense".to_owned()),
            ("pull_request", "{\"action\": \"synchronize\"}".to_owned()),
            ("repository", "{}".to_owned()),
            ("ping", "{}".to_owned()),
            ("tomorrow", payload().to_string()),
            ("issue_comment", payload().to_string().replace("created\"", "pinned\"")),
            ("issue_comment", payload().to_string().replace("\"id\":7", &format!("\"id\":{}", u64::MAX))),
        ] {
            assert!(matches!(read(event, &text), Told::Nothing(_)), "{event} {text}");
        }
    }

    #[test]
    fn a_push() {
        let (one, other) = ("1".repeat(40), "2".repeat(40));
        let mut value = json!({
            "action": "synchronize", "number": 42, "before": one, "after": other,
            "pull_request": {"number": 42, "updated_at": "2026-11-29T20:28:50Z", "head": {"repo": null}},
            "repository": {"id": 7, "full_name": "octo/demo"},
        });
        let Told::Pull { push: Some(push), .. } = read("pull_request", &value.to_string()) else { panic!() };
        assert_eq!((push.before.as_str(), push.at), (one.as_str(), Ms(1_795_984_130_000)));
        value["before"] = Value::Null;
        assert!(matches!(read("pull_request", &value.to_string()), Told::Pull { push: None, .. }));
    }

    fn pressed() -> Value {
        json!({
            "action": "requested_action",
            "requested_action": {"identifier": "longer"},
            "check_run": {"id": 31, "external_id": "run-1", "head_sha": "1".repeat(40), "pull_requests": [], "app": {"id": 77}},
            "sender": {"id": 5, "login": "mona", "type": "User"},
            "repository": {"id": 7, "full_name": "octo/demo"},
            "installation": {"id": 3},
        })
    }

    #[test]
    fn a_button() {
        let read = |value: &Value| match read("check_run", &value.to_string()) {
            Told::Button(button) => Ok(*button),
            told => Err(Box::new(told)),
        };
        let mut value = pressed();
        let button = read(&value).unwrap();
        assert_eq!((button.repo.id, button.repo.installation, button.check, button.app_id), (7, 3, 31, Some(77)));
        assert_eq!((button.external.as_str(), button.head.as_str()), ("run-1", "1".repeat(40).as_str()));
        assert_eq!(
            (button.identifier, button.sender.id, button.bot),
            (ButtonKind::Named("longer".to_owned()), 5, false)
        );
        value["action"] = "rerequested".into();
        assert_eq!(read(&value).unwrap().identifier, ButtonKind::Rerun);
        value["sender"]["type"] = "Bot".into();
        value["check_run"]["app"] = Value::Null;
        value["check_run"]["external_id"] = Value::Null;
        let button = read(&value).unwrap();
        assert_eq!((button.bot, button.app_id, button.external.as_str()), (true, None, ""));
        for (at, what) in [
            ("/action", json!("completed")),
            ("/requested_action", Value::Null),
            ("/check_run/id", json!(u64::MAX)),
            ("/check_run/head_sha", json!("main")),
            ("/sender", Value::Null),
            ("/repository/id", json!("seven")),
        ] {
            let mut value = pressed();
            *value.pointer_mut(at).unwrap() = what;
            assert!(matches!(read(&value).map_err(|told| *told), Err(Told::Nothing(_))), "{at}");
        }
    }

    #[test]
    fn installations() {
        let short = json!([{"id": 7, "full_name": "octo/demo"}, {"id": null, "full_name": "octo/odd"}, 7, {"id": 8}]);
        let seven = vec![Repo { id: 7, name: "octo/demo".to_owned(), installation: 3 }];
        for (event, action, list, expected) in [
            ("installation", "created", "repositories", Some((Reach::Back, true))),
            ("installation", "deleted", "repositories", Some((Reach::Gone, true))),
            ("installation", "suspend", "repositories", Some((Reach::Suspended, true))),
            ("installation", "unsuspend", "repositories", Some((Reach::Back, true))),
            ("installation", "new_permissions_accepted", "repositories", Some((Reach::Other, true))),
            ("installation", "of_the_future", "repositories", Some((Reach::Other, true))),
            ("installation_repositories", "added", "repositories_added", Some((Reach::Back, false))),
            ("installation_repositories", "removed", "repositories_removed", Some((Reach::Gone, false))),
            ("installation_repositories", "of_the_future", "repositories_added", None),
        ] {
            let value = json!({ "action": action, "installation": { "id": 3 }, list: short });
            let told = read(event, &value.to_string());
            match expected {
                Some((what, whole)) => {
                    assert_eq!(told, Told::Installation { installation: 3, what, whole, repos: seven.clone() });
                }
                None => assert!(matches!(told, Told::Nothing(_)), "{told:?}"),
            }
        }
        assert!(matches!(read("installation", "{\"action\": \"deleted\"}"), Told::Nothing(_)));
        let told = read("installation", "{\"action\": \"deleted\", \"installation\": {\"id\": 3}}");
        assert_eq!(told, Told::Installation { installation: 3, what: Reach::Gone, whole: true, repos: vec![] });
    }

    #[test]
    fn times() {
        assert_eq!(time("1970-01-01T00:00:00Z"), Some(Ms(0)));
        assert_eq!(time("2024-02-29T23:59:59Z"), Some(Ms(1_709_251_199_000)));
        assert_eq!(time("2024-02-29T23:59:59+00:00"), Some(Ms(1_709_251_199_000)));
        for bad in ["", "2024", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00+02:00", "ä024-01-01T00:00:00Z"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
