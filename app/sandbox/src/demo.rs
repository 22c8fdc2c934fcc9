//! A repository to start from: `octo/demo` with pull requests. [`Lesson`] has the changes, [`Bench`] the benchmark.

mod lesson;

use crate::model::{Issue, Kind, Repository};
use crate::state::State;
use crate::{Error, Sandbox};
pub use lesson::{Bench, Lesson, README};

/// The repository.
pub const REPOSITORY: &str = "octo/demo";
/// The file with the benchmark.
const FILE: &str = "bench.sh";
/// What can be written on a page of the repository.
pub(crate) const HINT: &str = "<p class=\"hint\">Try <code>/ab-test demo</code>, <code>/ab-test demo rounds=1</code>, \
    <code>/ab-test status</code>, <code>/ab-test demo cancel</code>, <code>/ab-test help</code>, or a mistake.</p>";

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// The pull request of `maintainer`, whose second step does its work twice.
    pub slower: u64,
    /// The pull request of `visitor` from a fork, which changes a comment.
    pub fork: u64,
    /// The installation of the app.
    pub installation: u64,
}

/// Makes the repository. `maintainer` may write, `bob` may read, `visitor` may do nothing.
///
/// # Errors
/// [`Error::Refused`] where there is one already.
pub fn make(sandbox: &Sandbox, bench: &Bench) -> Result<Demo, Error> {
    sandbox.repository(REPOSITORY)?;
    for (login, role) in [("maintainer", "write"), ("bob", "read"), ("visitor", "none")] {
        sandbox.grant(REPOSITORY, login, role)?;
    }
    let _ = sandbox.user("octo", Kind::Organization);
    let main = bench.text();
    sandbox.commit(REPOSITORY, "main", &[(FILE, Some(&main)), ("README.md", Some(README))], Bench::TITLE)?;
    let installation = sandbox.install("octo", &[REPOSITORY])?;
    let slower = pull(sandbox, &main, Lesson::Slower)?;
    sandbox.fork(REPOSITORY, "visitor")?;
    let same = Lesson::Same;
    sandbox.commit("visitor/demo", "words", &[(FILE, Some(&same.changed(&main)))], same.title())?;
    let fork = sandbox.pull(REPOSITORY, "visitor/demo:words", "main", same.title(), "visitor")?;
    Ok(Demo { slower, fork, installation })
}

/// Adds a pull request for a lesson to the repository. Returns its number.
///
/// # Errors
/// [`Error::Unknown`] where the repository was not made.
pub fn add(sandbox: &Sandbox, bench: &Bench, lesson: Lesson) -> Result<u64, Error> {
    pull(sandbox, &bench.text(), lesson)
}

fn pull(sandbox: &Sandbox, main: &str, lesson: Lesson) -> Result<u64, Error> {
    let readme = lesson.readme();
    let files = [(FILE, Some(lesson.changed(main))), ("README.md", Some(readme))];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_deref()));
    sandbox.commit(REPOSITORY, lesson.name(), &files, lesson.title())?;
    sandbox.pull(REPOSITORY, lesson.name(), "main", lesson.title(), "maintainer")
}

/// Whether a change is prepared that can be pushed to the branch of a pull request.
pub(crate) fn can_change(repo: &Repository, issue: &Issue) -> bool {
    let pull = issue.pull.as_ref().filter(|pull| pull.head_repo.is_some());
    repo.full_name() == REPOSITORY && issue.open && pull.is_some()
}

/// Pushes a change to the branch of a pull request: the work that a step does twice is taken out of it, or comes back.
pub(crate) fn push_change(state: &mut State, repo: u64, number: u64, by: &str) -> Result<(), Error> {
    let (issue, pull) = state.pull(repo, number)?;
    let (found, head, branch) = (state.repo(repo)?, pull.head_sha.clone(), pull.head_ref.clone());
    let Some(from) = pull.head_repo.filter(|_| can_change(found, issue)) else {
        return Err(Error::Refused(format!("nothing is prepared for #{number}")));
    };
    let entry = state.git.list(&found.folder, &head, FILE, false)?.into_iter().next();
    let entry = entry.ok_or_else(|| Error::Unknown(format!("file {FILE}")))?;
    let before = String::from_utf8_lossy(&state.git.blob(&found.folder, &entry.sha)?).into_owned();
    let (after, title) =
        lesson::next(&before).ok_or_else(|| Error::Refused(format!("nothing is prepared for this {FILE}")))?;
    state.add_commit(from, &branch, &[(FILE, Some(&after))], title, by)?;
    state.pushed(from, by)
}
