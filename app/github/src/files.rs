//! Single files of a repository.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ids::CommitSha;
use domain::ports::forge::{ForgeError, Repo};

use crate::asking::{Answer, Ask, Hub};
use crate::objects::AtPath;
use crate::pages::escape;
use crate::redact::words;
use crate::verdict;

/// The largest file that is read, bytes; of larger ones GitHub leaves the content out.
const LARGEST: u64 = 1024 * 1024;

impl Hub {
    pub(crate) async fn file(
        &self,
        repo: &Repo,
        path: &str,
        at: Option<&CommitSha>,
    ) -> Result<Option<Vec<u8>>, ForgeError> {
        let refused = |why: &str| ForgeError::Refused(words(&format!("{path}: {why}")));
        let place = place(path).ok_or_else(|| refused("no path of a file"))?;
        let at = at.map(|sha| format!("?ref={}", sha.as_str())).unwrap_or_default();
        let reply = match self.ask(&Ask::get(repo, format!("/contents/{place}{at}"))).await? {
            // The commit is missing, which tells nothing of the file.
            Answer::Missing(why) if !at.is_empty() && why.contains("No commit found") => {
                return Err(ForgeError::Gone(why));
            }
            Answer::Missing(_) => return Ok(None),
            Answer::Is(reply) => reply,
        };
        // A folder is a list.
        let Some(found) = reply.json::<AtPath>() else {
            let list = reply.json::<Vec<serde_json::Value>>().is_some();
            return Err(if list { refused("a folder") } else { verdict::unreadable(&reply) });
        };
        if found.kind.as_deref().is_some_and(|kind| kind != "file") {
            return Err(refused("no file"));
        }
        if found.size.is_some_and(|size| size > LARGEST) {
            return Err(refused("more than 1 MiB"));
        }
        let (Some("base64"), Some(content)) = (found.encoding.as_deref(), found.content) else {
            return Err(verdict::unreadable(&reply));
        };
        let text: String = content.split_whitespace().collect();
        let bytes = STANDARD.decode(text).map_err(|_| verdict::unreadable(&reply))?;
        if bytes.len() as u64 > LARGEST { Err(refused("more than 1 MiB")) } else { Ok(Some(bytes)) }
    }
}

/// The path as it stands in an address; `None` where it is none of a file below the root.
fn place(path: &str) -> Option<String> {
    let fine = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    let parts: Vec<&str> = path.split('/').collect();
    parts.iter().all(|part| fine(part)).then(|| parts.into_iter().map(escape).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (path, there) in [
            (".github/zephyr ab.toml", Some(".github/zephyr%20ab.toml")),
            ("a?b#c", Some("a%3Fb%23c")),
            ("...", Some("...")),
            ("", None),
            ("/etc", None),
            ("a/../b", None),
            ("./a", None),
            ("a//b", None),
            ("a/", None),
        ] {
            assert_eq!(place(path).as_deref(), there, "{path}");
        }
    }
}
