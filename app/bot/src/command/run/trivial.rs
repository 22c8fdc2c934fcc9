//! Whether only what cannot alter a measurement differs between two commits.

use domain::ids::CommitSha;
use lab::git::{Change, Kind, Mirror, TreePath};
use suite::Suite;
use suite::trivial::{Changes, Sameness, is_documentation, python};

use crate::failure::Failure;

/// Python files that are compared; a change of more of them is no small one.
const MOST_FILES: usize = 500;
/// Largest Python file that is compared, bytes.
const LARGEST: u64 = 1 << 20;

/// What the difference of two commits comes to.
#[derive(Debug)]
pub(super) enum Difference {
    /// Only what cannot alter a measurement differs; in words, empty where nothing differs at all.
    Trivial(Vec<String>),
    /// These paths differ and may matter, in the order of their bytes. They are foreign text.
    Matters(Vec<TreePath>),
}

/// Compares two commits: paths that the suite ignores, documentation, and Python files by their tokens. Whatever is not
/// known to be without effect matters.
///
/// # Errors
/// Git failed.
pub(super) fn difference(
    suite: &Suite,
    mirror: &Mirror,
    one: &CommitSha,
    other: &CommitSha,
) -> Result<Difference, Failure> {
    let (mut trivial, mut matters) = (Changes::default(), Vec::new());
    let mut compared = Vec::new();
    for change in mirror.changes(one, other).map_err(anyhow::Error::from)? {
        let text = change.path.text().into_owned();
        let needed = suite.scope.of([text.as_str()]);
        if needed.is_trivial() {
            trivial.ignored(needed.why_trivial().as_deref());
            continue;
        }
        let content = content(&change);
        let new_file = change.before.is_none() && matches!(change.after, Some((Kind::File { executable: false }, _)));
        match content {
            Some(_) if is_documentation(&text) => trivial.documentation(),
            _ if new_file && is_documentation(&text) => trivial.documentation(),
            Some(objects) if is_python(&text) => compared.push((change.path, text, objects)),
            _ => matters.push(change.path),
        }
    }
    if compared.len() > MOST_FILES {
        matters.extend(compared.drain(..).map(|(path, ..)| path));
    }
    let objects: Vec<&str> = compared.iter().flat_map(|(_, _, [old, new])| [old.as_str(), new.as_str()]).collect();
    let contents = mirror.contents(&objects, LARGEST).map_err(anyhow::Error::from)?;
    for ((path, text, _), contents) in compared.iter().zip(contents.chunks_exact(2)) {
        let read = |at: usize| contents.get(at)?.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        match read(0).zip(read(1)).map(|(old, new)| python(old, new)) {
            Some(Sameness::Same(what)) => trivial.file(what, text),
            _ => matters.push(path.clone()),
        }
    }
    if matters.is_empty() {
        return Ok(Difference::Trivial(trivial.reasons()));
    }
    matters.sort();
    Ok(Difference::Matters(matters))
}

/// The objects of a file that is an ordinary file of one mode on both sides: what was renamed, added, removed or made
/// executable has none.
fn content(change: &Change) -> Option<[String; 2]> {
    let ((before, old), (after, new)) = (change.before.as_ref()?, change.after.as_ref()?);
    let same = before == after && matches!(before, Kind::File { .. });
    same.then(|| [old.clone(), new.clone()])
}

fn is_python(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "py")
}
