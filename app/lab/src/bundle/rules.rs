//! Which files of a tree are bundled: the rules of the official client.
//!
//! Left out are what nobody runs (always) and what a job rarely needs (unless an `include` of `[tool.iris.bundle]`
//! brings it back); then what an `exclude` of it names. The client also adds generated files that git ignores: they are
//! not in a tree, and are bundled as any other file where they are tracked.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{RegexBuilder, RegexSet, RegexSetBuilder};
use toml::de::{DeTable, DeValue};

use super::BundleError;
use crate::git::plain;

/// Longest `pyproject.toml` that is read, in bytes.
pub(super) const PROJECT_BYTES: u64 = 1 << 20;
const PATTERNS: usize = 200;
const PATTERN_BYTES: usize = 1000;
/// Of all compiled patterns together. A hostile pattern costs time for each of its states and each byte of a path.
const COMPILED_BYTES: usize = 1 << 20;

/// Names of folders and files that are left out at any depth, even where an `include` names what is in them.
const NEVER: &[&str] = &[
    ".git",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "node_modules",
    "venv",
    // Builds of Rust.
    "target",
];
/// Ends of paths that are left out likewise: video, bytecode, and native code, which comes by wheels.
const NEVER_ENDS: &[&str] = &[".mov", ".pyc", ".so"];
/// Names of folders and files that only an `include` brings back.
const RARELY: &[&str] = &["docs", "tests", ".agents", ".claude", ".codex", ".github", "journeys-out"];
/// Names of files likewise.
const RARELY_FILES: &[&str] = &["AGENTS.md", "TESTING.md", "OPS.md"];
const RARELY_ENDS: &[&str] = &[".ipynb"];

/// The rules of one tree.
#[derive(Debug, Default)]
pub(super) struct Rules {
    include: GlobSet,
    exclude: RegexSet,
}

impl Rules {
    /// Reads `[tool.iris.bundle]` of the text of a `pyproject.toml`.
    ///
    /// `include` has the globs of Python's `pathlib` as of Python 3.13: `*` and `?` stop at `/`, `**` is any number of
    /// folders, `[seq]` and `[!seq]` are sets, everything else is itself. They are matched with the files of the tree;
    /// Python also looks through links to folders, which have no files here.
    ///
    /// `exclude` has regular expressions that are searched for in the path, without look-around and back-references,
    /// which are an error, as all that Python understands and this program does not.
    ///
    /// # Errors
    /// What is wrong, and with which key.
    pub(super) fn read(project: &[u8]) -> Result<Self, BundleError> {
        let whole = |why: &str| BundleError::config("the file", why);
        if project.len() as u64 > PROJECT_BYTES {
            return Err(whole(&format!("has more than {PROJECT_BYTES} bytes")));
        }
        let text = std::str::from_utf8(project).map_err(|_| whole("is no UTF-8"))?;
        let parsed = DeTable::parse(text).map_err(|why| {
            let line = why.span().map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            whole(&format!("is no TOML: {line}{}", plain(why.message().as_bytes(), 200)))
        })?;
        let mut table = parsed.get_ref();
        let mut key = String::new();
        for part in ["tool", "iris", "bundle"] {
            key = if key.is_empty() { part.to_owned() } else { format!("{key}.{part}") };
            match table.get(part).map(toml::Spanned::get_ref) {
                None => return Ok(Self::default()),
                Some(DeValue::Table(inner)) => table = inner,
                Some(_) => return Err(BundleError::config(key, "is no table")),
            }
        }
        let (include, exclude) = (texts(table, "include")?, texts(table, "exclude")?);
        Ok(Self { include: globs(&include)?, exclude: expressions(&exclude)? })
    }

    /// Whether a file is bundled.
    pub(super) fn keeps(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let any_part = |names: &[&str]| path.split('/').any(|part| names.contains(&part));
        let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        let secret = name.strip_prefix("gha-creds-").and_then(|rest| rest.strip_suffix(".json"));
        let never = any_part(NEVER)
            || ends(NEVER_ENDS)
            || path.split('/').any(|part| part.ends_with(".egg-info"))
            // Credentials that actions of GitHub leave behind.
            || secret.is_some_and(|id| !id.is_empty());
        if never {
            return false;
        }
        let rarely = any_part(RARELY) || RARELY_FILES.contains(&name) || ends(RARELY_ENDS);
        (!rarely || self.include.is_match(path)) && !self.exclude.is_match(path)
    }
}

