//! What belongs to an app, for the code that the forge gave for its manifest. A code holds once, and for an hour.

use std::time::Duration;

use anyhow::Context as _;
use secrecy::SecretString;
use serde::Deserialize;

use crate::config::secret::{check_key, check_webhook};
use crate::failure::Failure;

/// An answer is waited for this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What belongs to an app that was made. The secret of its client is not kept: nothing here logs people in.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// Its number.
    pub(super) id: u64,
    /// Its name in addresses.
    pub(super) slug: String,
    /// Its private key, in PEM.
    pub(super) key: SecretString,
    /// The secret of its webhook.
    pub(super) secret: SecretString,
}

#[derive(Deserialize)]
struct Converted {
    id: u64,
    slug: String,
    pem: SecretString,
    webhook_secret: Option<SecretString>,
}

/// Exchanges a code.
///
/// # Errors
/// The forge does not answer, does not take the code, or answers with something that no service can use.
pub(super) async fn exchange(api: &str, code: &str) -> Result<Made, Failure> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Lost races are fine: then another one is installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(PATIENCE);
    if api.starts_with("http://") {
        client = client.no_proxy();
    }
    let client = client.build().context("no client can be made")?;
    let answer = client
        .post(format!("{api}/app-manifests/{code}/conversions"))
        .header("accept", "application/vnd.github+json")
        .header("user-agent", concat!("zephyr-ab/", env!("CARGO_PKG_VERSION")))
        .send()
        .await
        // Its address has the code in it.
        .map_err(|why| anyhow::Error::new(why.without_url()).context(format!("{api} does not answer")))?;
    let status = answer.status().as_u16();
    if status != 201 {
        return Err(Failure::Usage(format!(
            "{api} does not take the code ({status}): it holds once, and for an hour; make the app again, or delete it \
             in its settings first where it is there already"
        )));
    }
    let unreadable =
        || anyhow::anyhow!("the answer of {api} has no app in it; delete the app in its settings and make it again");
    let made: Converted = answer.json().await.map_err(|_| unreadable())?;
    let secret = made.webhook_secret.ok_or_else(|| anyhow::anyhow!("the app has no secret of its webhook"))?;
    check_key(&made.pem).map_err(|why| anyhow::anyhow!("the private key of the app: {why}"))?;
    check_webhook(&secret).map_err(|why| anyhow::anyhow!("the app: {why}"))?;
    let plain = |slug: &str| slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !plain(&made.slug) {
        return Err(unreadable().into());
    }
    Ok(Made { id: made.id, slug: made.slug, key: made.pem, secret })
}
