//! One call: a POST of JSON with a deadline and a limit on the answer, repeated where that is safe.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::auth::Login;
use crate::error::{self, Code, Error};
use crate::retry::{Clock, RetryPolicy};
use crate::wire::without_nulls;

/// Limits of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time of one try of an ordinary call. The official client gives 30 s.
    pub timeout: Duration,
    /// Time of one try of a launch; not less than the 180 s the official client gives.
    pub launch_timeout: Duration,
    /// Bytes of an answer. A query result has at most 64 MiB, a third more in base64.
    pub answer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), launch_timeout: Duration::from_mins(3), answer: 96 << 20 }
    }
}

/// Bytes that are read of an error's body.
const ERROR_LIMIT: usize = 64 * 1024;
const CONNECT: Duration = Duration::from_secs(10);

/// A server and how it is spoken to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Transport {
    http: reqwest::Client,
    base: String,
    login: Login,
    clock: Arc<dyn Clock>,
    retry: RetryPolicy,
    limits: Limits,
}

impl Transport {
    /// A server at `base`, for example `https://iris.example` or `http://127.0.0.1:10000`.
    ///
    /// Installs rustls's `ring` provider for the process when none is installed.
    ///
    /// # Errors
    /// The address is not http(s), has a user, a password, a query or a fragment, or is plain http with a login to
    /// a host that is not on loopback.
    pub fn new(base: &str, login: Login, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let url = address(base)?;
        let http = if login.is_none() { http_client_for(&url)? } else { http_client(&url)? };
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { http, base, login, clock, retry: RetryPolicy::OFFICIAL, limits: Limits::default() })
    }

    /// The same with another policy of repeats.
    #[must_use]
    pub fn with_retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same server below a path, for example `proxy/system.log-server`.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        Self { base: format!("{}/{}", self.base, path.trim_matches('/')), ..self.clone() }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn retry(&self) -> &RetryPolicy {
        &self.retry
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A call that may be repeated without harm.
    pub(crate) async fn call<Q: Serialize + Sync, A: DeserializeOwned>(
        &self,
        method: &str,
        request: &Q,
    ) -> Result<A, Error> {
        let body = to_json(method, request)?;
        let start = self.clock.elapsed();
        let mut failed = 0;
        loop {
            let error = match self.once(method, &body, self.limits.timeout).await {
                Ok(answer) => return decode(method, &answer),
                Err(error) => error,
            };
            failed += 1;
            let spent = self.clock.elapsed().saturating_sub(start);
            match self.retry.wait(failed, spent, self.clock.jitter()).filter(|_| error.is_transient()) {
                Some(wait) => self.clock.sleep(wait).await,
                None => return Err(error),
            }
        }
    }

    /// One try, and a second one with a fresh login where the first was refused for its login.
    pub(crate) async fn once(&self, method: &str, body: &[u8], timeout: Duration) -> Result<Vec<u8>, Error> {
        match self.attempt(method, body, timeout).await {
            Err(error) if error.code() == Some(&Code::Unauthenticated) && self.login.refused().await => {
                self.attempt(method, body, timeout).await
            }
            other => other,
        }
    }

    async fn attempt(&self, method: &str, body: &[u8], timeout: Duration) -> Result<Vec<u8>, Error> {
        let request = self
            .http
            .post(format!("{}/{method}", self.base))
            .header("content-type", "application/json")
            .header("connect-protocol-version", "1")
            .body(body.to_vec());
        self.send(method, request, timeout, self.limits.answer).await
    }

    /// The answer to a GET (or HEAD) of `path`, one try.
    pub(crate) async fn fetch(&self, head: bool, path: &str) -> Result<Vec<u8>, Error> {
        let url = format!("{}/{path}", self.base);
        let request = if head { self.http.head(url) } else { self.http.get(url) };
        self.send(path, request, self.limits.timeout, ERROR_LIMIT).await
    }

    async fn send(
        &self,
        method: &str,
        request: reqwest::RequestBuilder,
        timeout: Duration,
        limit: usize,
    ) -> Result<Vec<u8>, Error> {
        let headers = self.login.headers().await?;
        let failure = |error: reqwest::Error| {
            if error.is_timeout() {
                Error::TimedOut { method: method.to_owned(), after: timeout }
            } else {
                Error::Unreachable { method: method.to_owned(), why: words(error) }
            }
        };
        let answer = request.headers(headers).timeout(timeout).send().await.map_err(failure)?;
        let status = answer.status();
        if status.is_redirection() {
            // An identity-aware proxy sends a caller without a valid token to its login page.
            return Err(Error::Rpc {
                method: method.to_owned(),
                code: Code::Unauthenticated,
                http: status.as_u16(),
                message: "redirected, as an identity-aware proxy does without a valid token".into(),
            });
        }
        if !status.is_success() {
            let body = read(answer, ERROR_LIMIT).await.unwrap_or_default();
            return Err(error::of_answer(method, status.as_u16(), &body));
        }
        match read(answer, limit).await {
            Ok(body) => Ok(body),
            Err(Broken::TooLarge) => Err(Error::AnswerTooLarge { method: method.to_owned(), limit }),
            Err(Broken::Lost(error)) => Err(failure(error)),
        }
    }
}

pub(crate) fn to_json<Q: Serialize>(method: &str, request: &Q) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(request)
        .map_err(|why| Error::Malformed { method: method.to_owned(), why: format!("the request is not JSON: {why}") })
}

pub(crate) fn decode<A: DeserializeOwned>(method: &str, body: &[u8]) -> Result<A, Error> {
    let malformed = |why: serde_json::Error| Error::Malformed { method: method.to_owned(), why: why.to_string() };
    let mut value: serde_json::Value = serde_json::from_slice(body).map_err(malformed)?;
    without_nulls(&mut value);
    serde_json::from_value(value).map_err(malformed)
}

/// Why a body has no end.
pub(crate) enum Broken {
    TooLarge,
    Lost(reqwest::Error),
}

pub(crate) async fn read(mut answer: reqwest::Response, limit: usize) -> Result<Vec<u8>, Broken> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(Broken::Lost)? {
        if body.len() + chunk.len() > limit {
            return Err(Broken::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The words of a failed connection with their causes, without the address.
pub(crate) fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        words = format!("{words}: {inner}");
        cause = inner.source();
    }
    error::shortened(&words, 400)
}

pub(crate) fn address(text: &str) -> Result<Url, Error> {
    // The text is not repeated in the error: it may hold a password.
    let url = Url::parse(text).map_err(|why| Error::BadAddress(format!("not a URL: {why}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(Error::BadAddress("expected http:// or https:// and a host".into()));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(Error::BadAddress("no user, password, query or fragment is allowed in it".into()));
    }
    Ok(url)
}

fn on_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost"
        || host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// A client for an address that secrets are sent to.
pub(crate) fn http_client(url: &Url) -> Result<reqwest::Client, Error> {
    if url.scheme() == "https" || on_loopback(url) {
        http_client_for(url)
    } else {
        Err(Error::BadAddress("a login is sent over https, or to loopback, only".into()))
    }
}

fn http_client_for(url: &Url) -> Result<reqwest::Client, Error> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Lost races are fine: then another one is installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).connect_timeout(CONNECT);
    if on_loopback(url) {
        // A controller sends head and body of an answer one after the other and waits for our acknowledgement of the
        // first, which on a connection that is used again comes 40 ms late. A new connection costs nothing here, and
        // compression saves nothing.
        let plain = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        builder = builder.no_proxy().pool_max_idle_per_host(0).default_headers(plain);
    }
    builder.build().map_err(|error| Error::BadAddress(words(error)))
}
