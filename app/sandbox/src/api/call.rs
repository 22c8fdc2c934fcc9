//! A request as the handlers see it.

use serde_json::Value;

use super::reply::{Reply, refuse};
use crate::auth::Caller;

/// A request to the API.
pub(crate) struct Call {
    pub(crate) method: String,
    /// Below the prefix.
    pub(crate) path: String,
    /// Decoded.
    pub(crate) query: Vec<(String, String)>,
    /// As it was written.
    pub(crate) raw_query: String,
    pub(crate) body: Option<Value>,
    pub(crate) caller: Caller,
}

impl Call {
    /// A value of the query.
    pub(crate) fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A text of the body.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.body.as_ref()?.get(name)?.as_str()
    }

    /// A text of the body that has to be there.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, Reply> {
        self.text(name).ok_or_else(|| refuse(422, &format!("Invalid request. \"{name}\" wasn't supplied.")))
    }
}

/// Decodes `%41` and, in a query, `+`.
pub(crate) fn decoded(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        match (bytes[at], code.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) if plus => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The pairs of a query.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(key, true), decoded(value, true))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        assert_eq!(decoded("a%2Fb+c%", false), "a/b+c%");
        assert_eq!(
            pairs("a=1&b=x%20y+z&c"),
            [("a", "1"), ("b", "x y z"), ("c", "")].map(|(a, b)| (a.into(), b.into()))
        );
    }
}
