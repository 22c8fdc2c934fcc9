//! GitHub's own description of its API as the judge.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::exchange::{Exchange, Judge};

/// What a description says of an operation.
struct Operation {
    method: String,
    /// The segments of its path; `None` for a part that can be anything.
    segments: Vec<Option<String>>,
    /// Names in the query.
    query: Vec<String>,
    /// The schema of the body, and whether there has to be one.
    body: Option<(Value, bool)>,
    /// The schemas of the answers by status; `None` where nothing is answered.
    answers: BTreeMap<String, Option<Value>>,
}

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

impl Operation {
    fn read(components: &Value, method: &str, path: &str, operation: &Value) -> Self {
        let segment = |text: &str| (!text.contains('{')).then(|| text.to_owned());
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let query = parameters
            .iter()
            .map(|parameter| resolved(components, parameter))
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| parameter["name"].as_str().map(str::to_owned))
            .collect();
        let body = resolved(components, &operation["requestBody"]);
        let schema = schema(body);
        let empty = serde_json::Map::new();
        let answers = operation["responses"].as_object().unwrap_or(&empty);
        Self {
            method: method.to_ascii_uppercase(),
            segments: path.trim_matches('/').split('/').map(segment).collect(),
            query,
            body: schema.map(|schema| (schema, body["required"] == true)),
            answers: answers
                .iter()
                .map(|(status, answer)| (status.clone(), self::schema(resolved(components, answer))))
                .collect(),
        }
    }

    fn under(&self, segments: Vec<Option<String>>) -> Self {
        Self {
            method: self.method.clone(),
            segments,
            query: self.query.clone(),
            body: self.body.clone(),
            answers: self.answers.clone(),
        }
    }

    /// Whether a path is one of this operation. The names of files, branches and comparisons may contain slashes.
    fn matches(&self, method: &str, path: &[&str]) -> bool {
        if self.method != method {
            return false;
        }
        let fits = |pattern: &Option<String>, segment: &&str| pattern.as_deref().is_none_or(|text| text == *segment);
        let all = |patterns: &[Option<String>], path: &[&str]| patterns.iter().zip(path).all(|(p, s)| fits(p, s));
        if path.len() == self.segments.len() {
            return all(&self.segments, path);
        }
        let wide = |text: &&Option<String>| matches!(text.as_deref(), Some("contents" | "compare" | "commits"));
        let Some(at) = self.segments.iter().position(|segment| wide(&segment)) else { return false };
        let tail = &self.segments[(at + 2).min(self.segments.len())..];
        path.len() > self.segments.len()
            && self.segments.len() > at + 1
            && all(&self.segments[..=at], path)
            && all(tail, &path[path.len() - tail.len()..])
    }
}

/// What follows `repos/{owner}/{repo}`.
fn under_repository(segments: &[Option<String>]) -> Option<&[Option<String>]> {
    match segments {
        [Some(first), None, None, rest @ ..] if first == "repos" => Some(rest),
        _ => None,
    }
}

/// What a reference refers to.
fn resolved<'a>(components: &'a Value, mut value: &'a Value) -> &'a Value {
    while let Some(name) = value["$ref"].as_str().and_then(|name| name.strip_prefix("#/components")) {
        value = components.pointer(name).unwrap_or(&Value::Null);
    }
    value
}

/// The schema of a body; `None` where there is none.
fn schema(body: &Value) -> Option<Value> {
    let content = body["content"].as_object()?;
    content.get("application/json").or_else(|| content.values().next()).map(|kind| kind["schema"].clone())
}

/// Turns `nullable` into a type, which is what validators know.
fn permit_null(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(permit_null),
        Value::Object(fields) => {
            fields.values_mut().for_each(permit_null);
            if fields.remove("nullable") != Some(Value::Bool(true)) {
                return;
            }
            if let Some(values) = fields.get_mut("enum").and_then(Value::as_array_mut) {
                values.push(Value::Null);
            }
            if let Some(Value::String(kind)) = fields.get("type").cloned() {
                fields.insert("type".to_owned(), json!([kind, "null"]));
            } else {
                let other = Value::Object(std::mem::take(fields));
                fields.insert("anyOf".to_owned(), json!([other, { "type": "null" }]));
            }
        }
        _ => {}
    }
}

/// Where the description is known to be narrower than what is answered: the head of a pull request has no repository
/// once the fork was deleted, and no user once the account was. The list of installations asks of an account that it is
/// a person and an enterprise at once; a single installation is described as it is.
fn known_differences(all: &mut Value) {
    let installations = "/paths/~1app~1installations/get/responses/200/content/application~1json/schema/items";
    if let Some(place) = all.pointer_mut(installations) {
        *place = json!({ "$ref": "#/components/schemas/installation" });
    }
    for schema in ["pull-request", "pull-request-simple"] {
        for part in ["repo", "user"] {
            let at = format!("/components/schemas/{schema}/properties/head/properties/{part}");
            if let Some(place) = all.pointer_mut(&at) {
                *place = json!({ "anyOf": [place.take(), { "type": "null" }] });
            }
        }
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
