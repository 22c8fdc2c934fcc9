//! What an answer means.

use domain::ports::forge::ForgeError;
use domain::time::Ms;

use crate::objects::Failure;
use crate::redact::words;
use crate::wire::Reply;

/// Why GitHub wants to be left alone, and how it said until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many seconds from now.
    After(u64),
    /// Until this Unix second of GitHub's clock.
    Reset(u64),
    /// It did not say.
    Unsaid,
}

/// The limit that an answer tells of.
pub(crate) fn limit(reply: &Reply) -> Option<Limit> {
    let status = reply.status.as_u16();
    if status != 403 && status != 429 {
        return None;
    }
    let said = message(reply).to_lowercase();
    if status == 403 && said.contains("resource not accessible") {
        return None;
    }
    let number = |name| reply.header(name).and_then(|text| text.trim().parse::<u64>().ok());
    if let Some(seconds) = number("retry-after") {
        return Some(Limit::After(seconds));
    }
    if number("x-ratelimit-remaining") == Some(0) {
        return Some(number("x-ratelimit-reset").map_or(Limit::Unsaid, Limit::Reset));
    }
    // GHES behind a proxy loses headers; the sentence stays.
    (status == 429 || said.contains("secondary rate limit") || said.contains("abuse detection"))
        .then_some(Limit::Unsaid)
}

/// The error of an answer that is neither a success nor a [`limit`].
pub(crate) fn error(reply: &Reply) -> ForgeError {
    let text = text(reply);
    match reply.status.as_u16() {
        401 | 403 => ForgeError::Forbidden(text),
        404 | 410 => ForgeError::Gone(text),
        // A redirect to another host, or one that leads nowhere: nothing of ours is shown there.
        300..=399 => ForgeError::Refused(format!("{text}; it leads away from the host of the API")),
        408 | 425 | 500..=599 => ForgeError::Unavailable(text),
        _ => ForgeError::Refused(text),
    }
}

/// An answer of success that cannot be read: perhaps half of one.
pub(crate) fn unreadable(reply: &Reply) -> ForgeError {
    ForgeError::Unavailable(words(&format!("{}: an answer that cannot be read", reply.asked)))
}

/// What an error tells of an answer.
pub(crate) fn text(reply: &Reply) -> String {
    let said = message(reply);
    let colon = if said.is_empty() { "" } else { ": " };
    words(&format!("{}: {}{colon}{said}", reply.asked, reply.status.as_u16()))
}

/// GitHub's own words; none where the answer is a page of some proxy.
pub(crate) fn message(reply: &Reply) -> String {
    let Some(failure) = reply.json::<Failure>() else { return String::new() };
    let mut texts: Vec<String> = failure.message.into_iter().collect();
    for detail in failure.errors.as_ref().and_then(|errors| errors.as_array()).into_iter().flatten() {
        let field = detail.get("field").and_then(|field| field.as_str());
        let said = detail.get("message").or_else(|| detail.get("code")).unwrap_or(detail);
        if let Some(said) = said.as_str() {
            texts.push(field.map_or_else(|| said.to_owned(), |field| format!("{field} {said}")));
        }
    }
    texts.join("; ")
}

/// A limit as an error.
pub(crate) fn limited(until: u64, why: String) -> ForgeError {
    ForgeError::Limited { until: Ms(until), why }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

    use super::*;

    fn reply(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Reply {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: map,
            body: body.as_bytes().to_vec(),
            asked: "GET /x".into(),
            redirected: false,
        }
    }

    #[test]
    fn limits() {
        let not_ours = r#"{"message":"Resource not accessible by integration"}"#;
        let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        for (status, headers, body, expected) in [
            (403, &[("retry-after", "30")][..], "", Some(Limit::After(30))),
            (429, &[("retry-after", "30")], "", Some(Limit::After(30))),
            (403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99")], "", Some(Limit::Reset(99))),
            (429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99")], "", Some(Limit::Reset(99))),
            (403, &[("x-ratelimit-remaining", "0")], "", Some(Limit::Unsaid)),
            (429, &[], "", Some(Limit::Unsaid)),
            (403, &[], secondary, Some(Limit::Unsaid)),
            (403, &[], "", None),
            (403, &[("x-ratelimit-remaining", "7")], "{}", None),
            (403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99")], not_ours, None),
            (200, &[("x-ratelimit-remaining", "0")], "", None),
            (503, &[("retry-after", "30")], "", None),
        ] {
            assert_eq!(limit(&reply(status, headers, body)), expected, "{status} {headers:?} {body}");
        }
    }

    #[test]
    fn errors() {
        type Kind = fn(String) -> ForgeError;
        let table: [(u16, Kind); 10] = [
            (400, ForgeError::Refused),
            (401, ForgeError::Forbidden),
            (403, ForgeError::Forbidden),
            (404, ForgeError::Gone),
            (410, ForgeError::Gone),
            (422, ForgeError::Refused),
            (451, ForgeError::Refused),
            (500, ForgeError::Unavailable),
            (502, ForgeError::Unavailable),
            (599, ForgeError::Unavailable),
        ];
        for (status, kind) in table {
            let found = error(&reply(status, &[], r#"{"message":"said"}"#));
            assert_eq!(found, kind(format!("GET /x: {status}: said")));
        }
    }

    #[test]
    fn words_of_github() {
        for (body, text) in [
            ("", ""),
            ("<html>Unicorn!</html>", ""),
            (r#"{"message":null,"errors":null}"#, ""),
            (
                r#"{"message":"Validation Failed","errors":[{"field":"body","code":"custom","message":"body is too long"}]}"#,
                "Validation Failed; body body is too long",
            ),
            (r#"{"message":"Invalid request.","errors":["one","two"]}"#, "Invalid request.; one; two"),
            (r#"{"message":"x","errors":[{"code":"invalid","field":"head_sha"}, 7, null]}"#, "x; head_sha invalid"),
        ] {
            assert_eq!(message(&reply(422, &[], body)), text, "{body}");
        }
    }
}
