//! Rows for the tests.

use domain::ids::{Digest, RunId};
use domain::ports::desk::{Delivery, RunRow, Settle, Want};
use domain::ports::{Judged, LookKey, LookRow, Subject, Write};
use domain::time::Ms;

pub(crate) fn subject(key: &str, due: Option<u64>) -> Subject {
    let (body, state) = (format!("body of {key}"), "{\"schema\":1}".to_owned());
    Subject { key: key.to_owned(), body, state, version: 0, fence: 0, due: due.map(Ms) }
}

pub(crate) fn write(key: &str, version: u64, fence: u64) -> Write {
    Write {
        subject: key.to_owned(),
        version,
        fence,
        state: format!("state after {version}"),
        due: Some(Ms(50)),
        finished: Vec::new(),
        effects: Vec::new(),
        look: None,
        at: Ms(10),
    }
}

pub(crate) fn look(episode: u64, index: u32, at: u64) -> LookRow {
    let key = LookKey { ledger: Digest::of(b"ledger"), episode, look: index };
    LookRow { key, run: id(1), judged: Judged { treatments: Vec::new() }, at: Ms(at) }
}

pub(crate) fn id(n: u32) -> RunId {
    RunId::new(1_795_984_130, n).unwrap()
}

pub(crate) fn run(n: u32, number: u64, request: &str) -> RunRow {
    RunRow {
        id: id(n),
        repo: 1,
        number,
        person: 7,
        suite: "mine".to_owned(),
        request: request.to_owned(),
        head: "0123456789012345678901234567890123456789".to_owned(),
        ledger: None,
        active: true,
        outcome: None,
        evidence: None,
        created: Ms(u64::from(n)),
        ended: None,
    }
}

pub(crate) fn delivery(guid: &str, received: u64) -> Delivery {
    Delivery {
        guid: guid.to_owned(),
        event: "issue_comment".to_owned(),
        headers: "{}".to_owned(),
        payload: format!("{{\"of\":\"{guid} ä\"}}"),
        received: Ms(received),
    }
}

pub(crate) fn want(target: &str, wanted: &str, due: u64) -> Want {
    Want { target: target.to_owned(), wanted: wanted.to_owned(), due: Ms(due) }
}

pub(crate) fn wants(wants: Vec<Want>) -> Settle {
    Settle { wants, ..Settle::default() }
}
