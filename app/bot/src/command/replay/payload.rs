//! What a file that is to be sent says.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::metrics::EVENTS;

/// A payload, and what is said of it where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) event: Option<String>,
    pub(super) guid: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// `{event, payload}`, `{headers, payload}`, or a delivery of the log: `{event, guid, request: {headers, payload}}`.
#[derive(Deserialize)]
struct Envelope<'t> {
    event: Option<String>,
    guid: Option<String>,
    headers: Option<BTreeMap<String, serde_json::Value>>,
    #[serde(borrow)]
    payload: Option<&'t RawValue>,
    #[serde(borrow)]
    request: Option<Request<'t>>,
}

#[derive(Deserialize)]
struct Request<'t> {
    headers: Option<BTreeMap<String, serde_json::Value>>,
    #[serde(borrow)]
    payload: Option<&'t RawValue>,
}

impl Payload {
    /// What the bytes of a file say. A payload that stands alone is sent as it is, byte for byte.
    pub(super) fn of(bytes: Vec<u8>) -> Result<Self, String> {
        let text = std::str::from_utf8(&bytes).map_err(|_| "it is not text".to_owned())?;
        serde_json::from_str::<&RawValue>(text).map_err(|why| format!("it is no JSON: {why}"))?;
        match Self::wrapped(text) {
            Some(wrapped) => Ok(wrapped),
            None => Ok(Self { event: None, guid: None, bytes }),
        }
    }

    /// What is said of it where it is in an object with more.
    fn wrapped(text: &str) -> Option<Self> {
        // Payloads of the forge may have members of these names and other kinds: then it stands alone.
        let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
        let (headers, payload) = match envelope.request {
            Some(request) => (request.headers, request.payload?),
            None => (envelope.headers, envelope.payload?),
        };
        let headers = headers.unwrap_or_default();
        let named = |name: &str| {
            let found = headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name))?;
            found.1.as_str().map(ToOwned::to_owned)
        };
        let event = named("x-github-event").or(envelope.event);
        let guid = named("x-github-delivery").or(envelope.guid);
        // Some keep the payload as the text that it was.
        let payload = serde_json::from_str::<String>(payload.get()).unwrap_or_else(|_| payload.get().to_owned());
        Some(Self { event, guid, bytes: payload.into_bytes() })
    }
}

/// The event that the name of a file begins with: `issue_comment.edited.json` is of `issue_comment`.
pub(super) fn event_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let fits = |event: &&&str| {
        name.strip_prefix(**event).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_lowercase()))
    };
    EVENTS.iter().filter(fits).max_by_key(|event| event.len()).map(|event| (*event).to_owned())
}
