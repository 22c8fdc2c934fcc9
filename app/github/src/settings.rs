//! Where GitHub is and who we are there.

use http::Uri;
use secrecy::SecretString;

/// What [`crate::GitHub`] is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the API is: `https://api.github.com`, `https://HOST/api/v3`, `https://api.SUBDOMAIN.ghe.com`. Plain http
    /// only on loopback.
    pub api: String,
    /// Where git reaches repositories: `https://github.com`.
    pub web: String,
    /// Where GraphQL is; derived from `api` where it is `None`.
    pub graphql: Option<String>,
    /// The number of the app.
    pub app_id: u64,
    /// The private keys of the app in PEM, PKCS#1 or PKCS#8. Several while they are rotated: the first that GitHub
    /// accepts is used.
    pub keys: Vec<SecretString>,
    /// How we introduce ourselves.
    pub user_agent: String,
    /// The least time between two writes to one installation, in milliseconds. GitHub asks for a second.
    pub write_pause_ms: u64,
    /// How long one request may take, in milliseconds of the machine.
    pub timeout_ms: u64,
}

impl Settings {
    /// An app of github.com, at GitHub's pace.
    #[must_use]
    pub fn new(app_id: u64, keys: Vec<SecretString>) -> Self {
        Self {
            api: "https://api.github.com".into(),
            web: "https://github.com".into(),
            graphql: None,
            app_id,
            keys,
            user_agent: concat!("zephyr-ab/", env!("CARGO_PKG_VERSION")).into(),
            write_pause_ms: 1000,
            timeout_ms: 20_000,
        }
    }
}

/// Why settings are of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// An address is none.
    #[error("{which} is no address: {why}")]
    Address {
        /// Which of the addresses.
        which: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no key.
    #[error("there is no private key of the app")]
    NoKey,
    /// A key is none. The key is not told.
    #[error("private key {0} of the app is not an RSA key in PEM")]
    BadKey(usize),
    /// The name that we introduce ourselves by cannot stand in a header.
    #[error("the user agent is not printable ASCII")]
    UserAgent,
    /// The machine has nothing to check certificates with, or something like that.
    #[error("cannot set up connections: {0}")]
    Connections(String),
}

/// The addresses, checked.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Without a slash at the end.
    pub(crate) api: String,
    /// `host[:port]` of `api`.
    pub(crate) authority: String,
    /// `http` or `https`, of `api`.
    pub(crate) scheme: String,
    /// Without a slash at the end.
    pub(crate) web: String,
    /// Whole.
    pub(crate) graphql: String,
}

impl Places {
    pub(crate) fn of(settings: &Settings) -> Result<Self, SetupError> {
        let (api, uri) = address("the address of the API", &settings.api)?;
        let (web, _) = address("the address of git", &settings.web)?;
        let graphql = match &settings.graphql {
            Some(given) => {
                let (whole, at) = address("the address of GraphQL", given)?;
                // The token goes there: nowhere else than where it came from.
                if at.authority() != uri.authority() || at.scheme() != uri.scheme() {
                    return Err(SetupError::Address {
                        which: "the address of GraphQL",
                        why: "it is on another host than the API",
                    });
                }
                whole
            }
            None => match api.strip_suffix("/api/v3") {
                Some(host) => format!("{host}/api/graphql"),
                None => format!("{api}/graphql"),
            },
        };
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let scheme = uri.scheme_str().unwrap_or("https").to_owned();
        Ok(Self { api, authority, scheme, web, graphql })
    }
}

/// An address without the slash at its end; https, or on loopback.
fn address(which: &'static str, text: &str) -> Result<(String, Uri), SetupError> {
    let wrong = |why| SetupError::Address { which, why };
    let text = text.trim_end_matches('/');
    let uri: Uri = text.parse().map_err(|_| wrong("it cannot be read"))?;
    let host = uri.host().ok_or_else(|| wrong("it has no host"))?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("a name or a password is in it"));
    }
    if uri.query().is_some() {
        return Err(wrong("it has a query"));
    }
    let loopback = host == "localhost" || host == "[::1]" || host.starts_with("127.");
    match uri.scheme_str() {
        Some("https") => Ok((text.to_owned(), uri)),
        Some("http") if loopback => Ok((text.to_owned(), uri)),
        _ => Err(wrong("it must be https, or on loopback")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(api: &str) -> Result<Places, SetupError> {
        Places::of(&Settings { api: api.into(), ..Settings::new(1, vec![]) })
    }

    #[test]
    fn where_graphql_is() {
        for (api, graphql, authority) in [
            ("https://api.github.com", "https://api.github.com/graphql", "api.github.com"),
            ("https://api.github.com/", "https://api.github.com/graphql", "api.github.com"),
            ("https://ghes.example/api/v3", "https://ghes.example/api/graphql", "ghes.example"),
            ("https://ghes.example:8443/api/v3/", "https://ghes.example:8443/api/graphql", "ghes.example:8443"),
            ("http://127.0.0.1:4810", "http://127.0.0.1:4810/graphql", "127.0.0.1:4810"),
        ] {
            let places = places(api).unwrap();
            assert_eq!((places.graphql.as_str(), places.authority.as_str()), (graphql, authority), "{api}");
        }
    }

    #[test]
    fn addresses_refused() {
        for api in [
            "",
            "api.github.com",
            "http://api.github.com",
            "ftp://api.github.com",
            "https://token@api.github.com",
            "https://api.github.com/?x=1",
            "/api/v3",
        ] {
            assert!(matches!(places(api), Err(SetupError::Address { .. })), "{api}");
        }
        let elsewhere =
            Settings { graphql: Some("https://elsewhere.example/graphql".into()), ..Settings::new(1, vec![]) };
        assert!(matches!(Places::of(&elsewhere), Err(SetupError::Address { .. })));
    }
}
