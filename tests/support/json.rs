//! JSON that keeps the order of its fields, the text of its numbers, and may say the same field twice.

use std::fmt::{self, Display, Write};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value. A number is its text, so that 1e400 can be said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Num(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

pub(crate) fn num(x: f64) -> Json {
    assert!(x.is_finite(), "{x}");
    Json::Num(format!("{x:?}"))
}

pub(crate) fn int(x: u64) -> Json {
    Json::Num(x.to_string())
}

pub(crate) fn text(x: &str) -> Json {
    Json::Text(x.to_owned())
}

pub(crate) fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}

impl Json {
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub(crate) fn of(value: &impl serde::Serialize) -> Self {
        Self::read(&serde_json::to_string(value).expect("serialises"))
    }

    pub(crate) fn fields(&self) -> &[(String, Json)] {
        if let Self::Object(fields) = self { fields } else { &[] }
    }

    pub(crate) fn fields_mut(&mut self) -> &mut Vec<(String, Json)> {
        if let Self::Object(fields) = self { fields } else { panic!("an object: {self}") }
    }

    pub(crate) fn items(&self) -> &[Json] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(crate) fn items_mut(&mut self) -> &mut Vec<Json> {
        if let Self::List(items) = self { items } else { panic!("a list: {self}") }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.fields().iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        if let Self::Object(fields) = self { fields.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v) } else { None }
    }

    /// The value at a path of keys and indices, `a.b.0`; panics where there is none.
    pub(crate) fn at(&self, path: &str) -> &Json {
        path.split('.').fold(self, |at, step| match at {
            Self::List(items) => &items[step.parse::<usize>().expect("an index")],
            _ => at.get(step).unwrap_or_else(|| panic!("no {step} of {path} in {at}")),
        })
    }

    /// Sets a field of an object, in its place where it is there.
    pub(crate) fn set(&mut self, key: &str, value: Json) {
        match self.get_mut(key) {
            Some(old) => *old = value,
            None => self.fields_mut().push((key.to_owned(), value)),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.fields_mut().retain(|(k, _)| k != key);
    }

    /// The field of an object, made an empty object where it is absent.
    pub(crate) fn child(&mut self, key: &str) -> &mut Json {
        if self.get(key).is_none() {
            self.set(key, Self::Object(Vec::new()));
        }
        self.get_mut(key).expect("just set")
    }

    pub(crate) fn number(&self) -> Option<f64> {
        if let Self::Num(text) = self { text.parse().ok() } else { None }
    }

    pub(crate) fn str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(b) => write!(out, "{b}"),
            Self::Num(number) => out.write_str(number),
            Self::Text(text) => quoted(text, out),
            Self::List(items) => {
                out.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if i > 0 { "," } else { "" })?;
                }
                out.write_char(']')
            }
            Self::Object(fields) => {
                out.write_char('{')?;
                for (i, (key, value)) in fields.iter().enumerate() {
                    out.write_str(if i > 0 { "," } else { "" })?;
                    quoted(key, out)?;
                    write!(out, ":{value}")?;
                }
                out.write_char('}')
            }
        }
    }
}

fn quoted(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Json, E> {
        Ok(Json::Bool(b))
    }

    fn visit_i64<E>(self, x: i64) -> Result<Json, E> {
        Ok(Json::Num(x.to_string()))
    }

    fn visit_u64<E>(self, x: u64) -> Result<Json, E> {
        Ok(Json::Num(x.to_string()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Json, E> {
        Ok(num(x))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Json::Object(fields))
    }
}
