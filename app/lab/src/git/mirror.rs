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
        let git = Git { path: path.to_owned(), home, dir, limit: CALL, most: MOST };
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
        let argument = source.argument();
        self.fetch_specs(&argument, &REFSPECS.map(OsStr::new))?.success("fetch")?;
        let head = "refs/zephyr-ab/head";
        let ended = self.fetch_specs(&argument, &[OsStr::new("+HEAD:refs/zephyr-ab/head")])?;
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
        self.fetch_specs(&source.argument(), &[OsStr::new(commit.as_str())])?.success("fetch").map(drop)
    }

    fn fetch_specs(&self, source: &OsString, specs: &[&OsStr]) -> Result<super::command::Ended<Vec<u8>>, GitError> {
        let git = Git { limit: FETCH.min(self.git.limit * 15), ..self.git.clone() };
        let flags = ["fetch", "--quiet", "--no-tags", "--prune", "--force", "--update-shallow"];
        let more = ["--no-auto-maintenance", "--no-write-fetch-head", "--no-recurse-submodules", "--end-of-options"];
        let mut args: Vec<&OsStr> = flags.iter().chain(&more).map(OsStr::new).collect();
        args.push(source);
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