/// The texts of a key of `[tool.iris.bundle]`, each with its place.
fn texts(table: &DeTable<'_>, name: &str) -> Result<Vec<(String, String)>, BundleError> {
    let key = format!("tool.iris.bundle.{name}");
    let Some(value) = table.get(name) else { return Ok(Vec::new()) };
    let DeValue::Array(array) = value.get_ref() else {
        return Err(BundleError::config(key, "is no array of strings"));
    };
    if array.len() > PATTERNS {
        return Err(BundleError::config(key, format!("has more than {PATTERNS} elements")));
    }
    let text = |(at, value): (usize, &toml::Spanned<DeValue<'_>>)| {
        let place = format!("{key}[{at}]");
        match value.get_ref() {
            DeValue::String(text) if text.len() <= PATTERN_BYTES => Ok((place, text.clone().into_owned())),
            DeValue::String(_) => Err(BundleError::config(place, format!("has more than {PATTERN_BYTES} bytes"))),
            _ => Err(BundleError::config(place, "is no string")),
        }
    };
    array.iter().enumerate().map(text).collect()
}

fn globs(patterns: &[(String, String)]) -> Result<GlobSet, BundleError> {
    let mut all = GlobSetBuilder::new();
    for (place, pattern) in patterns {
        let bad = |why: &str| BundleError::config(place, format!("{:?} {why}", plain(pattern.as_bytes(), 100)));
        if pattern.starts_with('/') {
            return Err(bad("is absolute, and nothing in a tree is"));
        }
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.is_empty() {
            return Err(bad("names nothing"));
        }
        if parts.contains(&"..") {
            return Err(bad("has a part .., and nothing outside the tree is bundled"));
        }
        // A folder alone brings nothing: Python asks whether what it found is a file.
        if pattern.ends_with('/') {
            continue;
        }
        let glob = GlobBuilder::new(&without_braces(&parts.join("/")))
            .literal_separator(true)
            .backslash_escape(false)
            .build()
            .map_err(|why| bad(&format!("is no glob: {}", plain(why.kind().to_string().as_bytes(), 200))))?;
        all.add(glob);
    }
    all.build().map_err(|why| BundleError::config("tool.iris.bundle.include", plain(why.to_string().as_bytes(), 200)))
}

/// Braces are ordinary characters to Python: outside a set, each becomes a set of its own.
fn without_braces(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut set_from = None;
    for (at, c) in pattern.char_indices() {
        match (c, set_from) {
            ('[', None) => set_from = Some(at),
            // The first character of a set may be the bracket itself.
            (']', Some(from)) if !matches!(&pattern[from + 1..at], "" | "!") => set_from = None,
            ('{' | '}', None) => {
                text.extend(['[', c, ']']);
                continue;
            }
            _ => {}
        }
        text.push(c);
    }
    text
}

fn expressions(patterns: &[(String, String)]) -> Result<RegexSet, BundleError> {
    for (place, pattern) in patterns {
        // The last line of what is said has the reason, after a picture of the place.
        RegexBuilder::new(pattern).size_limit(COMPILED_BYTES).nest_limit(50).build().map_err(|why| {
            let said = why.to_string();
            let reason = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let pattern = plain(pattern.as_bytes(), 100);
            BundleError::config(
                place,
                format!("{pattern:?} is no regular expression of this program: {}", plain(reason.as_bytes(), 200)),
            )
        })?;
    }
    let all = patterns.iter().map(|(_, pattern)| pattern);
    RegexSetBuilder::new(all).size_limit(COMPILED_BYTES).nest_limit(50).build().map_err(|_| {
        BundleError::config("tool.iris.bundle.exclude", format!("takes more than {COMPILED_BYTES} bytes, compiled"))
    })
}

#[cfg(test)]
mod tests;
