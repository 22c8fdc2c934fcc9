use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use clap::Parser;
use domain::ids::CommitSha;
use domain::ports::forge::{
    Account, CheckFound, CheckWanted, CommentFound, CommentWanted, ForgeError, GitAccess, LoggedDelivery, Permission,
    Pull, PullId, Reaction, Repo,
};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn said(words: &[&str], text: &str) -> Result<Sending, String> {
    let args = Line::try_parse_from(["replay"].iter().chain(words)).unwrap().args;
    let read = Payload::of(text.as_bytes().to_vec())?;
    let machine = Machine { random: 0xabcd, ..Machine::default() };
    sending(&args, read, &machine).map_err(|why| why.to_string())
}

/// Words, text of the file, and the event, id and payload that are sent.
type Case<'c> = (&'c [&'c str], &'c str, &'c str, Option<&'c str>, &'c str);

#[test]
fn files_say_what_they_are_in_several_ways() {
    let bare = "{ \"action\": 1.50 }\n";
    let cases: [Case<'_>; 8] = [
        (&["issue_comment.json"], bare, "issue_comment", None, bare),
        (&["d/pull_request_opened.json"], bare, "pull_request", None, bare),
        (&["issues-7.json", "--guid", "a-b"], bare, "issues", Some("a-b"), bare),
        (&["x.json", "--event", "ping"], bare, "ping", None, bare),
        (&["x"], r#"{"event":"push","payload":{"a": 1.50}}"#, "push", None, r#"{"a": 1.50}"#),
        (
            &["-"],
            r#"{"headers":{"X-GitHub-Event":"push","X-GitHub-Delivery":"g"},"payload":"{ }"}"#,
            "push",
            Some("g"),
            "{ }",
        ),
        (
            &["-"],
            r#"{"id":5,"guid":"g","event":"push","status":"OK","request":{"headers":{"Accept":"*/*"},"payload":{"a":2}}}"#,
            "push",
            Some("g"),
            r#"{"a":2}"#,
        ),
        // A payload with a member of that name is one.
        (&["ping"], r#"{"event":{"a":1},"request":3}"#, "ping", None, r#"{"event":{"a":1},"request":3}"#),
    ];
    for (words, text, event, guid, payload) in cases {
        let said = said(words, text).unwrap();
        assert_eq!((said.event.as_str(), said.payload.as_slice()), (event, payload.as_bytes()), "{words:?}");
        match guid {
            Some(guid) => assert_eq!(said.guid, guid),
            None => assert!(said.guid.starts_with("0000abcd-0000-4000-8000-") && is_guid(&said.guid), "{}", said.guid),
        }
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    assert!(said(&["x.json"], "{}").unwrap_err().starts_with("x.json: which event"));
    assert!(said(&["pushed.json"], "{}").unwrap_err().starts_with("pushed.json: which event"));
    assert!(said(&["push.json"], "{").unwrap_err().starts_with("it is no JSON"));
    assert!(said(&["push.json", "--event", "Push"], "{}").unwrap_err().starts_with("--event"));
    assert!(said(&["push.json", "--guid", "a b"], "{}").unwrap_err().starts_with("--guid"));
}

/// A log of deliveries.
struct Log(Vec<LoggedDelivery>, Arc<Mutex<VecDeque<u64>>>);

fn nothing<T>() -> Result<T, ForgeError> {
    Err(ForgeError::Refused("only a log".to_owned()))
}

impl Forge for Log {
    async fn pull(&self, _: &PullId) -> Result<Pull, ForgeError> {
        nothing()
    }
    async fn permission(&self, _: &Repo, _: &Account) -> Result<Permission, ForgeError> {
        nothing()
    }
    async fn comment(&self, _: &CommentWanted, _: Option<u64>, _: bool) -> Result<CommentFound, ForgeError> {
        nothing()
    }
    async fn react(&self, _: &Repo, _: u64, _: Reaction) -> Result<(), ForgeError> {
        nothing()
    }
    async fn check(&self, _: &CheckWanted, _: Option<u64>) -> Result<u64, ForgeError> {
        nothing()
    }
    async fn checks(&self, _: &Repo, _: &CommitSha, _: &[String]) -> Result<Vec<CheckFound>, ForgeError> {
        nothing()
    }
    async fn minimise(&self, _: &Repo, _: u64) -> Result<(), ForgeError> {
        nothing()
    }
    async fn delete(&self, _: &Repo, _: u64) -> Result<(), ForgeError> {
        nothing()
    }
    async fn labels(&self, _: &PullId, _: &[String], _: &[String]) -> Result<(), ForgeError> {
        nothing()
    }
    async fn file(&self, _: &Repo, _: &str, _: Option<&CommitSha>) -> Result<Option<Vec<u8>>, ForgeError> {
        nothing()
    }
    async fn git(&self, _: &Repo) -> Result<GitAccess, ForgeError> {
        nothing()
    }
    async fn deliveries(&self, since: Ms) -> Result<Vec<LoggedDelivery>, ForgeError> {
        Ok(self.0.iter().filter(|logged| logged.at >= since).cloned().collect())
    }
    async fn delivery(&self, id: u64) -> Result<SentDelivery, ForgeError> {
        self.1.lock().unwrap().push_back(id);
        let logged = self.0.iter().find(|logged| logged.id == id).ok_or(ForgeError::Gone(id.to_string()))?;
        let (event, guid) = (logged.event.clone(), logged.guid.clone());
        Ok(SentDelivery { headers: Vec::new(), event, guid, payload: format!("{{\"n\":{id}}}") })
    }
}

#[tokio::test]
async fn deliveries_are_found_by_number_and_by_id() {
    let logged = |id, guid: &str, at| LoggedDelivery {
        id,
        guid: guid.to_owned(),
        at: Ms(at),
        ok: false,
        event: "push".to_owned(),
    };
    let asked = Arc::default();
    let log = Log(vec![logged(9, "b-1", 90), logged(7, "a-1", 70), logged(8, "a-1", 80)], Arc::clone(&asked));
    assert_eq!(Sending::from(fetch(&log, "9", Ms(0)).await.unwrap()).guid, "b-1");
    let newest = Sending::from(fetch(&log, "a-1", Ms(0)).await.unwrap());
    assert_eq!((newest.event.as_str(), newest.payload.as_slice()), ("push", &b"{\"n\":8}"[..]));
    assert_eq!(*asked.lock().unwrap(), [9, 8]);
    assert_eq!(fetch(&log, "c-1", Ms(0)).await.unwrap_err().exit(), Exit::Usage);
    assert_eq!(fetch(&log, "a-1", Ms(85)).await.unwrap_err().exit(), Exit::Usage);
    assert_eq!(fetch(&log, "1", Ms(0)).await.unwrap_err().to_string(), "1: not there: 1");
}
