//! What a call carries to be let in. Tokens live in [`SecretString`] and are never formatted.

mod google;

use std::fmt::Debug;
use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use secrecy::{ExposeSecret as _, SecretString};

pub use google::ServiceAccount;

use crate::retry::Later;

/// Why there is no token. None of the texts holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The key file is not a service-account key.
    #[error("service-account key: {0}")]
    BadKey(String),
    /// A token cannot stand in a header.
    #[error("the token has characters that cannot stand in a header")]
    BadToken,
    /// The exchange was refused.
    #[error("the token server refused (HTTP {http}): {reason}")]
    Refused {
        /// HTTP status.
        http: u16,
        /// The `error` word of the answer.
        reason: String,
    },
    /// The token server cannot be reached or does not answer as it should.
    #[error("token server: {0}")]
    Unreachable(String),
}

impl LoginError {
    /// Whether another try may succeed although nothing changed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { http, .. } => *http == 429 || *http >= 500,
            Self::BadKey(_) | Self::BadToken => false,
        }
    }
}

/// Where a bearer token comes from.
pub trait TokenSource: Send + Sync + Debug {
    /// A token that is valid now.
    fn token(&self) -> Later<'_, Result<SecretString, LoginError>>;

    /// The last token was refused by a server; a source that caches forgets it.
    fn refused(&self) -> Later<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A token that never changes.
#[derive(Debug, Clone)]
pub struct StaticToken(SecretString);

impl StaticToken {
    /// Keeps the token.
    #[must_use]
    pub fn new(token: SecretString) -> Self {
        Self(token)
    }
}

impl TokenSource for StaticToken {
    fn token(&self) -> Later<'_, Result<SecretString, LoginError>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

/// Which headers a call carries: `Authorization` for the service itself, `Proxy-Authorization` for an identity-aware
/// proxy before it. Either, both or none.
#[derive(Debug, Clone, Default)]
pub struct Login {
    service: Option<Arc<dyn TokenSource>>,
    proxy: Option<Arc<dyn TokenSource>>,
}

impl Login {
    /// No headers: a controller on loopback or in a trusted network.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds `Authorization: Bearer`.
    #[must_use]
    pub fn with_service(self, source: Arc<dyn TokenSource>) -> Self {
        Self { service: Some(source), ..self }
    }

    /// Adds `Proxy-Authorization: Bearer`.
    #[must_use]
    pub fn with_proxy(self, source: Arc<dyn TokenSource>) -> Self {
        Self { proxy: Some(source), ..self }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.service.is_none() && self.proxy.is_none()
    }

    /// The headers of one call.
    pub(crate) async fn headers(&self) -> Result<HeaderMap, LoginError> {
        let mut headers = HeaderMap::new();
        for (source, header) in [(&self.service, AUTHORIZATION), (&self.proxy, PROXY_AUTHORIZATION)] {
            if let Some(source) = source {
                let token = source.token().await?;
                let text = SecretString::from(format!("Bearer {}", token.expose_secret()));
                let mut value = HeaderValue::from_str(text.expose_secret()).map_err(|_| LoginError::BadToken)?;
                value.set_sensitive(true);
                headers.insert(header, value);
            }
        }
        Ok(headers)
    }

    /// The server said the login is not valid. True when another try makes sense.
    pub(crate) async fn refused(&self) -> bool {
        for source in [&self.service, &self.proxy].into_iter().flatten() {
            source.refused().await;
        }
        !self.is_none()
    }
}
