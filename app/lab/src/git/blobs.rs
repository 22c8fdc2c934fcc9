//! The content of many objects, from one call of git.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read};

use super::command::Git;
use super::{GitError, Mirror};

impl Mirror {
    /// The contents of blobs in their order, from one call of git; `None` for one of more than `most` bytes.
    ///
    /// # Errors
    /// An object that is not there or is no blob, or git failed.
    pub fn contents(&self, objects: &[&str], most: u64) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let mut all = Vec::with_capacity(objects.len());
        read_blobs(self.git(), objects, |_, bytes, content| {
            let broken = |why: io::Error| GitError::system("reading from git cat-file", &why);
            if bytes > most {
                io::copy(content, &mut io::sink()).map_err(broken)?;
                all.push(None);
            } else {
                let mut read = Vec::new();
                content.read_to_end(&mut read).map_err(broken)?;
                all.push(Some(read));
            }
            Ok::<(), GitError>(())
        })?;
        Ok(all)
    }
}

/// Gives the content of each object to `take`, in the order of `objects`: its place in them, its bytes, and what to read
/// them from. Its size is known before its content is read; `take` reads all of it. An error of `take` ends the call.
///
/// # Errors
/// One of `take`, an object that is not there or is no blob, or git failed.
pub(crate) fn read_blobs<E: From<GitError>>(
    git: &Git,
    objects: &[&str],
    mut take: impl FnMut(usize, u64, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    if objects.is_empty() {
        return Ok(());
    }
    let input: String = objects.iter().flat_map(|object| [object, "\n"]).collect();
    let args = ["cat-file", "--batch", "--buffer"].map(OsStr::new);
    let mut objection = None;
    let ended = git.stream(&args, input.as_bytes(), |stdout| {
        let mut stdout = BufReader::with_capacity(1 << 16, stdout);
        let broken = |why: io::Error| GitError::system("reading from git cat-file", &why);
        for (at, object) in objects.iter().enumerate() {
            let mut head = String::new();
            (&mut stdout).take(200).read_line(&mut head).map_err(broken)?;
            let bytes = size(&head, object).ok_or_else(|| GitError::unexpected("cat-file"))?;
            let mut content = (&mut stdout).take(bytes);
            if let Err(why) = take(at, bytes, &mut content) {
                objection = Some(why);
                return Err(GitError::Stopped);
            }
            let left = content.limit();
            let mut end = [0];
            stdout.read_exact(&mut end).map_err(broken)?;
            if left != 0 || end != *b"\n" {
                return Err(GitError::unexpected("cat-file"));
            }
        }
        Ok(())
    });
    match (objection, ended) {
        // A call that was killed ends in the middle of some content, which `take` objects to as well.
        (Some(why), Ok(_) | Err(GitError::Stopped)) => Err(why),
        (_, ended) => Ok(ended?.success("cat-file")?),
    }
}

/// The bytes of a blob by the line before its content: object, type and size.
fn size(head: &str, object: &str) -> Option<u64> {
    head.strip_prefix(object)?.strip_prefix(" blob ")?.strip_suffix('\n')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        assert_eq!(size("aa blob 12\n", "aa"), Some(12));
        for broken in ["aa blob 12", "aa missing\n", "aa tree 12\n", "ab blob 12\n", "aa blob -1\n", "aa blob \n", ""] {
            assert_eq!(size(broken, "aa"), None, "{broken:?}");
        }
    }
}
