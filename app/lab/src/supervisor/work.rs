//! What a step says it did.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What the last line of a step's standard output says that is a JSON object with one of these keys, as a line of a log
/// is not. `None` where it says nothing or `null`; everything else is kept as it was printed, good or bad: numbers are judged when they are used, never repaired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Items processed.
    pub items: Option<Value>,
    /// Bytes processed.
    pub bytes: Option<Value>,
    /// Shards.
    pub shards: Option<Value>,
    /// A digest of what was made.
    pub output_digest: Option<Value>,
}

/// A value longer than this is no count and no digest; its beginning is kept.
const LONGEST: usize = 128;

const KEYS: [&str; 4] = ["items", "bytes", "shards", "output_digest"];

impl Work {
    /// Reads the end of an output. `whole` says that it is all of it; otherwise the first line may be the end of one.
    #[must_use]
    pub fn of(end: &[u8], whole: bool) -> Self {
        let mut lines: Vec<&[u8]> = end.split(|byte| *byte == b'\n').collect();
        if !whole {
            lines.remove(0);
        }
        let object = |line: &&[u8]| -> Option<Fields> {
            let line = line.trim_ascii();
            if !line.starts_with(b"{") || !line.ends_with(b"}") {
                return None;
            }
            let fields: Fields = serde_json::from_slice(line).ok()?;
            fields.0.iter().any(|(key, _)| KEYS.contains(&key.as_str())).then_some(fields)
        };
        let Some(Fields(fields)) = lines.iter().rev().find_map(object) else { return Self::default() };
        let value = |name: &str| value(&fields, name);
        Self {
            items: value("items"),
            bytes: value("bytes"),
            shards: value("shards"),
            output_digest: value("output_digest"),
        }
    }
}

fn value(fields: &[(String, Box<RawValue>)], name: &str) -> Option<Value> {
    let mut found = fields.iter().filter(|(key, _)| key == name).map(|(_, raw)| raw.get());
    let raw = found.next()?;
    let more = found.count();
    if more > 0 {
        return Some(Value::from(format!("given {} times", more + 1)));
    }
    if raw == "null" {
        return None;
    }
    if raw.len() > LONGEST + 2 {
        return Some(Value::from(raw.chars().take(LONGEST).collect::<String>()));
    }
    // A number that no float can hold is JSON all the same; its text is kept.
    Some(serde_json::from_str(raw).unwrap_or_else(|_| Value::from(raw)))
}

/// Every key of an object with its value as written; a key may stand there twice.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Fields(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn items(text: &str) -> Option<Value> {
        Work::of(text.as_bytes(), true).items
    }

    #[test]
    fn the_last_line_that_is_an_object() {
        for (text, expected) in [
            ("", None),
            ("12", None),
            ("[1]", None),
            ("{\"items\": 1}", Some(json!(1))),
            ("{\"items\": 1}\n", Some(json!(1))),
            ("  {\"items\": 1}\t\r\n\n", Some(json!(1))),
            ("{\"items\": 1}\n{\"items\": 2}\n", Some(json!(2))),
            ("{\"items\": 1}\ndone {}\nbye\n", Some(json!(1))),
            ("{\"items\": 1}\n{broken}\n", Some(json!(1))),
            ("{\"items\": 1}\n{\"items\": NaN}\n", Some(json!(1))),
            ("{\"items\": 1}\n{}\n", Some(json!(1))),
            ("{\"items\": 1}\n{\"level\": \"info\", \"more\": {\"items\": 2}}\n", Some(json!(1))),
            ("{\"items\": 1}\n{\"bytes\": 2}\n", None),
            ("{\"items\": 1}\n{\"output_digest\": null}\n", None),
            ("{\"items\": 1}{\"items\": 2}", None),
            ("x {\"items\": 1}", None),
            ("{\"items\": null}", None),
            ("{\"items\": 0}", Some(json!(0))),
            ("{\"items\": -1}", Some(json!(-1))),
            ("{\"items\": 1.5}", Some(json!(1.5))),
            ("{\"items\": \"12\"}", Some(json!("12"))),
            ("{\"items\": true}", Some(json!(true))),
            ("{\"items\": [3]}", Some(json!([3]))),
            ("{\"items\": 1e400}", Some(json!("1e400"))),
            ("{\"items\": 1, \"items\": 1}", Some(json!("given 2 times"))),
            ("{\"Items\": 1}", None),
        ] {
            assert_eq!(items(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_field_is_optional() {
        let text = br#"{"bytes": 7, "shards": 3, "output_digest": "sha256:00", "more": {"items": 5}}"#;
        let expected = Work {
            items: None,
            bytes: Some(json!(7)),
            shards: Some(json!(3)),
            output_digest: Some(json!("sha256:00")),
        };
        assert_eq!(Work::of(text, true), expected);
    }

    #[test]
    fn the_end_of_a_line_is_no_line() {
        assert_eq!(Work::of(b"{\"items\": 1}\nx", false), Work::default());
        assert_eq!(Work::of(b"x\n{\"items\": 1}", false).items, Some(json!(1)));
        assert_eq!(Work::of(b"", false), Work::default());
    }

    #[test]
    fn hostile_lines() {
        let deep = format!("{{\"items\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(items(&deep), Some(json!("[".repeat(128))));
        let long = format!("{{\"items\": {}}}", "9".repeat(1_000_000));
        assert_eq!(items(&long), Some(json!("9".repeat(128))));
        assert_eq!(Work::of(b"{\"items\": \xff}\n", true), Work::default());
    }
}
