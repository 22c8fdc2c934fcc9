//! git over HTTP: fetching.

use std::io::Read as _;

use axum::body::Body;
use axum::http::Response;

use super::{Asked, plain, response};
use crate::auth::Caller;
use crate::sandbox::Shared;

/// The largest request after it was unpacked, bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A request of git.
pub(super) struct Service {
    full_name: String,
    what: What,
}

enum What {
    Advertise,
    Fetch,
    Push,
}

impl Service {
    /// A request of git; `None` where it is something else.
    pub(super) fn of(asked: &Asked) -> Option<Self> {
        let path = asked.path.trim_start_matches('/');
        let (repo, what) = if let Some(repo) = path.strip_suffix("/info/refs") {
            let service = asked.query.split('&').find_map(|part| part.strip_prefix("service="))?;
            (repo, if service == "git-upload-pack" { What::Advertise } else { What::Push })
        } else if let Some(repo) = path.strip_suffix("/git-upload-pack") {
            (repo, What::Fetch)
        } else {
            (path.strip_suffix("/git-receive-pack")?, What::Push)
        };
        let full_name = repo.strip_suffix(".git").unwrap_or(repo);
        (full_name.matches('/').count() == 1).then(|| Self { full_name: full_name.to_owned(), what })
    }

    pub(super) fn answer(&self, shared: &Shared, asked: &Asked) -> Response<Body> {
        if matches!(self.what, What::Push) {
            return plain(403, "pushing over HTTP is not possible here; push to the folder of the repository\n");
        }
        let (git, folder) = {
            let state = shared.lock();
            let Ok(id) = state.named(&self.full_name) else {
                let moved = state.old_names.get(&self.full_name.to_lowercase()).and_then(|id| state.repos.get(id));
                return moved
                    .filter(|repo| !repo.transferred)
                    .map_or_else(absent, |repo| self.moved(&repo.full_name(), asked));
            };
            let Some(repo) = state.repos.get(&id) else { return absent() };
            let Ok(caller) = Caller::of(&state, asked.header("authorization")) else { return denied() };
            let permitted = match caller {
                Caller::Installation(token) => {
                    token.repositories.contains(&id) && token.permissions.contains_key("contents")
                }
                Caller::Nobody if repo.private => return denied(),
                Caller::Nobody | Caller::App => false,
            };
            if repo.private && !permitted {
                return absent();
            }
            (state.git.clone(), repo.folder.clone())
        };
        let input = match body(asked) {
            Ok(input) => input,
            Err(error) => return plain(400, &error.to_string()),
        };
        let protocol = asked
            .header("git-protocol")
            .filter(|text| text.chars().all(|c| c.is_ascii_alphanumeric() || "=:-".contains(c)));
        let (args, kind): (&[&str], _) = match self.what {
            What::Advertise => (&["upload-pack", "--stateless-rpc", "--advertise-refs"], "advertisement"),
            What::Fetch | What::Push => (&["upload-pack", "--stateless-rpc"], "result"),
        };
        match git.serve(&folder, args, protocol, &input) {
            Ok(mut bytes) => {
                let old = protocol.is_none_or(|protocol| !protocol.contains("version=2"));
                if matches!(self.what, What::Advertise) && old {
                    let mut all = b"001e# service=git-upload-pack\n0000".to_vec();
                    all.append(&mut bytes);
                    bytes = all;
                }
                response(200, &format!("application/x-git-upload-pack-{kind}"), bytes)
            }
            Err(error) => plain(500, &error.to_string()),
        }
    }

    fn moved(&self, full_name: &str, asked: &Asked) -> Response<Body> {
        let tail = asked.path.trim_start_matches('/').get(self.full_name.len()..).unwrap_or_default();
        let tail = tail.strip_prefix(".git").unwrap_or(tail);
        let query = if asked.query.is_empty() { String::new() } else { format!("?{}", asked.query) };
        let mut moved = plain(301, "moved\n");
        if let Ok(to) = format!("/{full_name}.git{tail}{query}").parse() {
            moved.headers_mut().insert("location", to);
        }
        moved
    }
}

fn absent() -> Response<Body> {
    plain(404, "Not Found\n")
}

fn denied() -> Response<Body> {
    let mut denied = plain(401, "Authentication required\n");
    if let Ok(scheme) = "Basic realm=\"GitHub\"".parse() {
        denied.headers_mut().insert("www-authenticate", scheme);
    }
    denied
}

/// The body, unpacked where git has packed it.
fn body(asked: &Asked) -> std::io::Result<Vec<u8>> {
    if asked.header("content-encoding") != Some("gzip") {
        return Ok(asked.body.to_vec());
    }
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(asked.body.as_ref()).take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
