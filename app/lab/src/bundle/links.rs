//! What symbolic links lead to, inside the tree.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use super::BundleError;
use crate::git::{Kind, Leaf, TreePath};

/// Longest target of a link, in bytes; Linux has no longer ones.
pub(super) const TARGET_BYTES: u64 = 4096;
/// Links that are followed for one; Linux gives up after as many.
const FOLLOWED: u32 = 40;
/// Parts of paths that are walked for all links of a tree. Without a limit, links that lead to links would cost a
/// hostile tree nothing and us hours.
const STEPS: u64 = 1_000_000;

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End<'t> {
    /// To this file.
    File(&'t Leaf),
    /// To a folder, or to a submodule.
    Folder,
    /// To nothing.
    Nothing,
    /// Out of the tree, or to an absolute path.
    Outside,
    /// In a circle, or through more links than Linux follows.
    Circle,
}

/// What stands at a path.
enum Stands<'t> {
    Leaf(&'t Leaf),
    Folder,
    Nothing,
}

/// A tree with the targets of its links.
pub(super) struct Links<'t> {
    /// In the order of their paths.
    leaves: &'t [Leaf],
    targets: HashMap<&'t TreePath, Arc<[u8]>>,
    steps: Cell<u64>,
}

impl<'t> Links<'t> {
    pub(super) fn new(leaves: &'t [Leaf], targets: HashMap<&'t TreePath, Arc<[u8]>>) -> Self {
        Self { leaves, targets, steps: Cell::new(STEPS) }
    }

    /// Where a path of the tree leads, as the kernel would follow it in a checkout.
    ///
    /// # Errors
    /// The links of the tree take too long to follow.
    pub(super) fn follow(&self, path: &'t TreePath) -> Result<End<'t>, BundleError> {
        let mut place: Vec<u8> = Vec::new();
        // Parts that are still to walk, the next one last.
        let mut ahead: Vec<&[u8]> = path.bytes().rsplit(|byte| *byte == b'/').collect();
        let mut followed = 0;
        while let Some(part) = ahead.pop() {
            let Some(left) = self.steps.get().checked_sub(1) else {
                return Err(BundleError::bounds("following the links of the tree", STEPS, "steps"));
            };
            self.steps.set(left);
            match part {
                b"" | b"." => continue,
                b".." if place.is_empty() => return Ok(End::Outside),
                b".." => {
                    up(&mut place);
                    continue;
                }
                _ => {}
            }
            if !place.is_empty() {
                place.push(b'/');
            }
            place.extend_from_slice(part);
            if place.len() as u64 > TARGET_BYTES {
                return Ok(End::Nothing);
            }
            match self.at(&place) {
                Stands::Nothing => return Ok(End::Nothing),
                Stands::Folder => {}
                Stands::Leaf(leaf) => match leaf.kind {
                    // What is in a submodule is not there.
                    Kind::Submodule => {}
                    Kind::File { .. } if ahead.is_empty() => return Ok(End::File(leaf)),
                    Kind::File { .. } => return Ok(End::Nothing),
                    Kind::Link => {
                        followed += 1;
                        if followed > FOLLOWED {
                            return Ok(End::Circle);
                        }
                        let Some(target) = self.targets.get(&leaf.path) else { return Ok(End::Nothing) };
                        if target.is_empty() || target.contains(&0) {
                            return Ok(End::Nothing);
                        }
                        if target.starts_with(b"/") {
                            return Ok(End::Outside);
                        }
                        ahead.extend(target.rsplit(|byte| *byte == b'/'));
                        up(&mut place);
                    }
                },
            }
        }
        Ok(End::Folder)
    }

    fn at(&self, path: &[u8]) -> Stands<'t> {
        let after = self.leaves.partition_point(|leaf| leaf.path.bytes() < path);
        if let Some(leaf) = self.leaves.get(after).filter(|leaf| leaf.path.bytes() == path) {
            return Stands::Leaf(leaf);
        }
        let inside = [path, b"/"].concat();
        let first = self.leaves.partition_point(|leaf| leaf.path.bytes() < inside.as_slice());
        let folder = self.leaves.get(first).is_some_and(|leaf| leaf.path.bytes().starts_with(&inside));
        if folder { Stands::Folder } else { Stands::Nothing }
    }
}

