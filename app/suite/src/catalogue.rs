//! Where suites come from: the program itself, a folder, or a path.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::error::{SuiteError, nearest, quoted};
use crate::setup::Beside;
use crate::suite::{LARGEST, Suite};

/// A suite that the program brings along.
struct Embedded {
    name: &'static str,
    text: &'static str,
    /// The files beside it.
    files: &'static [(&'static str, &'static str)],
}

/// All of them.
const EMBEDDED: &[Embedded] = &[
    Embedded { name: "demo", text: include_str!("../../../config/suites/demo.toml"), files: &[] },
    Embedded { name: "rig", text: include_str!("../../../config/suites/rig.toml"), files: &[] },
    Embedded {
        name: "zephyr",
        text: include_str!("../../../config/suites/zephyr.toml"),
        files: &[
            ("setup/uv-sync.sh", include_str!("../../../config/suites/setup/uv-sync.sh")),
            ("setup/runtime.sh", include_str!("../../../config/suites/setup/runtime.sh")),
        ],
    },
];

/// How a suite is meant: by its name, or by the path of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteRef {
    /// A name.
    Name(String),
    /// A path that ends in `.toml`.
    Path(PathBuf),
}

impl From<&str> for SuiteRef {
    fn from(text: &str) -> Self {
        let path = Path::new(text);
        if path.extension().is_some_and(|end| end == "toml") {
            Self::Path(path.to_owned())
        } else {
            Self::Name(text.to_owned())
        }
    }
}

/// Why there is no suite.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nobody knows this name.
    #[error(
        "there is no suite {found}; known are {}{}; a path must end in .toml", known.join(", "),
        nearest.as_ref().map_or(String::new(), |n| format!("; nearest: {n}"))
    )]
    Unknown {
        /// The name, quoted.
        found: String,
        /// The names that there are.
        known: Vec<String>,
        /// The nearest of them.
        nearest: Option<String>,
    },
    /// A file or a folder that cannot be read.
    #[error("{path}: cannot be read: {error}")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A file whose suite has another name than the file.
    #[error("{path}: the suite in it is named {name}; a file in a folder of suites has the name of its suite")]
    Name {
        /// The path of the file.
        path: String,
        /// The name of the suite.
        name: String,
    },
    /// A file that is not a suite.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

/// Reads a suite. A file in `folder` goes before a suite of the same name that the program brings along.
///
/// # Errors
/// A name that is not known, a file that cannot be read or that is not a suite.
pub fn load(suite: &SuiteRef, folder: Option<&Path>) -> Result<Suite, LoadError> {
    match suite {
        SuiteRef::Path(path) => read(path),
        SuiteRef::Name(name) => {
            let names = names(folder)?;
            // Only a name that was found in the folder becomes a path: the text may hold anything.
            if !names.iter().any(|known| known == name) {
                let found = quoted(name);
                let nearest = nearest(name, names.iter().map(String::as_str));
                return Err(LoadError::Unknown { found, known: names, nearest });
            }
            let path = folder.map(|folder| folder.join(format!("{name}.toml"))).filter(|path| path.is_file());
            if let Some(path) = path {
                let suite = read(&path)?;
                if suite.name.as_str() != name {
                    return Err(LoadError::Name { path: path.display().to_string(), name: suite.name.to_string() });
                }
                return Ok(suite);
            }
            let of = EMBEDDED.iter().find(|suite| suite.name == name);
            let (text, files) = of.map_or(("", &[][..]), |suite| (suite.text, suite.files));
            Ok(Suite::parse_beside(&format!("{name}.toml"), text, Beside::Texts(files))?)
        }
    }
}

/// The names of all suites: those of the program, and the `.toml` files of `folder`.
///
/// # Errors
/// A folder that cannot be read.
pub fn names(folder: Option<&Path>) -> Result<Vec<String>, LoadError> {
    let mut names: Vec<String> = EMBEDDED.iter().map(|suite| suite.name.to_owned()).collect();
    if let Some(folder) = folder {
        let unreadable = |error| LoadError::Unreadable { path: folder.display().to_string(), error };
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if let (Some("toml"), Some(stem)) =
                (path.extension().and_then(|e| e.to_str()), path.file_stem().and_then(|s| s.to_str()))
            {
                names.push(stem.to_owned());
            }
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn read(path: &Path) -> Result<Suite, LoadError> {
    let unreadable = |error| LoadError::Unreadable { path: path.display().to_string(), error };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    // One byte more than is allowed, so that `parse` sees that there is too much.
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, format!("not UTF-8: {error}")))
    })?;
    let beside = Beside::Folder(path.parent().unwrap_or(Path::new("")));
    Ok(Suite::parse_beside(&path.display().to_string(), &text, beside)?)
}
