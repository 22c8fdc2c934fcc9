//! Changes that cannot alter what is measured: documentation, and Python files of which only comments, docstrings, types or
//! the texts of logging differ. What is not known to be such a change is none. [`python`](self::python()) compares two texts
//! of a file by their tokens; [`Changes`] collects what was found and says it in words.

mod python;
mod quiet;
mod shape;
#[cfg(test)]
mod tests;
mod tokens;

pub use python::python;

/// What differs between two texts of a file that do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Comments.
    Comments,
    /// The first strings of modules, classes and functions.
    Docstrings,
    /// Annotations.
    Types,
    /// What logging calls say.
    LogText,
    /// Blanks and line ends.
    Layout,
}

impl What {
    /// Its word in comments.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Comments => "comments",
            Self::Docstrings => "docstrings",
            Self::Types => "types",
            Self::LogText => "log text",
            Self::Layout => "layout",
        }
    }
}

/// How two texts of a file compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// They do the same; what differs, at least one thing, in the order of [`What`].
    Same(Vec<What>),
    /// Something that counts differs.
    Different,
    /// One of them cannot be read; why.
    Unsure(&'static str),
}

/// Whether a path is documentation by its place: `.md` and `.rst` at the top or in a folder of documentation, the usual
/// names of such files anywhere, and `.txt` in a folder of documentation. Elsewhere it may be data of a benchmark: a suite
/// says in `ignore` if it is not.
#[must_use]
pub fn is_documentation(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let documents = folder.split('/').any(|part| matches!(part, "doc" | "docs"));
    let usual = ["README", "CHANGELOG", "CONTRIBUTING", "CODE_OF_CONDUCT", "SECURITY", "AGENTS", "CLAUDE"];
    match extension {
        "md" | "rst" => documents || folder.is_empty() || usual.contains(&stem),
        "txt" => documents,
        _ => false,
    }
}

/// Files that are named one by one.
const NAMED: usize = 3;

/// Trivial changes as they are found, in words at the end.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    documentation: u64,
    ignored: u64,
    why_ignored: Vec<String>,
    files: Vec<(Vec<What>, String)>,
}

impl Changes {
    /// A file of documentation.
    pub fn documentation(&mut self) {
        self.documentation += 1;
    }

    /// A path that the suite ignores, and why where it says so.
    pub fn ignored(&mut self, why: Option<&str>) {
        self.ignored += 1;
        let known = &mut self.why_ignored;
        known.extend(why.filter(|why| !known.iter().any(|other| other == why)).map(str::to_owned));
    }

    /// A file that does the same as before. The path is foreign text: who shows it escapes it.
    pub fn file(&mut self, what: Vec<What>, path: &str) {
        self.files.push((what, path.chars().map(|c| if c.is_control() { '?' } else { c }).take(120).collect()));
    }

    /// The changes in words, such as `comments, docstrings in lib/x.py`; empty where there was none.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let count = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        if self.documentation > 0 {
            reasons.push(count(self.documentation, "documentation file", "documentation files"));
        }
        if self.ignored > 0 {
            let files = count(self.ignored, "file that the suite ignores", "files that the suite ignores");
            let why = self.why_ignored.join("; ");
            reasons.push(if why.is_empty() { files } else { format!("{files} ({why})") });
        }
        let words = |what: &[What]| what.iter().map(|what| what.word()).collect::<Vec<_>>().join(", ");
        for (what, path) in self.files.iter().take(NAMED) {
            reasons.push(format!("{} in {path}", words(what)));
        }
        let more = &self.files[self.files.len().min(NAMED)..];
        if !more.is_empty() {
            let mut all: Vec<What> = more.iter().flat_map(|(what, _)| what).copied().collect();
            all.sort_unstable();
            all.dedup();
            let files = count(more.len() as u64, "more file", "more files");
            reasons.push(format!("{} in {files}", words(&all)));
        }
        reasons
    }
}
