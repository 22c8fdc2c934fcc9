//! Who asks.

use base64::Engine as _;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::Value;

use crate::api::reply::{Reply, refuse};
use crate::model::Token;
use crate::state::State;

/// How far a JWT's `iat` may be in the future, and how long it may hold, seconds.
const SKEW: u64 = 60;
const LONGEST: u64 = 600;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// Nobody who says so.
    Nobody,
    /// The app itself.
    App,
    /// An installation of it.
    Installation(Token),
}

impl Caller {
    /// The header of a request to the API.
    pub(crate) fn of(state: &State, header: Option<&str>) -> Result<Self, Reply> {
        let Some(header) = header else { return Ok(Self::Nobody) };
        let (scheme, value) = header.split_once(' ').unwrap_or(("", header));
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" | "token" if value.starts_with("ghs_") => Self::token(state, value),
            "bearer" => Self::jwt(state, value),
            "basic" => {
                let Some(password) = password(value) else { return Err(refuse(401, "Bad credentials")) };
                Self::token(state, &password)
            }
            _ => Err(refuse(401, "Bad credentials")),
        }
    }

    fn token(state: &State, token: &str) -> Result<Self, Reply> {
        let found = state.tokens.get(token).filter(|token| token.expires_ms > state.now());
        let found = found.ok_or_else(|| refuse(401, "Bad credentials"))?;
        let installation =
            state.installations.get(&found.installation).ok_or_else(|| refuse(401, "Bad credentials"))?;
        if installation.suspended_ms.is_some() {
            return Err(refuse(403, "This installation has been suspended"));
        }
        let mut token = found.clone();
        if token.narrowed {
            token.repositories.retain(|repo| installation.repositories.contains(repo));
        } else {
            token.repositories.clone_from(&installation.repositories);
        }
        Ok(Self::Installation(token))
    }

    fn jwt(state: &State, jwt: &str) -> Result<Self, Reply> {
        let mut validation = Validation::new(Algorithm::RS256);
        // The time is told by the clock of the sandbox.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        let read = |key: &String| {
            let key = DecodingKey::from_rsa_pem(key.as_bytes()).ok()?;
            jsonwebtoken::decode::<Value>(jwt, &key, &validation).ok()
        };
        let unreadable = || refuse(401, "A JSON web token could not be decoded");
        let claims = state.app.public_keys.iter().find_map(read).ok_or_else(unreadable)?.claims;
        let issuer = claims["iss"].as_u64().or_else(|| claims["iss"].as_str()?.parse().ok());
        if issuer != Some(state.app.id) {
            return Err(refuse(401, "Integration not found"));
        }
        let now = state.now() / 1000;
        let (Some(iat), Some(exp)) = (seconds(&claims["iat"]), seconds(&claims["exp"])) else {
            return Err(refuse(401, "Missing 'issued at' claim ('iat') or 'expiration time' claim ('exp')"));
        };
        if iat > now + SKEW {
            return Err(refuse(
                401,
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            ));
        }
        if exp <= now {
            return Err(refuse(
                401,
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            ));
        }
        if exp > now + LONGEST + SKEW || exp > iat + LONGEST + SKEW {
            return Err(refuse(401, "'Expiration time' claim ('exp') is too far in the future"));
        }
        Ok(Self::App)
    }
}

fn seconds(value: &Value) -> Option<u64> {
    value.as_u64()
}

/// The password of `x-access-token:<password>` in base64.
fn password(value: &str) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(value.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(_, password)| password.to_owned())
}
