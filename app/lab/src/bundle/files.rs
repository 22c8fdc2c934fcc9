//! The tree that is bundled: a commit's, with some paths taken from another.

use std::collections::HashSet;

use domain::ids::CommitSha;

use super::{BundleError, Overlay};
use crate::git::{Leaf, Mirror, TreePath};

/// Files, links and submodules of a tree, so that rules and links take seconds at the very most.
const LEAVES: usize = 200_000;
/// Bytes of their paths together.
const PATH_BYTES: usize = 16 << 20;
/// Of a listing: mode, type and object come to 54 bytes.
const LISTING_BYTES: u64 = (LEAVES * 54 + PATH_BYTES) as u64;
/// Longest path, in bytes; Linux has no longer ones.
const LONGEST: usize = 4096;

/// Everything that stands in the tree, in the order of the bytes of its path.
pub(super) fn leaves(mirror: &Mirror, commit: &CommitSha, overlay: Option<&Overlay>) -> Result<Vec<Leaf>, BundleError> {
    let mut leaves = mirror.leaves(commit, LISTING_BYTES)?;
    if let Some(Overlay { commit, paths }) = overlay.filter(|overlay| !overlay.paths.is_empty()) {
        for path in paths {
            path.check().map_err(|why| BundleError::Path { path: path.clone(), why })?;
        }
        overlaid(&mut leaves, mirror.leaves(commit, LISTING_BYTES)?, paths);
    }
    let path_bytes: usize = leaves.iter().map(|leaf| leaf.path.bytes().len()).sum();
    if leaves.len() > LEAVES {
        return Err(BundleError::bounds("the number of files of the commit", LEAVES as u64, "files"));
    }
    if path_bytes > PATH_BYTES {
        return Err(BundleError::bounds("the length of all paths of the commit", PATH_BYTES as u64, "bytes"));
    }
    // Git lists in this order already, but for what no git would write.
    leaves.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(leaves)
}

/// Takes everything at and below `paths` from `other` instead.
fn overlaid(leaves: &mut Vec<Leaf>, mut other: Vec<Leaf>, paths: &[TreePath]) {
    let paths: HashSet<&[u8]> = paths.iter().map(TreePath::bytes).collect();
    let covered = |path: &TreePath| paths.contains(path.bytes()) || parents(path).any(|parent| paths.contains(parent));
    other.retain(|leaf| covered(&leaf.path));
    // A file cannot stand where a folder is needed now.
    let folders: HashSet<&[u8]> = other.iter().flat_map(|leaf| parents(&leaf.path)).collect();
    leaves.retain(|leaf| !covered(&leaf.path) && !folders.contains(leaf.path.bytes()));
    leaves.extend(other);
}

/// Paths, in the order of their bytes, as the names of entries of a zip that may be unpacked anywhere.
///
/// # Errors
/// The first that cannot be one.
pub(super) fn names<'p>(paths: &[&'p TreePath]) -> Result<Vec<&'p str>, BundleError> {
    let refused = |path: &TreePath, why| Err(BundleError::Path { path: path.clone(), why });
    let all: HashSet<&[u8]> = paths.iter().map(|path| path.bytes()).collect();
    let mut names = Vec::with_capacity(paths.len());
    let (mut before, mut folder): (&[u8], &[u8]) = (b"", b"");
    for path in paths {
        path.check().map_err(|why| BundleError::Path { path: (*path).clone(), why })?;
        let Ok(name) = std::str::from_utf8(path.bytes()) else { return refused(path, "is not UTF-8") };
        if path.bytes().len() > LONGEST {
            return refused(path, "is longer than 4096 bytes");
        }
        let parent = parents(path).next().unwrap_or_default();
        // Most follow one of the same folder.
        let inside = parent != folder && parents(path).any(|parent| all.contains(parent));
        if inside || path.bytes() == before {
            return refused(path, "stands there twice, or inside a file");
        }
        (before, folder) = (path.bytes(), parent);
        names.push(name);
    }
    Ok(names)
}

/// The folders that a path is in, the innermost first.
fn parents(path: &TreePath) -> impl Iterator<Item = &[u8]> {
    let bytes = path.bytes();
    (0..bytes.len()).rev().filter(|at| bytes[*at] == b'/').map(|at| &bytes[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Kind;

    fn tree(lines: &[&str]) -> Vec<Leaf> {
        let leaf = |line: &&str| {
            let (path, object) = line.split_once('=').unwrap();
            Leaf { path: TreePath::new(path), kind: Kind::File { executable: false }, object: object.to_owned() }
        };
        lines.iter().map(leaf).collect()
    }

    #[test]
    fn overlays() {
        let base = ["a=1", "b/c=1", "b/d=1", "e=1", "f/g=1", "h=1"];
        let other = ["a=2", "b/c=2", "b/x=2", "e/y/z=2", "f=2", "new=2", "h=2"];
        for (paths, expected) in [
            (vec!["a"], "a=2 b/c=1 b/d=1 e=1 f/g=1 h=1"),
            (vec!["b"], "a=1 b/c=2 b/x=2 e=1 f/g=1 h=1"),
            (vec!["b/c", "b/d"], "a=1 b/c=2 e=1 f/g=1 h=1"),
            (vec!["e/y"], "a=1 b/c=1 b/d=1 e/y/z=2 f/g=1 h=1"),
            (vec!["f", "new", "none", "f/g"], "a=1 b/c=1 b/d=1 e=1 f=2 h=1 new=2"),
            (vec!["ne", "b/"], "a=1 b/c=1 b/d=1 e=1 f/g=1 h=1"),
        ] {
            let paths: Vec<TreePath> = paths.into_iter().map(TreePath::new).collect();
            let mut leaves = tree(&base);
            overlaid(&mut leaves, tree(&other), &paths);
            leaves.sort_by(|one, other| one.path.cmp(&other.path));
            let shown: Vec<String> =
                leaves.iter().map(|leaf| format!("{}={}", leaf.path.text(), leaf.object)).collect();
            assert_eq!(shown.join(" "), expected, "{paths:?}");
        }
    }

    #[test]
    fn paths() {
        let check = |paths: &[&[u8]]| {
            let paths: Vec<TreePath> = paths.iter().map(|path| TreePath::new(*path)).collect();
            super::names(&paths.iter().collect::<Vec<_>>()).map(|names| names.len())
        };
        assert_eq!(check(&[b"a", b"a.b", b"ab/c", b"ab/d", b"b/c", "caf\u{e9}".as_bytes()]), Ok(6));
        let long = "x".repeat(4097);
        for bad in [
            &[&b"../a"[..]][..],
            &[b"a", b"a"],
            &[b"a", b"a.b", b"a/b"],
            &[b"a", b"a.b", b"a/b/c/d"],
            &[b"x/caf\xe9"],
            &[b".GIT/config"],
            &[long.as_bytes()],
        ] {
            assert!(matches!(check(bad), Err(BundleError::Path { .. })), "{bad:?}");
        }
    }
}
