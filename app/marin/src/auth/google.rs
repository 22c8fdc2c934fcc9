//! Identity tokens of a Google service account, from its key file: a JWT signed with the key, with the claim
//! `target_audience`, is exchanged at the key's `token_uri` for an ID token (RFC 7523 grant).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{LoginError, TokenSource};
use crate::retry::{Clock, Later};
use crate::transport;

/// A token is renewed this long before it ends.
const MARGIN: Duration = Duration::from_mins(5);
/// How long the signed request is valid; Google allows at most an hour.
const ASSERTION: Duration = Duration::from_mins(10);
const EXCHANGE: Duration = Duration::from_secs(20);
const ANSWER_LIMIT: usize = 64 * 1024;

/// A source of ID tokens for one audience. Concurrent callers share one exchange.
pub struct ServiceAccount {
    email: String,
    key_id: Option<String>,
    key: EncodingKey,
    token_uri: String,
    audience: String,
    http: reqwest::Client,
    clock: Arc<dyn Clock>,
    cached: Mutex<Option<Cached>>,
}

struct Cached {
    token: SecretString,
    ends: Duration,
}

// By hand: the key must not be printed.
impl std::fmt::Debug for ServiceAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceAccount")
            .field("email", &self.email)
            .field("token_uri", &self.token_uri)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    private_key: SecretString,
    private_key_id: Option<String>,
    token_uri: String,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
    target_audience: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    id_token: Option<SecretString>,
    error: Option<String>,
}

impl ServiceAccount {
    /// Reads a key file (the JSON that Google hands out) for tokens of `audience`.
    ///
    /// # Errors
    /// The text is not such a key, or its `token_uri` is neither https nor on loopback.
    pub fn new(key_file: &SecretString, audience: &str, clock: Arc<dyn Clock>) -> Result<Self, LoginError> {
        // The parser's message may quote the text it read: only its place is told.
        let file: KeyFile = serde_json::from_str(key_file.expose_secret()).map_err(|error| {
            LoginError::BadKey(format!(
                "not JSON with type, client_email, private_key and token_uri (line {}, column {})",
                error.line(),
                error.column()
            ))
        })?;
        if file.kind != "service_account" {
            return Err(LoginError::BadKey("`type` is not service_account".into()));
        }
        let key = EncodingKey::from_rsa_pem(file.private_key.expose_secret().as_bytes())
            .map_err(|_| LoginError::BadKey("`private_key` is not an RSA key in PEM".into()))?;
        let address = transport::address(&file.token_uri)
            .map_err(|_| LoginError::BadKey("`token_uri` is not an address".into()))?;
        let http = transport::http_client(&address)
            .map_err(|_| LoginError::BadKey("`token_uri` must be https, or on loopback".into()))?;
        Ok(Self {
            email: file.client_email,
            key_id: file.private_key_id,
            key,
            token_uri: file.token_uri,
            audience: audience.to_owned(),
            http,
            clock,
            cached: Mutex::new(None),
        })
    }

    async fn exchange(&self) -> Result<Cached, LoginError> {
        let now = self.clock.unix();
        let claims = Claims {
            iss: &self.email,
            sub: &self.email,
            aud: &self.token_uri,
            iat: now.as_secs(),
            exp: (now + ASSERTION).as_secs(),
            target_audience: &self.audience,
        };
        let mut header = Header::new(Algorithm::RS256);
        header.kid.clone_from(&self.key_id);
        let assertion = jsonwebtoken::encode(&header, &claims, &self.key)
            .map_err(|_| LoginError::BadKey("the key cannot sign".into()))?;
        // A JWT is letters, digits, `-`, `_` and `.`: nothing to escape.
        let form = format!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}");
        let request = self
            .http
            .post(&self.token_uri)
            .header("content-type", "application/x-www-form-urlencoded")
            .timeout(EXCHANGE)
            .body(form);
        let answer = request.send().await.map_err(|error| LoginError::Unreachable(transport::words(error)))?;
        let http = answer.status().as_u16();
        let body = transport::read(answer, ANSWER_LIMIT)
            .await
            .map_err(|_| LoginError::Unreachable("the answer broke off or is too large".into()))?;
        let answer: Option<Answer> = serde_json::from_slice(&body).ok();
        if http != 200 {
            let reason = answer.and_then(|answer| answer.error).unwrap_or_else(|| "no reason given".into());
            return Err(LoginError::Refused { http, reason: reason.chars().take(100).collect() });
        }
        let token = answer
            .and_then(|answer| answer.id_token)
            .ok_or_else(|| LoginError::Unreachable("the answer has no id_token".into()))?;
        let ends = end_of(token.expose_secret())
            .ok_or_else(|| LoginError::Unreachable("the id_token has no readable `exp`".into()))?;
        Ok(Cached { token, ends })
    }
}

/// The claim `exp` of a token from a server we asked ourselves; the signature is the business of whom we show it to.
fn end_of(token: &str) -> Option<Duration> {
    #[derive(Deserialize)]
    struct End {
        exp: u64,
    }
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    serde_json::from_slice::<End>(&payload).ok().map(|end| Duration::from_secs(end.exp))
}

impl TokenSource for ServiceAccount {
    fn token(&self) -> Later<'_, Result<SecretString, LoginError>> {
        Box::pin(async move {
            // Held over the exchange: those who come meanwhile wait and find its token.
            let mut cached = self.cached.lock().await;
            let now = self.clock.unix();
            if let Some(held) = cached.as_ref().filter(|held| now + MARGIN < held.ends) {
                return Ok(held.token.clone());
            }
            match self.exchange().await {
                Ok(fresh) => {
                    let token = fresh.token.clone();
                    *cached = Some(fresh);
                    Ok(token)
                }
                // The old one is good for minutes yet.
                Err(error) if error.is_transient() => match cached.as_ref().filter(|held| now < held.ends) {
                    Some(held) => Ok(held.token.clone()),
                    None => Err(error),
                },
                Err(error) => Err(error),
            }
        })
    }

    fn refused(&self) -> Later<'_, ()> {
        Box::pin(async move { *self.cached.lock().await = None })
    }
}
