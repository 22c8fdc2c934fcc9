//! The repository of the demo without a GitHub: main, and a branch for each lesson.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sandbox::demo::{Bench, Lesson, README};

use super::timing::{bench, call};
use crate::failure::Failure;
use crate::world::Machine;

/// A git repository in a folder.
pub(super) struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Makes the repository, with steps that work for half a second on this machine.
    pub(super) fn make(folder: &Path, machine: &Machine) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let this = Self { folder: folder.to_owned() };
        let main = bench(folder, machine)?.text();
        this.git(machine, &["init", "--quiet", "--initial-branch=main"])?;
        this.commit(machine, &[("bench.sh", &main), ("README.md", README)], Bench::TITLE)?;
        for lesson in Lesson::ALL {
            this.git(machine, &["checkout", "--quiet", "-b", lesson.name(), "main"])?;
            let files = [("bench.sh", lesson.changed(&main)), ("README.md", lesson.readme())];
            this.commit(machine, &files.each_ref().map(|(name, text)| (*name, text.as_str())), lesson.title())?;
        }
        this.git(machine, &["checkout", "--quiet", "main"])?;
        Ok(this)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn commit(&self, machine: &Machine, files: &[(&str, &str)], title: &str) -> Result<(), Failure> {
        for (name, text) in files {
            let file = self.folder.join(name);
            std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        }
        self.git(machine, &["add", "--all"])?;
        self.git(machine, &["commit", "--quiet", "--message", title])
    }

    fn git(&self, machine: &Machine, args: &[&str]) -> Result<(), Failure> {
        call(&self.folder, machine, "git", args).map(drop)
    }
}
