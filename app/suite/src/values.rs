//! The values of all parameters of one arm, and how presets, requests and declared differences change them.

use std::collections::BTreeMap;

use crate::error::nearest;
use crate::parameter::{BadValue, Kind, Parameter, Value};
use crate::resolve::ResolveError;

/// Values by the names of their parameters; a parameter without one is unset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<String, Value>);

impl Values {
    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All values that are set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// What the defaults of the parameters give.
    pub(crate) fn defaults(parameters: &[Parameter]) -> Self {
        Self(parameters.iter().filter_map(|p| Some((p.name.clone(), p.default.clone()?))).collect())
    }

    /// Sets values of one level (a preset, a request, a treatment). A value takes away those of lower levels that it
    /// excludes.
    ///
    /// # Errors
    /// Two names that exclude each other.
    pub(crate) fn set(&mut self, parameters: &[Parameter], level: &[(String, Value)]) -> Result<(), (String, String)> {
        for (name, value) in level {
            for other in parameters.iter().filter(|other| excludes(parameters, name, &other.name)) {
                if level.iter().any(|(set, _)| *set == other.name) {
                    return Err((name.clone(), other.name.clone()));
                }
                self.0.remove(&other.name);
            }
            self.0.insert(name.clone(), value.clone());
        }
        Ok(())
    }

    /// The first parameter that must have a value and has none.
    pub(crate) fn lacking<'p>(&self, parameters: &'p [Parameter]) -> Option<&'p Parameter> {
        parameters.iter().find(|p| {
            let excluded = || self.0.keys().any(|set| excludes(parameters, set, &p.name));
            !p.optional && !self.0.contains_key(&p.name) && !excluded()
        })
    }
}

/// Whether only one of two parameters may have a value.
pub(crate) fn excludes(parameters: &[Parameter], one: &str, other: &str) -> bool {
    let names = |from: &str, to: &str| parameters.iter().any(|p| p.name == from && p.excludes.iter().any(|e| e == to));
    names(one, other) || names(other, one)
}

/// The pairs of a request as values, keys of spans put together. `base` has the values of the lower levels.
pub(crate) fn of_pairs<'p>(
    parameters: &[Parameter],
    base: &Values,
    pairs: impl Iterator<Item = (&'p str, &'p str)>,
) -> Result<Vec<(String, Value)>, ResolveError> {
    let mut level: Vec<(String, Value)> = Vec::new();
    // For spans that were given by their ends: the parameter, first, last.
    let mut ends: Vec<(&Parameter, Option<&str>, Option<&str>)> = Vec::new();
    for (key, text) in pairs {
        let refused = |bad: BadValue| ResolveError::Value {
            key: key.to_owned(),
            found: text.chars().take(60).collect(),
            expected: bad.expected,
            nearest: bad.nearest,
        };
        let (parameter, role) = owner(parameters, key)
            .ok_or_else(|| ResolveError::unknown_key(key, keys(parameters).iter().map(String::as_str)))?;
        let place = ends.iter().position(|(other, ..)| other.name == parameter.name);
        let taken = level.iter().any(|(name, _)| *name == parameter.name)
            || place.is_some_and(|at| match role {
                Role::First => ends[at].1.is_some(),
                Role::Last => ends[at].2.is_some(),
                Role::Whole | Role::Alias => true,
            });
        if taken {
            return Err(ResolveError::Twice { parameter: parameter.name.clone() });
        }
        match (role, &parameter.kind) {
            (Role::First | Role::Last, _) => {
                let at = place.unwrap_or_else(|| {
                    ends.push((parameter, None, None));
                    ends.len() - 1
                });
                if role == Role::First { ends[at].1 = Some(text) } else { ends[at].2 = Some(text) }
            }
            (Role::Alias, Kind::Span(steps)) => {
                level.push((parameter.name.clone(), steps.target(text).map_err(refused)?));
            }
            _ => level.push((parameter.name.clone(), parameter.of_text(text).map_err(refused)?)),
        }
    }
    for (parameter, first, last) in ends {
        let Kind::Span(steps) = &parameter.kind else { continue };
        let below = match base.get(&parameter.name) {
            Some(Value::Span { first, last }) => Some((first.as_str(), last.as_str())),
            _ => None,
        };
        let whole = (steps.of.first().map_or("", String::as_str), steps.of.last().map_or("", String::as_str));
        let below = below.unwrap_or(whole);
        let (first, last) = (first.unwrap_or(below.0), last.unwrap_or(below.1));
        let span = steps.span(first, last).map_err(|bad| ResolveError::Value {
            key: parameter.name.clone(),
            found: format!("{first}..{last}"),
            expected: bad.expected,
            nearest: bad.nearest,
        })?;
        level.push((parameter.name.clone(), span));
    }
    Ok(level)
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Whole,
    First,
    Last,
    Alias,
}

/// The parameter that a key of a command belongs to.
fn owner<'p>(parameters: &'p [Parameter], key: &str) -> Option<(&'p Parameter, Role)> {
    parameters.iter().find_map(|p| {
        if p.name == key {
            return Some((p, Role::Whole));
        }
        let Kind::Span(steps) = &p.kind else { return None };
        let ends = steps.keys.as_ref();
        if ends.is_some_and(|(first, _)| first == key) {
            Some((p, Role::First))
        } else if ends.is_some_and(|(_, last)| last == key) {
            Some((p, Role::Last))
        } else if steps.alias.as_deref() == Some(key) {
            Some((p, Role::Alias))
        } else {
            None
        }
    })
}

/// The parameter that a key of a command belongs to.
pub(crate) fn parameter_of<'p>(parameters: &'p [Parameter], key: &str) -> Option<&'p Parameter> {
    owner(parameters, key).map(|(parameter, _)| parameter)
}

/// Every key of a command that belongs to a parameter.
#[must_use]
pub fn keys(parameters: &[Parameter]) -> Vec<String> {
    let mut keys = Vec::new();
    for parameter in parameters {
        keys.push(parameter.name.clone());
        if let Kind::Span(steps) = &parameter.kind {
            keys.extend(steps.keys.iter().flat_map(|(first, last)| [first.clone(), last.clone()]));
            keys.extend(steps.alias.clone());
        }
    }
    keys
}

impl ResolveError {
    pub(crate) fn unknown_key<'k>(key: &str, parameters: impl Iterator<Item = &'k str>) -> Self {
        let mut allowed: Vec<String> = parameters.map(str::to_owned).collect();
        allowed.extend(domain::request::KEYS.iter().map(|key| key.name.to_owned()));
        let nearest = nearest(key, allowed.iter().map(String::as_str));
        Self::UnknownKey { key: key.to_owned(), allowed, nearest }
    }
}
