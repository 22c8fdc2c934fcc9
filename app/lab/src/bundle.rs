//! The workspace that a job of the cluster runs in: a zip of a commit's files, made from git objects.
//!
//! There is no checkout, and nothing of the repository is executed: no hook, filter, attribute or build. A file has the
//! bytes that git stores, so that a file of Git LFS is its pointer. Which files are in it is what the official client
//! puts into it from a clean checkout, by rules that `pyproject.toml` may extend; where that client leaves out files
//! whose names git quotes, such as those that are not ASCII, they are in here. A link to a file is that file, as Python's
//! `zipfile` writes it.
//!
//! Compressed files are kept by object: the second arm of a comparison shares nearly all of them with the first.

mod cache;
mod error;
mod files;
mod links;
mod pack;
mod rules;
mod zip;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::{CommitSha, Digest};

use crate::git::{GitError, Kind, Leaf, Mirror, TreePath, read_blobs};
use cache::Cache;
pub use error::{BundleError, Large};
use links::{End, Links};
use pack::{Sums, Wanted, pack, within};
use rules::Rules;
use zip::{Entry, Packed};

/// Bytes that the cluster takes.
const BUNDLE_BYTES: u64 = 25 << 20;
/// Bytes of all files, unpacked.
const PLAIN_BYTES: u64 = 1 << 30;
/// How many of the largest files an error names.
const LISTED: usize = 10;
const PROJECT: &[u8] = b"pyproject.toml";

/// Makes bundles of the commits of one mirror.
#[derive(Debug)]
pub struct Bundler {
    mirror: Mirror,
    cache: Mutex<Cache>,
}

/// Paths that are taken from another commit: replaced, added, or removed where it lacks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// The other commit.
    pub commit: CommitSha,
    /// The paths. One that is a folder, in either commit, means everything below it.
    pub paths: Vec<TreePath>,
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// SHA-256 of the bytes: 64 hexadecimal digits.
    pub id: String,
    /// A zip.
    pub bytes: Vec<u8>,
    /// Its entries, all of them files.
    pub files: u64,
    /// What is not in it though no rule leaves it out, in the order of the paths.
    pub skipped: Vec<Skipped>,
}

/// A path that cannot be a file of the bundle, as it is none in a checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The path.
    pub path: TreePath,
    /// Why.
    pub why: Why,
}

/// Why a path is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A commit of another repository.
    Submodule,
    /// A link to a folder. What is in the folder is bundled under its own path.
    LinkToFolder,
    /// A link to nothing.
    LinkToNothing,
    /// A link out of the tree, or with an absolute target.
    LinkOutside,
    /// A link that leads back to itself, or through more than 40 links.
    LinkInCircle,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Submodule => "is a submodule",
            Self::LinkToFolder => "is a link to a folder",
            Self::LinkToNothing => "is a link to nothing",
            Self::LinkOutside => "is a link out of the tree",
            Self::LinkInCircle => "is a link that leads in a circle",
        })
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.why)
    }
}

/// A file of the bundle: where it is, and what is in it.
struct Planned<'t> {
    name: &'t str,
    object: &'t str,
    executable: bool,
}

impl Bundler {
    /// Makes bundles of the commits of `mirror`. Up to 256 MiB of compressed files are kept.
    #[must_use]
    pub fn new(mirror: Mirror) -> Self {
        Self { mirror, cache: Mutex::default() }
    }

