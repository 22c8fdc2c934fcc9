//! A JSON value that is looked at lazily, with the place where it stands.
//!
//! Values stay text until somebody asks for their type. A number that no f64 can hold is then a bad value of its row
//! rather than broken JSON, nesting that nobody asks for is never descended into, and every refusal can name its place.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::UsageError;
use crate::case::Reading;

/// How a value is reached from the value above it.
#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Field(&'p Place<'p>, &'p str),
    Index(&'p Place<'p>, usize),
}

/// Where a value stands.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p>(Step<'p>);

impl Place<'_> {
    pub(crate) const ROOT: Place<'static> = Place(Step::Root);
}

impl<'p> Place<'p> {
    pub(crate) fn field(&'p self, name: &'p str) -> Place<'p> {
        Place(Step::Field(self, name))
    }

    pub(crate) fn index(&'p self, index: usize) -> Place<'p> {
        Place(Step::Index(self, index))
    }

    /// The refusal that names this place.
    pub(crate) fn expected(&self, what: impl Into<String>) -> UsageError {
        UsageError::new(&self.to_string(), what)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Step::Root => f.write_str("case"),
            // An empty name would leave nothing to read.
            Step::Field(parent, "") => write!(f, "{parent}.\"\""),
            Step::Field(Place(Step::Root), name) => f.write_str(name),
            Step::Field(parent, name) => write!(f, "{parent}.{name}"),
            Step::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The fields of an object, in order.
pub(crate) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(k, _)| k == name).map(|(_, v)| *v)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(k, v)| (k.as_str(), *v))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An object whose fields are any of `allowed`, or any at all.
pub(crate) fn object<'a>(
    raw: &'a RawValue,
    place: &Place<'_>,
    allowed: Option<&[&str]>,
) -> Result<Fields<'a>, UsageError> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    if !raw.get().starts_with('{') {
        return Err(place.expected("an object"));
    }
    let fields = serde_json::Deserializer::from_str(raw.get())
        .deserialize_map(Entries)
        .map_err(|_| place.expected("field names that are valid text"))?;
    let mut seen = HashSet::with_capacity(fields.len());
    for (name, _) in &fields {
        if !seen.insert(name.as_str()) {
            return Err(place.field(name).expected("no field twice"));
        }
        if let Some(allowed) = allowed
            && !allowed.contains(&name.as_str())
        {
            return Err(place.field(name).expected(one_of(allowed, Some(name))));
        }
    }
    Ok(Fields(fields))
}

/// "one of ..., nearest: ...".
pub(crate) fn one_of(allowed: &[&str], given: Option<&str>) -> String {
    let nearest = given.filter(|given| given.len() <= 64).and_then(|given| {
        allowed
            .iter()
            .map(|a| (strsim::osa_distance(a, given), *a))
            .min()
            .filter(|(distance, a)| *distance <= 1 + a.len() / 3)
            .map(|(_, a)| format!("; nearest: {a}"))
    });
    format!("one of {}{}", allowed.join(", "), nearest.unwrap_or_default())
}

pub(crate) fn list<'a>(raw: &'a RawValue, place: &Place<'_>, what: &str) -> Result<Vec<&'a RawValue>, UsageError> {
    if !raw.get().starts_with('[') {
        return Err(place.expected(what));
    }
    serde_json::from_str(raw.get()).map_err(|_| place.expected(what))
}

pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// The number, whatever its size; infinite where no f64 holds it. `None` for every other type.
pub(crate) fn number(raw: &RawValue) -> Option<f64> {
    let text = raw.get();
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

pub(crate) fn number_within(
    raw: &RawValue,
    place: &Place<'_>,
    range: std::ops::RangeInclusive<f64>,
    what: &str,
) -> Result<f64, UsageError> {
    number(raw).filter(|v| range.contains(v)).ok_or_else(|| place.expected(what))
}

/// A whole number of 0 ..= 1e9, written without fraction or exponent.
pub(crate) fn count(raw: &RawValue, place: &Place<'_>, what: &str) -> Result<u64, UsageError> {
    raw.get()
        .parse::<i64>()
        .ok()
        .and_then(|v| u64::try_from(v).ok())
        .filter(|v| *v <= 1_000_000_000)
        .ok_or_else(|| place.expected(what))
}

pub(crate) fn boolean(raw: &RawValue, place: &Place<'_>) -> Result<bool, UsageError> {
    match raw.get() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(place.expected("true or false")),
    }
}

pub(crate) fn text(raw: &RawValue, place: &Place<'_>, what: &str) -> Result<String, UsageError> {
    serde_json::from_str(raw.get()).map_err(|_| place.expected(what))
}

/// A metric: any type is accepted, only a usable number is a value.
pub(crate) fn reading(raw: Option<&RawValue>) -> Reading {
    match raw {
        None => Reading::Missing,
        Some(raw) if is_null(raw) => Reading::Missing,
        Some(raw) => number(raw).map_or(Reading::Bad, Reading::of),
    }
}
