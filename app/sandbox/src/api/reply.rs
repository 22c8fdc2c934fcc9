//! An answer of the API.

use serde_json::{Value, json};

/// An answer of the API.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

/// An answer, or one that says why not.
pub(crate) type Answer = Result<Reply, Reply>;

impl Reply {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body: Some(body) }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: None }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// An answer that says why not.
pub(crate) fn refuse(status: u16, message: &str) -> Reply {
    let docs = "https://docs.github.com/rest";
    Reply::new(status, json!({ "message": message, "documentation_url": docs, "status": status.to_string() }))
}

/// 422 for a field of the body.
pub(crate) fn invalid(resource: &str, field: &str, message: &str) -> Reply {
    let errors = json!([{ "resource": resource, "code": "custom", "field": field, "message": message }]);
    let docs = "https://docs.github.com/rest";
    Reply::new(
        422,
        json!({ "message": "Validation Failed", "errors": errors, "documentation_url": docs, "status": "422" }),
    )
}

pub(crate) fn not_found() -> Reply {
    refuse(404, "Not Found")
}

pub(crate) fn forbidden() -> Reply {
    refuse(403, "Resource not accessible by integration")
}

impl From<crate::Error> for Reply {
    fn from(error: crate::Error) -> Self {
        match error {
            crate::Error::Unknown(_) => not_found(),
            crate::Error::Refused(why) => refuse(422, &why),
            other => refuse(500, &other.to_string()),
        }
    }
}