/// Takes the last part of a path away.
fn up(place: &mut Vec<u8>) {
    let parent = place.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    place.truncate(parent);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where `from` leads in a tree of links `a -> b`, submodules `a!` and files.
    fn end(tree: &[&str], from: &str) -> String {
        let mut leaves = Vec::new();
        let mut texts = Vec::new();
        for line in tree {
            let (path, kind) = match line.split_once(" -> ") {
                Some((path, target)) => {
                    texts.push((TreePath::new(path), Arc::from(target.as_bytes())));
                    (path, Kind::Link)
                }
                None if line.ends_with('!') => (line.trim_end_matches('!'), Kind::Submodule),
                None => (*line, Kind::File { executable: false }),
            };
            leaves.push(Leaf { path: TreePath::new(path), kind, object: String::new() });
        }
        leaves.sort_by(|one, other| one.path.cmp(&other.path));
        let targets = texts.iter().map(|(path, target)| (path, Arc::clone(target))).collect();
        let links = Links::new(&leaves, targets);
        let from = leaves.iter().find(|leaf| leaf.path == TreePath::new(from)).unwrap();
        match links.follow(&from.path).unwrap() {
            End::File(leaf) => leaf.path.text().into_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn to_files() {
        assert_eq!(end(&["a -> b", "b"], "a"), "b");
        assert_eq!(end(&["d/a -> ../e//./f", "e/f"], "d/a"), "e/f");
        assert_eq!(end(&["a -> b", "b -> c", "c"], "a"), "c");
        // The parent is that of the folder that the link leads to.
        assert_eq!(end(&["a -> l/../x", "l -> d/e", "d/e/y", "d/x", "x"], "a"), "d/x");
        assert_eq!(end(&["a -> l/f", "l -> e", "e/f"], "a"), "e/f");
        assert_eq!(end(&["a -> d/f", "d.x", "d-x", "d/f", "d0"], "a"), "d/f");
    }

    #[test]
    fn elsewhere() {
        assert_eq!(end(&["a -> d", "d.x", "d/f", "d0"], "a"), "Folder");
        assert_eq!(end(&["a -> .", "b"], "a"), "Folder");
        assert_eq!(end(&["a -> s", "s!"], "a"), "Folder");
        for target in ["b", "f/", "f/.", "f/../f", "nothing/../f", "s/f", "d", "", "a\0"] {
            assert_eq!(end(&[&format!("a -> {target}"), "f", "s!", "d.x", "d0", "dd/x"], "a"), "Nothing", "{target:?}");
        }
        for target in ["/etc/passwd", "..", "../x", "d/../../x", "l/x", "m"] {
            let tree = [&format!("a -> {target}"), "d/f", "l -> d/../..", "m -> /"];
            assert_eq!(end(&tree, "a"), "Outside", "{target:?}");
        }
        assert_eq!(end(&["a -> a"], "a"), "Circle");
        assert_eq!(end(&["a -> b", "b -> a"], "a"), "Circle");
        assert_eq!(end(&["a -> a/b"], "a"), "Circle");
    }

    #[test]
    fn a_maze_is_left() {
        let far = "d/../".repeat(800);
        let target: Arc<[u8]> = Arc::from(format!("{far}a").as_bytes());
        let mut leaves = vec![Leaf { path: TreePath::new("d/f"), kind: Kind::Submodule, object: String::new() }];
        let link = |n: usize| Leaf { path: TreePath::new(format!("l{n:04}")), kind: Kind::Link, object: String::new() };
        leaves.extend((0..1000).map(link));
        let targets = leaves[1..].iter().map(|leaf| (&leaf.path, Arc::clone(&target))).collect();
        let links = Links::new(&leaves, targets);
        let error = leaves.iter().find_map(|leaf| links.follow(&leaf.path).err()).unwrap();
        assert_eq!(error.to_string(), "following the links of the tree is more than is bundled: at most 1000000 steps");
    }
}
