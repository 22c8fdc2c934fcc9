//! The texts for the comment that may come with a case.

use domain::view::Texts;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Reads `context` of a case that was accepted. It may hold anything: what is not a text that the comment knows is
/// left out, one by one.
pub(super) fn texts(case: &str) -> Texts {
    #[derive(Deserialize)]
    struct Top<'a> {
        #[serde(borrow, default)]
        context: Option<&'a RawValue>,
    }
    let context = serde_json::from_str::<Top<'_>>(case).ok().and_then(|top| top.context);
    let Some(Ok(Value::Object(fields))) = context.map(|raw| serde_json::from_str(raw.get())) else {
        return Texts::default();
    };
    let alone = |key: &String, value: &Value| Value::Object(Map::from_iter([(key.clone(), value.clone())]));
    let usable = fields.iter().filter(|(key, value)| serde_json::from_value::<Texts>(alone(key, value)).is_ok());
    let usable: Map<String, Value> = usable.map(|(key, value)| (key.clone(), value.clone())).collect();
    serde_json::from_value(Value::Object(usable)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_is_accepted_and_only_texts_are_used() {
        assert_eq!(texts(r#"{"rounds":[]}"#), Texts::default());
        assert_eq!(texts(r#"{"rounds":[],"context":[1,{"a":1e400}]}"#), Texts::default());
        let read = texts(r#"{"context":{"suite":"demo","title":7,"workload":["a","b"],"colour":"red"}}"#);
        assert_eq!(read.suite.as_deref(), Some("demo"));
        assert_eq!(read.workload, ["a", "b"]);
        assert_eq!(read.title, None);
    }
}
