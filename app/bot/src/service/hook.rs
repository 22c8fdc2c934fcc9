//! Sends announcements to the address of the configuration.

use std::time::Duration;

use anyhow::Context as _;
use domain::ports::{Announcer, Happening};
use reqwest::redirect::Policy;
use secrecy::{ExposeSecret as _, SecretString};

use crate::config::AnnounceSecrets;
use crate::server::Signer;

/// How long one of them may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// What signs the body, as GitHub signs what it sends.
const SIGNATURE: &str = "x-zephyr-ab-signature-256";
/// The event, so that nobody has to look into the body for it.
const EVENT: &str = "x-zephyr-ab-event";
/// The id of the announcement.
const DELIVERY: &str = "x-zephyr-ab-delivery";

/// An address that announcements are sent to.
pub struct Hook {
    client: reqwest::Client,
    url: SecretString,
    signer: Option<Signer>,
}

impl Hook {
    /// To this address.
    ///
    /// # Errors
    /// No client can be made.
    pub fn new(secrets: &AnnounceSecrets) -> anyhow::Result<Self> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Lost races are fine: then another one is installed.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        // Where it leads is not for the receiver to say.
        let mut client = reqwest::Client::builder().redirect(Policy::none()).timeout(PATIENCE);
        if secrets.url.expose_secret().starts_with("http://") {
            // On this host: no proxy gets there.
            client = client.no_proxy();
        }
        let client = client.build().context("no client can be made for announcements")?;
        Ok(Self { client, url: secrets.url.clone(), signer: secrets.secret.as_ref().map(Signer::new) })
    }
}

impl Announcer for Hook {
    async fn send(&self, id: &str, event: Happening, body: &str) -> Result<(), String> {
        let mut ask = self
            .client
            .post(self.url.expose_secret())
            .header("content-type", "application/json")
            .header("user-agent", concat!("zephyr-ab/", env!("CARGO_PKG_VERSION")))
            .header(EVENT, event.word())
            .header(DELIVERY, id)
            .body(body.to_owned());
        if let Some(signer) = &self.signer {
            ask = ask.header(SIGNATURE, signer.sign(body.as_bytes()));
        }
        // The address may have a secret in it.
        let answer = ask.send().await.map_err(|why| causes(&why.without_url()))?;
        // What it says beside its status is never read.
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("it was answered with {}", status.as_u16())) }
    }
}

/// An error with what led to it.
fn causes(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", PATIENCE.as_secs());
    }
    if error.is_connect() {
        return "nobody is there: the connection failed".to_owned();
    }
    error.to_string()
}
