//! Scripts that prepare a job: files beside the suite's own, read together with it.

use std::io::Read as _;
use std::path::Path;

use domain::ids::Digest;
use domain::setting::Setting;

use crate::error::{SuiteError, quoted};
use crate::generation::inner_path;
use crate::node::Node;

/// Largest text of a script, in bytes.
pub const LARGEST: usize = 64 << 10;
/// Most scripts of a list.
const MOST: usize = 16;

/// Where the files are that stand beside the suite's own.
#[derive(Clone, Copy, Debug)]
pub enum Beside<'a> {
    /// In this folder.
    Folder(&'a Path),
    /// In memory: paths and texts. This is where the program's own suites have theirs.
    Texts(&'a [(&'a str, &'a str)]),
}

impl Beside<'_> {
    /// No files at all.
    pub const NOTHING: Self = Self::Texts(&[]);

    fn read(self, path: &str) -> Result<String, String> {
        match self {
            Self::Folder(folder) => of_folder(folder, path),
            Self::Texts(texts) => {
                let found = texts.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
                found.ok_or_else(|| "there is no such file beside the suite".to_owned())
            }
        }
    }
}

fn of_folder(folder: &Path, path: &str) -> Result<String, String> {
    // A path without a folder is a file of the current one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file beside the suite".to_owned(),
        _ => format!("it cannot be read: {error}"),
    };
    let whole = folder.join(path).canonicalize().map_err(unreadable)?;
    if !whole.starts_with(folder.canonicalize().map_err(unreadable)?) {
        return Err("it leads out of the folder of the suite".to_owned());
    }
    // Opening a pipe would wait for its other end.
    if !whole.metadata().map_err(unreadable)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    // One byte more than is allowed shows that there is too much.
    let file = std::fs::File::open(&whole).map_err(unreadable)?;
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > LARGEST {
        return Err(format!("a script has at most {} KiB", LARGEST >> 10));
    }
    String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its path beside the suite's file.
    pub path: String,
    /// What it does, in bash.
    pub text: String,
}

impl Script {
    fn read(node: &Node<'_>, beside: Beside<'_>) -> Result<Self, SuiteError> {
        let path = inner_path(node)?;
        let unfit = |problem: String| node.unfit(format!("{}: {problem}", quoted(&path)));
        let text = beside.read(&path).map_err(unfit)?;
        if text.trim().is_empty() || text.contains('\0') {
            return Err(unfit("a script is a text that is not empty".to_owned()));
        }
        Ok(Self { path, text })
    }

    /// The path, and the beginning of the text's SHA-256: the path alone would let the text change unseen.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{} {}", self.path, self.digest())
    }

    /// The beginning of the SHA-256 of its text.
    fn digest(&self) -> String {
        Digest::of(self.text.as_bytes()).as_str().chars().take(12).collect()
    }
}

/// The scripts that prepare a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// `environment.setupScripts` of the job: its children are prepared by these.
    pub scripts: Vec<Script>,
    /// `entrypoint.setupCommands` of the job: it is itself prepared by these.
    pub commands: Vec<Script>,
}

impl Setup {
    /// `"a.sh"` is `{ scripts = ["a.sh"], commands = ["a.sh"] }`.
    pub(crate) fn read(node: &Node<'_>, beside: Beside<'_>) -> Result<Self, SuiteError> {
        if node.text().is_ok() {
            let script = Script::read(node, beside)?;
            return Ok(Self { scripts: vec![script.clone()], commands: vec![script] });
        }
        let table = node.table(&["scripts", "commands"])?;
        let list = |key: &'static str| {
            let node = table.need(key, "a list of scripts beside the suite's file")?;
            let scripts = node.texts("a list of scripts", |n| Script::read(n, beside))?;
            if scripts.len() > MOST { Err(node.refused(format!("at most {MOST} scripts"))) } else { Ok(scripts) }
        };
        Ok(Self { scripts: list("scripts")?, commands: list("commands")? })
    }

    /// Whether nothing prepares the job.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scripts.is_empty() && self.commands.is_empty()
    }

    /// What stands in a workload: digests alone, because a job that ran does not tell what its scripts were called.
    #[must_use]
    pub fn setting(&self) -> Setting {
        let of = |list: &str, scripts: &[Script]| -> Vec<String> {
            scripts.iter().map(|script| format!("{list} {}", script.digest())).collect()
        };
        Setting::List([of("scripts", &self.scripts), of("commands", &self.commands)].concat())
    }
}
