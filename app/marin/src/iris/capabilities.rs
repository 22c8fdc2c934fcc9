//! What a controller knows, learnt from its refusal of a field that no controller has.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Iris, LAUNCH};
use crate::error::{Code, Error};

/// A field no version has; the refusal names those it does have.
const PROBE: &str = "marinProbe";

/// Fields of a launch that every known controller has (June to November 2026), as far as this crate sends them.
const EVERY_LAUNCH: [&str; 18] = [
    "name",
    "entrypoint",
    "resources",
    "environment",
    "bundleId",
    "bundleBlob",
    "constraints",
    "replicas",
    "maxTaskFailures",
    "maxRetriesFailure",
    "maxRetriesPreemption",
    "timeout",
    "schedulingTimeout",
    "priorityBand",
    "existingJobPolicy",
    "taskImage",
    "submitArgv",
    "clientRevisionDate",
];
const EVERY_ENVIRONMENT: [&str; 1] = ["envVars"];

/// Which fields may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Fields of a launch.
    pub launch: Fields,
    /// Fields of its environment.
    pub environment: Fields,
}

/// Which fields of a message may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fields {
    /// These, as the controller told.
    Known(BTreeSet<String>),
    /// All: the controller takes no notice of fields it does not know.
    Any,
    /// Those that every known version has: the controller did not tell.
    Untold(BTreeSet<String>),
}

impl Fields {
    /// Whether `field` may be sent.
    #[must_use]
    pub fn has(&self, field: &str) -> bool {
        match self {
            Self::Known(fields) | Self::Untold(fields) => fields.contains(field),
            Self::Any => true,
        }
    }

    fn check(&self, value: Option<&Value>, path: &str) -> Result<(), Error> {
        let members = value.and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys);
        for field in members {
            if let (false, Self::Known(known) | Self::Untold(known)) = (self.has(field), self) {
                return Err(Error::UnsupportedField {
                    method: LAUNCH.into(),
                    field: format!("{path}{field}"),
                    known: known.iter().cloned().collect(),
                });
            }
        }
        Ok(())
    }
}

impl Capabilities {
    /// Whether a launch, as JSON, has only fields the controller knows.
    pub(super) fn check(&self, launch: &Value) -> Result<(), Error> {
        self.launch.check(Some(launch), "")?;
        self.environment.check(launch.get("environment"), "environment.")
    }
}

impl Iris {
    /// What the controller knows. Asked once (two calls that launch nothing) and kept as long as this client, whose
    /// clones share it; a controller that is replaced by another version needs a new client.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn capabilities(&self) -> Result<&Capabilities, Error> {
        self.capabilities
            .get_or_try_init(|| async {
                let launch = self.fields(&json!({ PROBE: true }), &EVERY_LAUNCH).await?;
                let environment = self.fields(&json!({ "environment": { PROBE: true } }), &EVERY_ENVIRONMENT).await?;
                Ok(Capabilities { launch, environment })
            })
            .await
    }

    async fn fields(&self, probe: &Value, every: &[&str]) -> Result<Fields, Error> {
        let untold = || Fields::Untold(every.iter().map(|field| (*field).to_owned()).collect());
        match self.transport.call::<_, Value>(LAUNCH, probe).await {
            Err(Error::UnsupportedField { field, known, .. }) if field.ends_with(PROBE) && !known.is_empty() => {
                Ok(Fields::Known(known.into_iter().collect()))
            }
            Err(Error::UnsupportedField { .. }) => Ok(untold()),
            // It read the request, for it misses the name in it, and took no notice of the field.
            Err(error) if error.code() == Some(&Code::InvalidArgument) => Ok(Fields::Any),
            // Refused before it was read, or in words this version does not know.
            Err(Error::Rpc { code: Code::PermissionDenied | Code::Unknown | Code::FailedPrecondition, .. }) => {
                Ok(untold())
            }
            Err(error) => Err(error),
            Ok(_) => {
                Err(Error::Malformed { method: LAUNCH.into(), why: "a launch without a name was accepted".into() })
            }
        }
    }
}
