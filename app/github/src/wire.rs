//! One request and its answer.

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderValue, LOCATION, USER_AGENT};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::redact::words;
use crate::settings::{Places, Settings, SetupError};
use crate::times;

/// More than the largest delivery (25 MB) with what stands around it.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;
/// A renamed repository is one redirect, a renamed owner another.
const REDIRECTS: usize = 5;

/// The way to one GitHub.
pub(crate) struct Wire {
    client: Octocrab,
    places: Places,
    user_agent: HeaderValue,
    timeout: Duration,
}

/// An answer, whatever it says. It may say a token: not to be printed.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// What was asked: method and path, for people.
    pub(crate) asked: String,
    /// Somewhere else than where it was asked.
    pub(crate) redirected: bool,
}

/// Nobody can tell whether the request arrived.
#[derive(Debug)]
pub(crate) struct NoAnswer(pub(crate) String);

impl Wire {
    pub(crate) fn new(settings: &Settings) -> Result<Self, SetupError> {
        let places = Places::of(settings)?;
        let user_agent = HeaderValue::from_str(&settings.user_agent).map_err(|_| SetupError::UserAgent)?;
        let provider = rustls::crypto::ring::default_provider();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(provider)
            .map_err(|error| SetupError::Connections(error.to_string()))?
            .https_or_http()
            .enable_http1()
            .build();
        // No layer: nothing that repeats, redirects or logs.
        let service = Client::builder(TokioExecutor::new()).build::<_, OctoBody>(connector);
        let Ok(client) = OctocrabBuilder::new_empty().with_service(service).with_auth(AuthState::None).build();
        Ok(Self { client, places, user_agent, timeout: Duration::from_millis(settings.timeout_ms) })
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// The whole address of a path that begins with a slash.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.places.api)
    }

    /// Whether `address` is on the host of the API: tokens are shown nowhere else.
    pub(crate) fn is_here(&self, address: &Uri) -> bool {
        let authority = address.authority().map_or("", |authority| authority.as_str());
        authority.eq_ignore_ascii_case(&self.places.authority) && address.scheme_str() == Some(&self.places.scheme)
    }

    /// Asks `address`. Redirects on the same host are followed with the same method, body and login, as GitHub wants it.
    pub(crate) async fn send(
        &self,
        method: &Method,
        address: &str,
        login: &SecretString,
        body: Option<&Value>,
    ) -> Result<Reply, NoAnswer> {
        let mut address = address.to_owned();
        let mut redirected = false;
        for _ in 0..=REDIRECTS {
            let mut reply = self.send_once(method, &address, login, body).await?;
            reply.redirected = redirected;
            match self.onward(&reply, &address) {
                Some(next) => address = next,
                None => return Ok(reply),
            }
            redirected = true;
        }
        Err(NoAnswer(format!("{method} {}: sent on and on", path_of(&address))))
    }

    /// Where a redirect leads; `None` for other answers and for other hosts.
    fn onward(&self, reply: &Reply, from: &str) -> Option<String> {
        if !matches!(reply.status.as_u16(), 301 | 302 | 307 | 308) {
            return None;
        }
        let location = reply.headers.get(LOCATION)?.to_str().ok()?;
        let next: Uri = location.parse().ok()?;
        let whole = if next.authority().is_some() {
            location.to_owned()
        } else if location.starts_with('/') {
            format!("{}://{}{location}", self.places.scheme, self.places.authority)
        } else {
            return None;
        };
        (self.is_here(&whole.parse().ok()?) && whole != from).then_some(whole)
    }

    async fn send_once(
        &self,
        method: &Method,
        address: &str,
        login: &SecretString,
        body: Option<&Value>,
    ) -> Result<Reply, NoAnswer> {
        let asked = format!("{method} {}", path_of(address));
        let failed = |why: &str| NoAnswer(format!("{asked}: {}", words(why)));
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", login.expose_secret()))
            .map_err(|_| failed("the token cannot stand in a header"))?;
        bearer.set_sensitive(true);
        let mut request = Request::builder()
            .method(method)
            .uri(address)
            .header(AUTHORIZATION, bearer)
            .header(USER_AGENT, &self.user_agent)
            .header(ACCEPT, "application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28");
        let content = match body {
            Some(body) => {
                request = request.header(CONTENT_TYPE, "application/json");
                OctoBody::from(body.to_string())
            }
            None => OctoBody::empty(),
        };
        let request = request.body(content).map_err(|error| failed(&error.to_string()))?;
        let exchange = async {
            let response = self.client.execute(request).await.map_err(|error| failed(&causes(&error)))?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, LARGEST_ANSWER)
                .collect()
                .await
                .map_err(|error| failed(&format!("the answer broke off: {}", causes(error.as_ref()))))?;
            Ok(Reply {
                status: head.status,
                headers: head.headers,
                body: body.to_bytes().to_vec(),
                asked: asked.clone(),
                redirected: false,
            })
        };
        let reply = tokio::time::timeout(self.timeout, exchange)
            .await
            .map_err(|_| failed(&format!("no answer within {} ms", self.timeout.as_millis())))??;
        tracing::debug!(%method, path = path_of(address), status = reply.status.as_u16(), "asked GitHub");
        Ok(reply)
    }
}

impl Reply {
    /// The body as `T`; `None` where it is something else.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// GitHub's clock when it answered, in Unix seconds.
    pub(crate) fn date(&self) -> Option<u64> {
        times::from_http(self.headers.get(DATE)?.to_str().ok()?)
    }
}

/// The path without the query, for people.
fn path_of(address: &str) -> &str {
    let path = address.split_once("://").map_or(address, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    path.split('?').next().unwrap_or(path)
}

/// An error with what caused it: the outermost of hyper's errors says little. The backtraces that octocrab's errors
/// print are left out.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string().lines().next().unwrap_or_default().to_owned();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        next = error.source();
    }
    texts.join(": ")
}
