//! A bare repository of our own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::ids::CommitSha;

use super::command::{Git, shown};
use super::error::plain;
use super::{GitError, Source};

const REFSPECS: [&str; 3] =
    ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/remotes/*:refs/remotes/*"];
const CALL: Duration = Duration::from_mins(2);
const FETCH: Duration = Duration::from_mins(30);
const MOST: u64 = 256 << 20;

/// A bare mirror of a repository, in a folder of ours. Names of revisions mean in it what they mean in the repository
/// that it was fetched from, `HEAD` included.
#[derive(Clone, Debug)]
pub struct Mirror {
    git: Git,
}

impl Mirror {
    /// Opens the mirror in `folder`, which is made where it is not there. `path` is the `PATH` that git is found in.
    ///
    /// # Errors
    /// Git is not there, or the folder cannot be used.
    pub fn open(folder: &Path, path: &OsStr) -> Result<Self, GitError> {
        let folder = std::path::absolute(folder).map_err(|why| GitError::system(shown(folder), &why))?;
        let (home, dir) = (folder.join("home"), folder.join("repository.git"));
        fs::create_dir_all(&home).map_err(|why| GitError::system(shown(&home), &why))?;
        let git = Git { path: path.to_owned(), home, dir, limit: CALL, most: MOST, access: None };
        if !git.dir.join("HEAD").exists() {
            git.run(&["init", "--quiet", "--bare", "--template=", "--initial-branch=zephyr-ab"])?;
        }
        Ok(Self { git })
    }

    /// Another limit of how long a call may take; a fetch may take fifteen times as long.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.git.limit = limit;
        self
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// The bare repository.
    #[must_use]
    pub fn dir(&self) -> &PathBuf {
        &self.git.dir
    }

    /// Fetches branches, tags, remote-tracking branches and `HEAD`. The source is only read.
    ///
    /// # Errors
    /// The source is no repository, cannot be reached, or git refuses to read it.
    pub fn fetch(&self, source: &Source) -> Result<(), GitError> {
        self.fetch_specs(source, &REFSPECS.map(OsStr::new))?.success("fetch")?;
        let head = "refs/zephyr-ab/head";
        let ended = self.fetch_specs(source, &[OsStr::new("+HEAD:refs/zephyr-ab/head")])?;
        if ended.code != Some(0) && ended.said.contains("couldn't find remote ref HEAD") {
            // A repository whose current branch has no commit yet.
            return Ok(());
        }
        ended.success("fetch")?;
        let commit = self.resolve(head)?;
        self.git.run(&["update-ref", "--no-deref", "HEAD", commit.as_str()])?;
        Ok(())
    }

    /// Fetches one commit that no branch leads to, where the source gives it.
    ///
    /// # Errors
    /// The source does not have it or does not give it.
    pub fn fetch_commit(&self, source: &Source, commit: &CommitSha) -> Result<(), GitError> {
        self.fetch_specs(source, &[OsStr::new(commit.as_str())])?.success("fetch").map(drop)
    }

    /// Fetches the head of a pull request and the branch that it is to be merged into, with their whole history, and
    /// returns both commits. The branch is a name from outside.
    ///
    /// # Errors
    /// A name that no branch can have, or the source does not have one of them, or cannot be reached.
    pub fn fetch_pull(&self, source: &Source, number: u64, base: &str) -> Result<(CommitSha, CommitSha), GitError> {
        check_branch(base)?;
        let (head_ref, base_ref) =
            (format!("refs/zephyr-ab/pull/{number}/head"), format!("refs/zephyr-ab/pull/{number}/base"));
        let specs = [format!("+refs/pull/{number}/head:{head_ref}"), format!("+refs/heads/{base}:{base_ref}")];
        let specs: Vec<&OsStr> = specs.iter().map(OsStr::new).collect();
        self.fetch_specs(source, &specs)?.success("fetch")?;
        Ok((self.resolve(&head_ref)?, self.resolve(&base_ref)?))
    }

    fn fetch_specs(&self, source: &Source, specs: &[&OsStr]) -> Result<super::command::Ended<Vec<u8>>, GitError> {
        let limit = FETCH.min(self.git.limit * 15);
        let git = Git { limit, access: source.access().cloned(), ..self.git.clone() };
        let argument: OsString = source.argument();
        let flags = ["fetch", "--quiet", "--no-tags", "--prune", "--force", "--update-shallow"];
        let more = ["--no-auto-maintenance", "--no-write-fetch-head", "--no-recurse-submodules", "--end-of-options"];
        let mut args: Vec<&OsStr> = flags.iter().chain(&more).map(OsStr::new).collect();
        args.push(&argument);
        args.extend(specs);
        git.call(&args, &[])
    }

    /// Whether the history is cut off somewhere.
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        fs::metadata(self.git.dir.join("shallow")).is_ok_and(|file| file.len() > 0)
    }

    /// The commit that a name means: a branch, a tag, `HEAD~2`, a commit.
    ///
    /// # Errors
    /// A name that cannot be one, and one that means no commit, with the nearest name that does.
    pub fn resolve(&self, name: &str) -> Result<CommitSha, GitError> {
        let refused = |why| Err(GitError::Name { found: plain(name.as_bytes(), 60), why });
        if name.is_empty() {
            return refused("is empty");
        }
        if name.starts_with('-') {
            return refused("starts with -");
        }
        if name.len() > 500 || name.chars().any(char::is_control) {
            return refused("is longer than 500 bytes or has control characters");
        }
        let asked = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &asked].map(OsStr::new);
        let ended = self.git.call(&args, &[])?;
        if ended.code == Some(0)
            && let Ok(commit) = plain(&ended.answer, 100).parse()
        {
            return Ok(commit);
        }
        Err(GitError::UnknownRevision { found: plain(name.as_bytes(), 60), nearest: self.nearest(name)? })
    }

    fn nearest(&self, name: &str) -> Result<Option<String>, GitError> {
        let listed = self.git.run(&["for-each-ref", "--count=10000", "--format=%(refname:lstrip=2)"])?;
        let listed = String::from_utf8_lossy(&listed);
        let near = listed.lines().map(|known| (strsim::jaro_winkler(name, known), known));
        let best = near.filter(|(score, _)| *score >= 0.8).max_by(|one, other| one.0.total_cmp(&other.0));
        Ok(best.map(|(_, known)| plain(known.as_bytes(), 60)))
    }
}

/// Refuses what git would not take as the name of a branch, or would take as something else (git-check-ref-format).
fn check_branch(name: &str) -> Result<(), GitError> {
    let bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part = |part: &str| part.is_empty() || part.starts_with('.') || part.to_lowercase().ends_with(".lock");
    if name.starts_with('-')
        || name.len() > 500
        || name == "@"
        || name.contains("..")
        || name.contains("@{")
        || name.ends_with('.')
        || name.chars().any(bad)
        || name.split('/').any(part)
    {
        return Err(GitError::Name { found: plain(name.as_bytes(), 60), why: "is no name of a branch" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches() {
        for good in ["main", "feature/x", "release-2.0", "a.b", "ä", "main@2"] {
            assert_eq!(check_branch(good), Ok(()), "{good}");
        }
        let bad =
            ["", "-x", "a..b", "a b", "a:b", "a*", "a?", "[a", "a~1", "a^", "a\\b", "@", "a@{1}", "a.", ".a", "a/.b"];
        for bad in bad.into_iter().chain(["a//b", "/a", "a/", "a.lock", "a.lock/b", "a\nb", "main:refs/heads/x"]) {
            assert!(check_branch(bad).is_err(), "{bad:?}");
        }
    }
}
