//! What a repository says of a request: the commits, what they hold, how they are related, what they change.

use std::collections::{BTreeMap, BTreeSet};

use domain::arms::{Arms, Treatment};
use domain::comparability::Context;
use domain::ids::{CommitSha, Digest};
use domain::plan::Origin;
use domain::request::Options;
use lab::git::tree::FileAt;
use lab::git::{GitError, MergeBases, Mirror, Source, TreePath};
use suite::scope::Needed;
use suite::{Resolved, Suite};

use super::plan::{Commits, usage};
use crate::failure::Failure;

/// Names of branches that a head is usually merged into.
const USUAL_BASES: [&str; 3] = ["origin/HEAD", "main", "master"];
/// Files that say which versions of other software a commit uses.
const LOCK_FILES: [&str; 6] =
    ["Cargo.lock", "uv.lock", "poetry.lock", "requirements.txt", "package-lock.json", "go.sum"];
const LARGEST_LOCK_FILE: u64 = 32 << 20;

/// What git says of what was asked for is the asker's to mend; what it could not do is not.
fn git(error: GitError) -> Failure {
    match &error {
        GitError::Name { .. }
        | GitError::UnknownRevision { .. }
        | GitError::Unrelated { .. }
        | GitError::Source { .. }
        | GitError::UnsafePath { .. }
        | GitError::TooLarge { .. } => usage(error),
        _ => Failure::Other(error.into()),
    }
}

/// What the repository says of the arms.
pub(super) struct Found {
    pub(super) arms: Arms,
    pub(super) origin: Origin,
    pub(super) trees: BTreeMap<String, String>,
    pub(super) contexts: BTreeMap<String, Context>,
    pub(super) notes: Vec<String>,
    pub(super) needed: Needed,
}

/// The commits of a request.
pub(super) struct Chosen {
    pub(super) arms: Arms,
    pub(super) head: CommitSha,
    pub(super) base: (String, CommitSha),
    pub(super) merge_bases: Vec<CommitSha>,
    pub(super) notes: Vec<String>,
}

/// The commit that a base's tip and the head are compared from. A head that was merged is behind every newer tip; then it
/// is the tip of the moment of the request that says what the head changed.
pub(in crate::command) fn merge_bases(
    mirror: &Mirror,
    base: &CommitSha,
    head: &CommitSha,
    asked: Option<&CommitSha>,
) -> Result<MergeBases, Failure> {
    let bases = mirror.merge_bases(base, head).map_err(git)?;
    match asked.filter(|asked| bases.taken == *head && *asked != base) {
        Some(asked) if mirror.resolve(asked.as_str()).is_ok() => mirror.merge_bases(asked, head).map_err(git),
        _ => Ok(bases),
    }
}

/// A commit that a request names. The mirror of a service has commits of every pull request, and the beginning of an id can
/// be forged: one that is not named in full must be behind the base or the head.
fn named(
    mirror: &Mirror,
    commits: &Commits<'_>,
    name: &str,
    (base, head): (&CommitSha, &CommitSha),
) -> Result<CommitSha, Failure> {
    let commit = mirror.resolve(name).map_err(git)?;
    let behind = |tip: &CommitSha| mirror.merge_bases(tip, &commit).is_ok_and(|bases| bases.taken == commit);
    if commits.pinned.is_none() || name == commit.as_str() || behind(base) || behind(head) {
        return Ok(commit);
    }
    Err(usage(format!("{name} is no commit that the base or the head has: name it in full, all 40 digits")))
}

pub(super) fn choose(
    mirror: &Mirror,
    commits: &Commits<'_>,
    options: &Options,
    resolved: &Resolved,
) -> Result<Chosen, Failure> {
    let head = match commits.pinned {
        Some(pinned) => pinned.head.clone(),
        None => mirror.resolve(commits.head).map_err(git)?,
    };
    if let Some(sha) = &options.sha
        && !head.as_str().starts_with(sha.as_str())
    {
        return Err(usage(format!("the head is {head}, not {sha}")));
    }
    let (name, base) = base(mirror, commits)?;
    let mut notes = Vec::new();
    let (control, merge_bases) = if let Some(name) = &options.control {
        (named(mirror, commits, name, (&base, &head))?, Vec::new())
    } else {
        let asked = commits.pinned.and_then(|pinned| pinned.asked_base.as_ref());
        let bases = merge_bases(mirror, &base, &head, asked)?;
        if bases.all.len() > 1 {
            let all: Vec<&str> = bases.all.iter().map(CommitSha::short).collect();
            notes.push(format!("{} merge bases ({}); the newest is the control", all.len(), all.join(", ")));
        }
        (bases.taken, bases.all)
    };
    let mut treatments = Vec::new();
    for treatment in &resolved.treatments {
        let commit = match &treatment.asked.commit {
            None => head.clone(),
            Some(name) => named(mirror, commits, name, (&base, &head))?,
        };
        let (name, declared) = (treatment.asked.name.clone(), treatment.asked.declared.clone());
        treatments.push(Treatment { name, commit, declared });
    }
    let arms = Arms::new(control, treatments).map_err(usage)?;
    Ok(Chosen { arms, head, base: (name.to_owned(), base), merge_bases, notes })
}

