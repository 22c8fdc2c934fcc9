//! GitHub's own description of its API as the judge: of requests and answers, and of what a webhook is told.

mod operation;
mod payloads;
mod schema;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use self::operation::{Operation, under_repository};
use self::schema::{known_differences, permit_null};

pub use self::payloads::Payloads;
use crate::exchange::{Exchange, Judge};

/// A description of the API.
struct Contract {
    operations: Vec<Operation>,
    components: Value,
    /// Validators by operation and place, made when they are needed.
    validators: Mutex<BTreeMap<(usize, String), Arc<Validator>>>,
}

/// Statuses that may be answered to everything, whether the description says so or not.
const ALWAYS: [u16; 14] = [301, 304, 307, 400, 401, 403, 404, 410, 415, 422, 429, 500, 502, 503];

/// A judge by a description in the format of `OpenAPI` 3.0, which is passed in as JSON.
///
/// # Errors
/// What is wrong with the description.
pub fn judge(description: &str) -> Result<Judge, String> {
    let contract = Contract::read(description)?;
    Ok(Arc::new(move |exchange: &Exchange<'_>| contract.judge(exchange)))
}

impl Contract {
    fn read(description: &str) -> Result<Self, String> {
        let mut all: Value = serde_json::from_str(description).map_err(|error| error.to_string())?;
        permit_null(&mut all);
        known_differences(&mut all);
        let components = all["components"].clone();
        let mut operations = Vec::new();
        for (path, methods) in all["paths"].as_object().ok_or("there are no paths")? {
            for (method, operation) in methods.as_object().ok_or("a path has no methods")? {
                operations.push(Operation::read(&components, method, path, operation));
            }
        }
        // The same repository by its number is not described.
        for at in 0..operations.len() {
            if let Some(rest) = under_repository(&operations[at].segments) {
                let mut segments = vec![Some("repositories".to_owned()), None];
                segments.extend_from_slice(rest);
                let copy = operations[at].under(segments);
                operations.push(copy);
            }
        }
        Ok(Self { operations, components, validators: Mutex::default() })
    }

    fn judge(&self, exchange: &Exchange<'_>) -> Vec<String> {
        let path: Vec<&str> = exchange.path.trim_start_matches('/').split('/').collect();
        let mut found: Vec<usize> =
            (0..self.operations.len()).filter(|&at| self.operations[at].matches(exchange.method, &path)).collect();
        // `issues/comments/1` is also an issue called `comments`: the more is spelled out, the better.
        found.sort_by_key(|&at| Reverse(self.operations[at].segments.iter().flatten().count()));
        let Some(&at) = found.first() else {
            return if exchange.answer.is_none() {
                vec!["no such operation is described".to_owned()]
            } else {
                Vec::new()
            };
        };
        match exchange.answer {
            None => self.judge_request(at, exchange),
            Some((status, body)) => self.judge_answer(at, status, body),
        }
    }

    fn judge_request(&self, at: usize, exchange: &Exchange<'_>) -> Vec<String> {
        let operation = &self.operations[at];
        let unknown = exchange.query.iter().filter(|(name, _)| !operation.query.contains(name));
        let mut wrong: Vec<String> = unknown.map(|(name, _)| format!("{name} is not known in the query")).collect();
        match (&operation.body, exchange.request) {
            (None, Some(_)) => wrong.push("a body is not expected".to_owned()),
            (Some((_, true)), None) => wrong.push("a body is expected".to_owned()),
            (Some((schema, _)), Some(body)) => wrong.extend(self.check(at, "request", schema, body)),
            (_, None) => {}
        }
        wrong
    }

    fn judge_answer(&self, at: usize, status: u16, body: Option<&Value>) -> Vec<String> {
        let place = status.to_string();
        match (self.operations[at].answers.get(&place), body) {
            (None, _) if ALWAYS.contains(&status) => Vec::new(),
            (None, _) => vec![format!("{status} is not described")],
            (Some(Some(schema)), Some(body)) => self.check(at, &place, schema, body),
            (Some(Some(_)), None) => vec![format!("{status} needs a body")],
            (Some(None), _) => Vec::new(),
        }
    }

    fn check(&self, at: usize, place: &str, schema: &Value, body: &Value) -> Vec<String> {
        let key = (at, place.to_owned());
        let known = self.validators.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let validator = if let Some(validator) = known {
            validator
        } else {
            let whole = json!({ "allOf": [schema], "components": self.components });
            let made = match jsonschema::options().with_draft(jsonschema::Draft::Draft4).build(&whole) {
                Ok(made) => Arc::new(made),
                Err(error) => return vec![format!("the description cannot be used: {error}")],
            };
            self.validators.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&made));
            made
        };
        validator
            .iter_errors(body)
            .map(|error| format!("{}: {}", error.instance_path(), shortened(&error.to_string())))
            .collect()
    }
}

/// A complaint without the whole of what it is about.
fn shortened(text: &str) -> String {
    if text.chars().count() <= 300 {
        text.to_owned()
    } else {
        format!("{} ...", text.chars().take(300).collect::<String>())
    }
}
