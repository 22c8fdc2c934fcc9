//! What GitHub refuses though its description permits it.

use serde_json::Value;

/// The longest body of a comment, characters.
const BODY: usize = 65_536;
/// The longest summary and text of a check run, characters.
const OUTPUT: usize = 65_535;

/// What a body is too long or too short for.
pub(crate) fn breaches(method: &str, path: &str, body: Option<&Value>) -> Vec<String> {
    let Some(body) = body.filter(|_| method == "POST" || method == "PATCH") else { return Vec::new() };
    let mut breaches = Vec::new();
    if path.ends_with("/comments") || path.contains("/issues/comments/") && !path.contains("/reactions") {
        longer(&mut breaches, body, "/body", BODY, "body is too long (maximum is 65536 characters)");
        if body["body"].as_str().is_some_and(|text| text.trim().is_empty()) {
            breaches.push("body can't be blank".to_owned());
        }
    }
    if path.contains("/check-runs") {
        check(&mut breaches, body);
    }
    breaches
}

fn check(breaches: &mut Vec<String>, body: &Value) {
    for part in ["summary", "text"] {
        let message = format!("output.{part} exceeds a maximum of 65535 characters");
        longer(breaches, body, &format!("/output/{part}"), OUTPUT, &message);
    }
    if body["status"] == "completed" && body["conclusion"].is_null() {
        breaches.push("a completed check run needs a conclusion".to_owned());
    }
    if body["output"].is_object() && !(body["output"]["title"].is_string() && body["output"]["summary"].is_string()) {
        breaches.push("an output needs a title and a summary".to_owned());
    }
    let actions = body["actions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if actions.len() > 3 {
        breaches.push("no more than 3 actions are permitted".to_owned());
    }
    for action in actions {
        for (part, most) in [("label", 20), ("description", 40), ("identifier", 20)] {
            longer(
                breaches,
                action,
                &format!("/{part}"),
                most,
                &format!("{part} of an action exceeds {most} characters"),
            );
        }
    }
}

fn longer(breaches: &mut Vec<String>, body: &Value, at: &str, most: usize, message: &str) {
    if body.pointer(at).and_then(Value::as_str).is_some_and(|text| text.chars().count() > most) {
        breaches.push(message.to_owned());
    }
}
