//! Tokens of installations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ports::forge::ForgeError;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

/// A token is renewed this long before it ends.
const MARGIN_MS: u64 = 5 * 60_000;

/// What a token is for; it may do no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Need {
    /// Comments, reactions, labels, checks.
    Api,
    /// Reading what others say of commits. Apart from the rest: where that is not granted, no token for it is given.
    Statuses,
    /// Reading the contents.
    Git,
}

/// One token: through which installation, for which repository, for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) installation: u64,
    pub(crate) repo: u64,
    pub(crate) need: Need,
}

impl Key {
    /// What GitHub is asked for.
    pub(crate) fn request(self) -> Value {
        let permissions = match self.need {
            Need::Api => Value::Object(crate::needs::of_the_api()),
            Need::Statuses => json!({ "metadata": "read", "statuses": "read" }),
            Need::Git => json!({ "contents": "read" }),
        };
        json!({ "repository_ids": [self.repo], "permissions": permissions })
    }
}

/// A token and when it ends, in milliseconds of GitHub's clock.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) token: SecretString,
    pub(crate) ends: u64,
}

type Place = Arc<tokio::sync::Mutex<Option<Held>>>;

/// The tokens that are held.
#[derive(Default)]
pub(crate) struct Tokens {
    places: Mutex<HashMap<Key, Place>>,
}

impl Tokens {
    /// The token of `key` when GitHub's clock says `now`; asked for with `fetch` where none is held that lasts.
    /// Whoever comes meanwhile waits and gets the same.
    pub(crate) async fn get<F>(&self, key: Key, now: u64, fetch: impl FnOnce() -> F) -> Result<SecretString, ForgeError>
    where
        F: Future<Output = Result<Held, ForgeError>>,
    {
        let place = self.place(key);
        let mut held = place.lock().await;
        if let Some(held) = held.as_ref().filter(|held| now.saturating_add(MARGIN_MS) < held.ends) {
            return Ok(held.token.clone());
        }
        match fetch().await {
            Ok(fresh) => {
                let token = fresh.token.clone();
                *held = Some(fresh);
                Ok(token)
            }
            // The old one is good for minutes yet.
            Err(ForgeError::Unavailable(why)) => match held.as_ref().filter(|held| now < held.ends) {
                Some(held) => Ok(held.token.clone()),
                None => Err(ForgeError::Unavailable(why)),
            },
            Err(error) => Err(error),
        }
    }

    /// Throws `token` away, unless another one has come in its place already.
    pub(crate) async fn discard(&self, key: Key, token: &SecretString) {
        let place = self.place(key);
        let mut held = place.lock().await;
        if held.as_ref().is_some_and(|held| held.token.expose_secret() == token.expose_secret()) {
            *held = None;
        }
    }

    fn place(&self, key: Key) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry(key).or_default().clone()
    }
}
