//! What a description says of an operation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::schema::{body_of, resolved};

/// What a description says of an operation.
pub(super) struct Operation {
    pub(super) method: String,
    /// The segments of its path; `None` for a part that can be anything.
    pub(super) segments: Vec<Option<String>>,
    /// Names in the query.
    pub(super) query: Vec<String>,
    /// The schema of the body, and whether there has to be one.
    pub(super) body: Option<(Value, bool)>,
    /// The schemas of the answers by status; `None` where nothing is answered.
    pub(super) answers: BTreeMap<String, Option<Value>>,
}

impl Operation {
    pub(super) fn read(components: &Value, method: &str, path: &str, operation: &Value) -> Self {
        let segment = |text: &str| (!text.contains('{')).then(|| text.to_owned());
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let query = parameters
            .iter()
            .map(|parameter| resolved(components, parameter))
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| parameter["name"].as_str().map(str::to_owned))
            .collect();
        let body = resolved(components, &operation["requestBody"]);
        let schema = body_of(body);
        let empty = serde_json::Map::new();
        let answers = operation["responses"].as_object().unwrap_or(&empty);
        Self {
            method: method.to_ascii_uppercase(),
            segments: path.trim_matches('/').split('/').map(segment).collect(),
            query,
            body: schema.map(|schema| (schema, body["required"] == true)),
            answers: answers
                .iter()
                .map(|(status, answer)| (status.clone(), body_of(resolved(components, answer))))
                .collect(),
        }
    }

    pub(super) fn under(&self, segments: Vec<Option<String>>) -> Self {
        Self {
            method: self.method.clone(),
            segments,
            query: self.query.clone(),
            body: self.body.clone(),
            answers: self.answers.clone(),
        }
    }

    /// Whether a path is one of this operation. The names of files, branches and comparisons may contain slashes.
    pub(super) fn matches(&self, method: &str, path: &[&str]) -> bool {
        // Clients that know no PATCH may send POST, and some that know it do as well.
        if self.method != method && !(self.method == "PATCH" && method == "POST") {
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
pub(super) fn under_repository(segments: &[Option<String>]) -> Option<&[Option<String>]> {
    match segments {
        [Some(first), None, None, rest @ ..] if first == "repos" => Some(rest),
        _ => None,
    }
}
