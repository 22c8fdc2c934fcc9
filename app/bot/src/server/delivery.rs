//! What a delivery is, from its headers.

use axum::http::{HeaderMap, HeaderValue};
use domain::ports::desk::Delivery;
use domain::time::Ms;

/// The event.
pub(super) const EVENT: &str = "x-github-event";
/// The id.
pub(super) const GUID: &str = "x-github-delivery";
/// The signature.
pub(super) const SIGNATURE: &str = "x-hub-signature-256";
/// What the hook hangs on: `integration` for an app.
const TARGET_TYPE: &str = "x-github-hook-installation-target-type";
/// Its number: that of the app.
const TARGET: &str = "x-github-hook-installation-target-id";
/// Headers that are kept. A closed list: nothing that is a secret can come among them.
const KEPT: [&str; 6] = [EVENT, GUID, "x-github-hook-id", TARGET, TARGET_TYPE, "user-agent"];
/// Longest value that is kept, bytes.
const LONGEST_VALUE: usize = 256;
/// Longest event and longest id.
const LONGEST_WORD: usize = 64;

/// Why a delivery is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("X-GitHub-Event is missing or is not 1 to 64 of a-z and _")]
    Event,
    #[error("X-GitHub-Delivery is missing or is not 1 to 64 of A-Z, a-z, 0-9 and -")]
    Guid,
    #[error("the payload is not UTF-8 text")]
    Payload,
}

/// What the headers say that a delivery is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) event: String,
    pub(super) guid: String,
    headers: String,
}

/// Whether this has the form of an event.
#[must_use]
pub fn is_event(word: &str) -> bool {
    (1..=LONGEST_WORD).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Whether this has the form of the id of a delivery.
#[must_use]
pub fn is_guid(word: &str) -> bool {
    (1..=LONGEST_WORD).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The value of a header that stands there once.
pub(super) fn once<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h HeaderValue> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    once(headers, name)?.to_str().ok()
}

impl Named {
    /// What the headers say.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Malformed> {
        let event = text(headers, EVENT).filter(|event| is_event(event)).ok_or(Malformed::Event)?;
        let guid = text(headers, GUID).filter(|guid| is_guid(guid)).ok_or(Malformed::Guid)?;
        let kept = KEPT.iter().filter_map(|name| {
            let value = text(headers, name).filter(|value| value.len() <= LONGEST_VALUE)?;
            Some(((*name).to_owned(), serde_json::Value::from(value)))
        });
        let headers = serde_json::Value::Object(kept.collect()).to_string();
        Ok(Self { event: event.to_owned(), guid: guid.to_owned(), headers })
    }

    /// With the payload. A zero byte is in no JSON, and no store keeps it in a text.
    pub(super) fn with(self, payload: Vec<u8>, received: Ms) -> Result<Delivery, Malformed> {
        let payload = String::from_utf8(payload).map_err(|_| Malformed::Payload)?;
        if payload.contains('\0') {
            return Err(Malformed::Payload);
        }
        let Self { event, guid, headers } = self;
        Ok(Delivery { guid, event, headers, payload, received })
    }
}

/// Whether it was sent by the hook of another app.
pub(super) fn is_of_another_app(headers: &HeaderMap, app: u64) -> bool {
    let is_app = headers.get_all(TARGET_TYPE).iter().any(|kind| kind.as_bytes().eq_ignore_ascii_case(b"integration"));
    let app = app.to_string();
    is_app && headers.get_all(TARGET).iter().any(|id| id.as_bytes() != app.as_bytes())
}

/// Whether the body is said to be JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    text(headers, "content-type").is_some_and(|kind| {
        let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind);
        kind.trim().eq_ignore_ascii_case("application/json")
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        // `collect` appends: a name may stand there twice.
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn names_are_short_and_plain() {
        let long = "a".repeat(65);
        let cases = [
            ("issue_comment", "72d3162e-cc78-11e3-81ab-4c9367dc0958", Ok(())),
            (&long[1..], &long[1..], Ok(())),
            (&long, "a", Err(Malformed::Event)),
            ("", "a", Err(Malformed::Event)),
            ("Push", "a", Err(Malformed::Event)),
            ("pu sh", "a", Err(Malformed::Event)),
            ("push", &long, Err(Malformed::Guid)),
            ("push", "", Err(Malformed::Guid)),
            ("push", "a/../b", Err(Malformed::Guid)),
            ("push", "a_b", Err(Malformed::Guid)),
            ("push", "ä", Err(Malformed::Guid)),
        ];
        for (event, guid, expected) in cases {
            let named = Named::of(&headers(&[(EVENT, event), (GUID, guid)])).map(|_| ());
            assert_eq!(named, expected, "{event} {guid}");
        }
        assert_eq!(Named::of(&headers(&[(GUID, "a")])), Err(Malformed::Event));
        assert_eq!(Named::of(&headers(&[(EVENT, "push")])), Err(Malformed::Guid));
        assert_eq!(Named::of(&headers(&[(EVENT, "push"), (GUID, "a"), (GUID, "b")])), Err(Malformed::Guid));
    }

    #[test]
    fn only_what_is_listed_is_kept() {
        let long = "u".repeat(LONGEST_VALUE + 1);
        let given = headers(&[
            (EVENT, "push"),
            (GUID, "a"),
            (SIGNATURE, "sha256=00"),
            ("x-hub-signature", "sha1=00"),
            ("authorization", "Bearer x"),
            ("x-github-hook-id", "7"),
            ("user-agent", &long),
        ]);
        let delivery = Named::of(&given).unwrap().with(b"{}".to_vec(), Ms(5)).unwrap();
        let kept: serde_json::Value = serde_json::from_str(&delivery.headers).unwrap();
        assert_eq!(kept, serde_json::json!({ EVENT: "push", GUID: "a", "x-github-hook-id": "7" }));
        assert_eq!((delivery.payload.as_str(), delivery.received), ("{}", Ms(5)));
    }

    #[test]
    fn a_payload_is_text() {
        let named = || Named::of(&headers(&[(EVENT, "push"), (GUID, "a")])).unwrap();
        for payload in [&b"\xff\xfe"[..], b"{\"a\":\"\xc3\"}", b"{\"a\":\"\0\"}"] {
            assert_eq!(named().with(payload.to_vec(), Ms(0)), Err(Malformed::Payload));
        }
        assert!(named().with("{\"a\":\"\\u0000ü\"}".into(), Ms(0)).is_ok());
    }

    #[test]
    fn deliveries_of_other_apps_are_known() {
        let of = |pairs: &[(&'static str, &str)]| is_of_another_app(&headers(pairs), 12);
        assert!(!of(&[]));
        assert!(!of(&[(TARGET_TYPE, "integration"), (TARGET, "12")]));
        assert!(of(&[(TARGET_TYPE, "integration"), (TARGET, "13")]));
        assert!(of(&[(TARGET_TYPE, "integration"), (TARGET, "12"), (TARGET, "13")]));
        // The number of a repository is of another kind.
        assert!(!of(&[(TARGET_TYPE, "repository"), (TARGET, "13")]));
    }

    #[test]
    fn json_is_said_in_several_ways() {
        let of = |kind: &str| is_json(&headers(&[("content-type", kind)]));
        assert!(of("application/json") && of("application/json; charset=utf-8") && of("Application/JSON"));
        assert!(!of("application/x-www-form-urlencoded") && !of("application/jsonp") && !of(""));
        assert!(!is_json(&HeaderMap::new()));
    }
}