    /// The workspace of a commit. Same commit, same overlay and same version of this program: same bytes.
    ///
    /// # Errors
    /// A bundle of more than 25 MiB, with what is largest in it; a tree over the other limits (1 GiB unpacked, 200,000
    /// files), which is noticed before it is held in memory; a path that no zip should have; a wrong `[tool.iris.bundle]`;
    /// git failing.
    pub fn bundle(&self, commit: &CommitSha, overlay: Option<&Overlay>) -> Result<Bundle, BundleError> {
        self.cache().next();
        let leaves = files::leaves(&self.mirror, commit, overlay)?;
        let links = Links::new(&leaves, self.targets(&leaves)?);
        let rules = self.rules(&leaves, &links)?;
        let (planned, skipped) = plan(&leaves, &links, &rules)?;
        let files = self.files(&planned)?;

        let entries = || {
            let both = planned.iter().zip(&files);
            both.map(|(&Planned { name, executable, .. }, file)| Entry { name, executable, file })
        };
        let bytes = zip::size(entries());
        if bytes > BUNDLE_BYTES {
            return Err(BundleError::TooLarge { bytes, limit: BUNDLE_BYTES, largest: largest(entries()) });
        }
        let bytes = zip::assemble(entries(), bytes)?;
        Ok(Bundle { id: Digest::of(&bytes).into(), bytes, files: planned.len() as u64, skipped })
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The targets of all links of the tree: a link may lead through one that is not bundled.
    fn targets<'t>(&self, leaves: &'t [Leaf]) -> Result<HashMap<&'t TreePath, Arc<[u8]>>, BundleError> {
        let links: Vec<&Leaf> = leaves.iter().filter(|leaf| leaf.kind == Kind::Link).collect();
        let objects: Vec<&str> = links.iter().map(|leaf| leaf.object.as_str()).collect();
        let texts = self.texts(&objects, links::TARGET_BYTES, "the target of a link")?;
        Ok(links.into_iter().map(|leaf| &leaf.path).zip(texts).collect())
    }

    fn rules(&self, leaves: &[Leaf], links: &Links<'_>) -> Result<Rules, BundleError> {
        let at = leaves.binary_search_by(|leaf| leaf.path.bytes().cmp(PROJECT));
        let Ok(at) = at else { return Ok(Rules::default()) };
        let End::File(project) = links.follow(&leaves[at].path)? else { return Ok(Rules::default()) };
        let text = self.texts(&[project.object.as_str()], rules::PROJECT_BYTES, "pyproject.toml")?;
        text.first().map_or_else(|| Ok(Rules::default()), |text| Rules::read(text))
    }

    /// Small objects, in their order.
    fn texts(&self, objects: &[&str], most: u64, what: &'static str) -> Result<Vec<Arc<[u8]>>, BundleError> {
        let mut known: HashMap<&str, Arc<[u8]>> = HashMap::new();
        let mut missing = Vec::new();
        {
            let cache = self.cache();
            for object in objects {
                if !known.contains_key(object) {
                    match cache.text(object) {
                        Some(text) => drop(known.insert(object, text)),
                        None => missing.push(*object),
                    }
                }
            }
        }
        missing.sort_unstable();
        missing.dedup();
        read_blobs(self.mirror.git(), &missing, |at, bytes, content| {
            if bytes > most {
                return Err(BundleError::bounds(what, most, "bytes"));
            }
            let mut text = Vec::new();
            content.read_to_end(&mut text).map_err(|why| GitError::system("reading from git cat-file", &why))?;
            known.insert(missing[at], Arc::from(text));
            Ok(())
        })?;
        let mut cache = self.cache();
        for object in missing {
            if let Some(text) = known.get(object) {
                cache.keep_text(object, Arc::clone(text));
            }
        }
        Ok(objects.iter().filter_map(|object| known.get(object).map(Arc::clone)).collect())
    }

    /// The compressed files of a plan, in its order.
    fn files(&self, planned: &[Planned<'_>]) -> Result<Vec<Arc<Packed>>, BundleError> {
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(planned.len());
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        let which: Vec<usize> = planned
            .iter()
            .map(|&Planned { object, .. }| {
                let place = *places.entry(object).or_insert_with(|| {
                    wanted.push(Wanted { object, times: 0 });
                    wanted.len() - 1
                });
                wanted[place].times += 1;
                place
            })
            .collect();

        let mut found: Vec<Option<Arc<Packed>>> = Vec::with_capacity(wanted.len());
        let mut sums = Sums { packed: 0, plain: 0 };
        {
            let mut cache = self.cache();
            for file in &wanted {
                let kept = cache.packed(file.object);
                if let Some(kept) = &kept {
                    sums.packed = sums.packed.saturating_add(kept.bytes.saturating_mul(file.times));
                    sums.plain = sums.plain.saturating_add(kept.plain.saturating_mul(file.times));
                }
                found.push(kept);
            }
        }
        within(sums.plain)?;
        let missing: Vec<Wanted<'_>> =
            wanted.into_iter().zip(&found).filter(|(_, kept)| kept.is_none()).map(|(file, _)| file).collect();
        let made = pack(&self.mirror, &missing, &sums)?;
        let mut cache = self.cache();
        for (file, packed) in missing.iter().zip(&made) {
            if packed.has_content() {
                cache.keep(file.object, Arc::clone(packed));
            }
        }
        cache.trim();
        let mut made = made.into_iter();
        let all: Option<Vec<Arc<Packed>>> = found.into_iter().map(|kept| kept.or_else(|| made.next())).collect();
        let files = all.and_then(|all| which.iter().map(|place| all.get(*place).map(Arc::clone)).collect());
        files.ok_or_else(|| BundleError::Zip("a file is missing".to_owned()))
    }
}

/// What is bundled, and what would be if it were a file.
fn plan<'t>(
    leaves: &'t [Leaf],
    links: &Links<'t>,
    rules: &Rules,
) -> Result<(Vec<Planned<'t>>, Vec<Skipped>), BundleError> {
    let (mut paths, mut files, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    // A path that is not UTF-8 is an error, unless the rules leave it out.
    for leaf in leaves.iter().filter(|leaf| rules.keeps(&leaf.path.text())) {
        let end = match leaf.kind {
            Kind::Submodule => Err(Why::Submodule),
            Kind::File { .. } => Ok(leaf),
            Kind::Link => match links.follow(&leaf.path)? {
                End::File(file) => Ok(file),
                End::Folder => Err(Why::LinkToFolder),
                End::Nothing => Err(Why::LinkToNothing),
                End::Outside => Err(Why::LinkOutside),
                End::Circle => Err(Why::LinkInCircle),
            },
        };
        match end {
            Ok(file) => {
                paths.push(&leaf.path);
                files.push(file);
            }
            Err(why) => skipped.push(Skipped { path: leaf.path.clone(), why }),
        }
    }
    let planned = |(name, file): (&'t str, &'t Leaf)| {
        let executable = file.kind == Kind::File { executable: true };
        Planned { name, object: &file.object, executable }
    };
    Ok((files::names(&paths)?.into_iter().zip(files).map(planned).collect(), skipped))
}

/// The entries that take the most room.
fn largest<'f>(entries: impl Iterator<Item = Entry<'f>>) -> Vec<Large> {
    let mut entries: Vec<Entry<'_>> = entries.collect();
    entries.sort_by(|one, other| other.file.bytes.cmp(&one.file.bytes).then_with(|| one.name.cmp(other.name)));
    let large = |Entry { name, file: &Packed { bytes, plain, .. }, .. }| Large {
        path: TreePath::new(name),
        packed: bytes,
        plain,
    };
    entries.into_iter().take(LISTED).map(large).collect()
}
