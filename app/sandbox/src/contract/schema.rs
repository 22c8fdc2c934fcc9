//! Schemas as a description writes them, and as validators read them.

use serde_json::{Value, json};

/// What a reference refers to.
pub(super) fn resolved<'a>(components: &'a Value, mut value: &'a Value) -> &'a Value {
    while let Some(name) = value["$ref"].as_str().and_then(|name| name.strip_prefix("#/components")) {
        value = components.pointer(name).unwrap_or(&Value::Null);
    }
    value
}

/// The schema of a body; `None` where there is none.
pub(super) fn body_of(body: &Value) -> Option<Value> {
    let content = body["content"].as_object()?;
    content.get("application/json").or_else(|| content.values().next()).map(|kind| kind["schema"].clone())
}

/// Turns `nullable` into a type, which is what validators know.
pub(super) fn permit_null(value: &mut Value) {
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
pub(super) fn known_differences(all: &mut Value) {
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
