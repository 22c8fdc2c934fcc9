//! The JWT of the app.

use std::sync::{Mutex, MutexGuard, PoisonError};

use octocrab::jsonwebtoken::{self, Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use crate::settings::SetupError;

/// GitHub refuses what was issued in its future.
const BACKDATED: u64 = 60;
/// GitHub allows ten minutes from `iat`.
const LIFETIME: u64 = 540;
/// A JWT is used again for so long.
const REUSED_MS: u64 = 4 * 60_000;
/// Clocks that are this close agree.
const AGREE_MS: u64 = 30_000;

/// The keys of the app and what is known of GitHub's clock.
pub(crate) struct Keys {
    app_id: u64,
    signers: Vec<EncodingKey>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The key that was accepted last.
    best: usize,
    /// GitHub's clock less ours, in milliseconds.
    drift: i64,
    /// By key: the JWT and when it was made, on GitHub's clock.
    made: Vec<Option<(SecretString, u64)>>,
}

#[derive(Serialize)]
struct Claims {
    iss: u64,
    iat: u64,
    exp: u64,
}

impl Keys {
    pub(crate) fn new(app_id: u64, pems: &[SecretString]) -> Result<Self, SetupError> {
        if pems.is_empty() {
            return Err(SetupError::NoKey);
        }
        let signers = pems.iter().enumerate().map(|(at, pem)| {
            EncodingKey::from_rsa_pem(pem.expose_secret().trim().as_bytes()).map_err(|_| SetupError::BadKey(at + 1))
        });
        let signers: Vec<EncodingKey> = signers.collect::<Result<_, _>>()?;
        let state = State { made: vec![None; signers.len()], ..State::default() };
        Ok(Self { app_id, signers, state: Mutex::new(state) })
    }

    pub(crate) fn len(&self) -> usize {
        self.signers.len()
    }

    /// The key to begin with.
    pub(crate) fn best(&self) -> usize {
        self.state().best
    }

    /// GitHub took this key.
    pub(crate) fn accepted(&self, key: usize) {
        self.state().best = key;
    }

    /// A JWT of this key, when our clock says `now_ms`.
    pub(crate) fn jwt(&self, key: usize, now_ms: u64) -> Result<SecretString, String> {
        let now = self.theirs(now_ms);
        let mut state = self.state();
        if let Some(Some((jwt, at))) = state.made.get(key)
            && (*at..at.saturating_add(REUSED_MS)).contains(&now)
        {
            return Ok(jwt.clone());
        }
        let second = now / 1000;
        let claims =
            Claims { iss: self.app_id, iat: second.saturating_sub(BACKDATED), exp: second.saturating_add(LIFETIME) };
        let Some(signer) = self.signers.get(key) else { return Err("there is no such key".into()) };
        let jwt = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, signer)
            .map_err(|_| format!("private key {} of the app cannot sign", key + 1))?;
        let jwt = SecretString::from(jwt);
        if let Some(place) = state.made.get_mut(key) {
            *place = Some((jwt.clone(), now));
        }
        Ok(jwt)
    }

    /// GitHub's clock less ours, in milliseconds, as far as it is known.
    pub(crate) fn drift(&self) -> i64 {
        self.state().drift
    }

    /// What GitHub's clock says when ours says `now_ms`.
    pub(crate) fn theirs(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add_signed(self.state().drift)
    }

    /// What our clock says when GitHub's says `their_ms`.
    pub(crate) fn ours(&self, their_ms: u64) -> u64 {
        their_ms.saturating_add_signed(self.state().drift.saturating_neg())
    }

    /// GitHub's clock said `second` when ours said `now_ms`. Returns whether that is news: the clocks differ by more
    /// than was known.
    pub(crate) fn learn(&self, second: u64, now_ms: u64) -> bool {
        let theirs = second.saturating_mul(1000);
        if self.theirs(now_ms).abs_diff(theirs) <= AGREE_MS {
            return false;
        }
        let mut state = self.state();
        state.drift = i64::try_from(i128::from(theirs) - i128::from(now_ms)).unwrap_or(0);
        state.made.fill(None);
        tracing::warn!(drift_ms = state.drift, "this machine's clock and GitHub's differ");
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Keys {
    /// Never the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({} of app {})", self.signers.len(), self.app_id)
    }
}