/// Digest of what counts of each role's files, by the role as text.
pub(super) fn trees(suite: &Suite, mirror: &Mirror, arms: &Arms) -> Result<BTreeMap<String, String>, Failure> {
    let matters = |path: &TreePath| !suite.scope.of([path.text().as_ref()]).is_trivial();
    let mut trees = BTreeMap::new();
    for role in arms.roles() {
        let Some(commit) = arms.commit(&role) else { continue };
        let tree = mirror.tree_digest(commit, matters).map_err(anyhow::Error::from)?;
        trees.insert(role.to_string(), tree.as_str().to_owned());
    }
    Ok(trees)
}

pub(super) fn find(
    suite: &Suite,
    mirror: &Mirror,
    commits: &Commits<'_>,
    options: &Options,
    resolved: &Resolved,
) -> Result<Found, Failure> {
    let Chosen { arms, head, base: (name, base), merge_bases, mut notes } = choose(mirror, commits, options, resolved)?;
    let changed = mirror.changed_paths(arms.control(), &head).map_err(anyhow::Error::from)?;
    let mut paths: BTreeSet<TreePath> = changed.iter().cloned().collect();
    for treatment in arms.treatments().iter().filter(|treatment| treatment.commit != head) {
        paths.extend(mirror.changed_paths(arms.control(), &treatment.commit).map_err(anyhow::Error::from)?);
    }
    let texts: Vec<_> = paths.iter().map(TreePath::text).collect();
    let needed = suite.scope.of(texts.iter().map(AsRef::as_ref));
    if *arms.control() == head {
        let swapped = base != head && mirror.behind(&head, &base).is_ok_and(|commits| commits > 0);
        let hint = if swapped { "; are --base and --head the wrong way round?" } else { "" };
        notes.push(format!("control and head are the same commit{hint}"));
    }
    let trees = trees(suite, mirror, &arms)?;
    let mut contexts = BTreeMap::new();
    for role in arms.roles() {
        let Some(commit) = arms.commit(&role) else { continue };
        contexts.insert(role.to_string(), context(mirror, commit)?);
    }
    let origin = Origin {
        repository: match commits.pinned {
            Some(pinned) => pinned.repository.clone(),
            None => Source::of(commits.repo).map_err(usage)?.name(),
        },
        base: name,
        head: commits.head.to_owned(),
        merge_bases,
        behind: mirror.behind(arms.control(), &base).ok(),
        trees: BTreeMap::new(),
        changed_paths: changed.len() as u64,
        unknown_commits: Vec::new(),
        ran: BTreeMap::new(),
        pull: commits.pinned.map(|pinned| pinned.pull.clone()),
    };
    Ok(Found { arms, origin, trees, contexts, notes, needed })
}

/// The base and the name that it goes by.
fn base<'a>(mirror: &Mirror, commits: &Commits<'a>) -> Result<(&'a str, CommitSha), Failure> {
    if let (Some(pinned), Some(name)) = (commits.pinned, commits.base) {
        return Ok((name, pinned.base.clone()));
    }
    match commits.base {
        Some(name) => Ok((name, mirror.resolve(name).map_err(git)?)),
        None => USUAL_BASES
            .into_iter()
            .find_map(|name| Some((name, mirror.resolve(name).ok()?)))
            .ok_or_else(|| usage("no branch origin/HEAD, main or master: name one with --base")),
    }
}

/// What follows from a commit and is told when it differs: the files that pin other software.
fn context(mirror: &Mirror, commit: &CommitSha) -> Result<Context, Failure> {
    let mut context = Context::default();
    for name in LOCK_FILES {
        let path = TreePath::new(name);
        if let FileAt::Content(bytes) =
            mirror.read_file(commit, &path, LARGEST_LOCK_FILE).map_err(anyhow::Error::from)?
        {
            let digest = Digest::of(&bytes).as_str().get(..12).map(str::to_owned);
            context.0.insert(name.to_owned(), digest);
        }
    }
    Ok(context)
}
