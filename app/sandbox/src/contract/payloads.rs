//! What a webhook is told.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::shortened;

/// A description of what a webhook is told.
pub struct Payloads(BTreeMap<String, Validator>);

impl Payloads {
    /// Reads a description in the format of `OpenAPI` 3.1: schemas by names such as `issue-comment-created`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(description: &str) -> Result<Self, String> {
        let all: Value = serde_json::from_str(description).map_err(|error| error.to_string())?;
        let mut validators = BTreeMap::new();
        for (name, schema) in all["webhooks"].as_object().ok_or("there are no webhooks")? {
            let whole = json!({ "allOf": [schema], "components": all["components"] });
            let made = jsonschema::draft202012::new(&whole).map_err(|error| format!("{name}: {error}"))?;
            validators.insert(name.clone(), made);
        }
        Ok(Self(validators))
    }

    /// What is wrong with a payload of this event, such as `issue_comment`.
    #[must_use]
    pub fn check(&self, event: &str, payload: &Value) -> Vec<String> {
        let action = payload["action"].as_str().map(|action| format!("-{action}")).unwrap_or_default();
        let name = format!("{event}{action}").replace('_', "-");
        let Some(validator) = self.0.get(&name) else { return vec![format!("{name} is not described")] };
        let said = |error: jsonschema::ValidationError<'_>| {
            format!("{}: {}", error.instance_path(), shortened(&error.to_string()))
        };
        validator.iter_errors(payload).map(said).collect()
    }
}
