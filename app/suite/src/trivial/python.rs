//! Two Python files, compared by what they do: as streams of tokens without comments, docstrings, annotations and the
//! arguments of logging calls. Where one of these may mean something at run time it is kept, so that a change of it is one.

use super::quiet::{is_sound, is_type};
use super::shape::{KEYWORDS, find, is_name, is_op, is_plain_name, is_target, logging, parameter_end, shared};
use super::tokens::{Kind, Token, fields, tokens};
use super::{Sameness, What};

/// Names in a file that reads its own docstrings.
const READS_DOCSTRINGS: [&str; 5] = ["__doc__", "getdoc", "docopt", "yacc", "doctest"];
/// Names in a file that reads annotations, or hands its functions to something that does.
const READS_TYPES: [&str; 11] = [
    "__annotations__",
    "get_type_hints",
    "get_annotations",
    "signature",
    "getfullargspec",
    "typer",
    "draccus",
    "fire",
    "tyro",
    "validate_call",
    "validate_arguments",
];
/// Decorators that read no annotation.
const BLIND: [&str; 17] = [
    "staticmethod",
    "classmethod",
    "property",
    "setter",
    "deleter",
    "getter",
    "abstractmethod",
    "override",
    "final",
    "overload",
    "contextmanager",
    "asynccontextmanager",
    "cache",
    "lru_cache",
    "cached_property",
    "wraps",
    "fixture",
];
/// Words that are keywords at the beginning of some lines only.
const SOFT: [&str; 3] = ["match", "case", "type"];

/// Compares two texts of a file. Whatever cannot be read is no sameness.
#[must_use]
pub fn python(old: &str, new: &str) -> Sameness {
    let (old, new) = (lines_of(old), lines_of(new));
    let (old, new) = match (read(&old), read(&new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(why), _) | (_, Err(why)) => return Sameness::Unsure(why),
    };
    if old.kept != new.kept {
        return Sameness::Different;
    }
    let mut what = Vec::new();
    for (kind, differs) in [
        (What::Comments, old.comments != new.comments),
        (What::Docstrings, old.docstrings != new.docstrings),
        (What::Types, old.types != new.types),
        (What::LogText, old.logs != new.logs),
    ] {
        if differs {
            what.push(kind);
        }
    }
    if what.is_empty() {
        what.push(What::Layout);
    }
    Sameness::Same(what)
}

/// The text as Python takes it: line ends are `\n`. The first line keeps its own where an interpreter reads it.
fn lines_of(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let normal = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") && first.ends_with('\r') => {
            format!("{}\r\n{}", normal(first.trim_end_matches('\r')), normal(rest))
        }
        _ => normal(text),
    }
}

/// A file without what does not count.
#[derive(Debug, Default)]
struct Read<'s> {
    kept: Vec<Token<'s>>,
    comments: Vec<&'s str>,
    docstrings: Vec<Token<'s>>,
    types: Vec<Token<'s>>,
    logs: Vec<Token<'s>>,
}

/// What stands for something that was left out, where its being there counts.
const GAP: Token<'static> = Token { kind: Kind::Op, text: "" };

/// What a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Module,
    Function,
    /// A class that nothing reads the annotations of.
    Class,
    /// A class with bases or a decorator.
    Model,
}

struct Reader<'s> {
    out: Read<'s>,
    blocks: Vec<Block>,
    /// The block that begins with the next deeper line, where it is of another kind than the one around it.
    begins: Option<Block>,
    /// Whether the next statement is the first of a module, class or function.
    first: bool,
    /// Whether the lines before this one decorate it, and whether one of them may read annotations.
    decorated: Option<bool>,
    reads_docstrings: bool,
    reads_types: bool,
    /// Names that belong to the module or to a function around: these may have no annotation.
    shared: Vec<&'s str>,
}

fn read(source: &str) -> Result<Read<'_>, &'static str> {
    let tokens = tokens(source)?;
    let names = |words: &[&str]| tokens.all.iter().any(|t| t.kind == Kind::Name && words.contains(&t.text));
    let mut reader = Reader {
        out: Read { comments: tokens.comments.clone(), ..Read::default() },
        blocks: vec![Block::Module],
        begins: None,
        first: true,
        decorated: None,
        reads_docstrings: names(&READS_DOCSTRINGS),
        reads_types: names(&READS_TYPES),
        shared: Vec::new(),
    };
    let mut line: Vec<Token<'_>> = Vec::new();
    reader.shared = shared(&tokens.all);
    for token in &tokens.all {
        match token.kind {
            Kind::Directive => reader.out.kept.push(*token),
            Kind::Indent => {
                let around = reader.blocks.last().copied().unwrap_or(Block::Module);
                let begins = reader.begins.take();
                reader.first = begins.is_some();
                reader.blocks.push(begins.unwrap_or(around));
                reader.out.kept.push(*token);
            }
            Kind::Dedent => {
                reader.blocks.pop();
                reader.out.kept.push(*token);
            }
            Kind::Newline => {
                reader.line(&line);
                line.clear();
            }
            _ => line.push(*token),
        }
    }
    Ok(reader.out)
}

impl<'s> Reader<'s> {
    fn keep(&mut self, tokens: &[Token<'s>]) {
        self.out.kept.extend_from_slice(tokens);
    }

    fn end(&mut self) {
        self.out.kept.push(Token { kind: Kind::Newline, text: "" });
    }

    /// One logical line.
    fn line(&mut self, line: &[Token<'s>]) {
        let (first, decorated) = (std::mem::take(&mut self.first), self.decorated.take());
        self.begins = None;
        if line.is_empty() {
            return;
        }
        if first && !self.reads_docstrings && line.iter().all(|token| token.kind == Kind::Text && is_sound(token)) {
            self.out.docstrings.extend_from_slice(line);
            self.out.docstrings.push(GAP);
            return;
        }
        if is_op(line.first(), "@") {
            let name = line.iter().skip(1).take_while(|t| t.kind == Kind::Name || is_op(Some(t), ".")).last();
            let blind = name.is_some_and(|name| BLIND.contains(&name.text));
            self.decorated = Some(decorated.unwrap_or(false) || !blind);
            self.keep(line);
            self.end();
            return;
        }
        let start = usize::from(is_name(line.first(), "async"));
        if is_name(line.get(start), "def") {
            self.function(line, start, decorated.unwrap_or(false));
        } else if is_name(line.first(), "class") {
            self.class(line, decorated.is_some());
        } else if !self.simple(line) {
            return;
        }
        self.end();
    }

    /// Whether a block begins behind this line.
    fn opens(line: &[Token<'_>]) -> bool {
        is_op(line.last(), ":")
    }

    fn class(&mut self, line: &[Token<'s>], decorated: bool) {
        let header: Vec<&str> = line.iter().skip(2).map(|token| token.text).collect();
        let plain = matches!(&header[..], [":"] | ["(", ")", ":"] | ["(", "object", ")", ":"]);
        if Self::opens(line) {
            self.begins = Some(if plain && !decorated { Block::Class } else { Block::Model });
        }
        self.keep(line);
    }

    /// The head of a function: the annotations of its parameters and of what it returns.
    fn function(&mut self, line: &[Token<'s>], start: usize, seen: bool) {
        if Self::opens(line) {
            self.begins = Some(Block::Function);
        }
        let open = find(line, start, |token| token.text == "(" && token.kind == Kind::Op);
        let close = open.and_then(|open| find(line, open + 1, |token| token.text == ")" && token.kind == Kind::Op));
        let (Some(open), Some(close)) = (open, close) else { return self.keep(line) };
        let colon = find(line, close + 1, |token| token.text == ":" && token.kind == Kind::Op);
        let Some(colon) = colon.filter(|_| !seen && !self.reads_types) else { return self.keep(line) };
        self.keep(&line[..=open]);
        self.parameters(&line[open + 1..close]);
        self.keep(&line[close..=close]);
        let returns = &line[close + 1..colon];
        match returns.split_first() {
            Some((arrow, of)) if is_op(Some(arrow), "->") && is_type(of, false) => {
                self.out.types.extend_from_slice(returns);
            }
            _ => self.keep(returns),
        }
        self.keep(&line[colon..]);
    }

    fn parameters(&mut self, all: &[Token<'s>]) {
        let mut rest = all;
        while !rest.is_empty() {
            let end = parameter_end(rest);
            let (one, behind) = rest.split_at(end);
            let stars = usize::from(is_op(one.first(), "*") || is_op(one.first(), "**"));
            let is = |at: usize, text: &str| is_op(one.get(at), text);
            if is_plain_name(one.get(stars)) && is(stars + 1, ":") {
                let value =
                    find(one, stars + 2, |token| token.kind == Kind::Op && token.text == "=").unwrap_or(one.len());
                let of = &one[stars + 2..value];
                if is_type(of, is_op(one.first(), "*")) {
                    self.keep(&one[..=stars]);
                    self.out.types.extend_from_slice(&one[..value]);
                    self.keep(&one[value..]);
                } else {
                    self.keep(one);
                }
            } else {
                self.keep(one);
            }
            let comma = behind.len().min(1);
            self.keep(&behind[..comma]);
            rest = &behind[comma..];
        }
    }

    /// A line that is no head of a class or function: simple statements, or a head that is kept as it is. Whether anything
    /// is left of it.
    fn simple(&mut self, line: &[Token<'s>]) -> bool {
        let begins = line.first().map_or("", |token| token.text);
        let soft = line.first().is_some_and(|token| token.kind == Kind::Name) && SOFT.contains(&begins);
        let is_statement =
            soft && !line.get(1).is_some_and(|next| next.kind == Kind::Op && [":", "=", "."].contains(&next.text));
        let keyword = line.first().is_some_and(|token| token.kind == Kind::Name) && KEYWORDS.contains(&begins);
        if is_statement || keyword {
            self.keep(line);
            return true;
        }
        let before = self.out.kept.len();
        let mut from = 0;
        while from <= line.len() {
            let end = find(line, from, |token| token.kind == Kind::Op && token.text == ";").unwrap_or(line.len());
            self.statement(&line[from..end]);
            if end < line.len() {
                self.keep(&line[end..=end]);
            }
            from = end + 1;
        }
        self.out.kept.len() > before
    }

    fn statement(&mut self, line: &[Token<'s>]) {
        if let Some(open) = logging(line) {
            self.keep(&line[..=open]);
            // What is put into a text is computed even where nobody reads it.
            for token in line.iter().filter(|token| token.kind == Kind::Format) {
                self.out.kept.extend(fields(token.text).into_iter().map(|text| Token { kind: Kind::Format, text }));
            }
            self.out.logs.extend_from_slice(&line[open + 1..line.len() - 1]);
            self.out.logs.push(GAP);
            return self.keep(&line[line.len() - 1..]);
        }
        match self.annotated(line) {
            None => self.keep(line),
            Some((colon, None)) => {
                self.out.types.extend_from_slice(line);
                // In a function, the name is one of its own from there on; elsewhere only annotations are made.
                let nothing_else = colon == 1 && matches!(self.blocks.last(), Some(Block::Module | Block::Class));
                if !nothing_else {
                    self.keep(&line[..colon]);
                    self.keep(&[GAP]);
                }
            }
            Some((colon, Some(value))) => {
                self.out.types.extend_from_slice(&line[..value]);
                self.keep(&line[..colon]);
                self.keep(&line[value..]);
            }
        }
    }

    /// The places of the colon and of the `=` of `target: type = value`, where the type does not count.
    fn annotated(&self, line: &[Token<'_>]) -> Option<(usize, Option<usize>)> {
        if self.reads_types || matches!(self.blocks.last(), Some(Block::Model) | None) {
            return None;
        }
        let colon = find(line, 0, |token| token.kind == Kind::Op && [":", "="].contains(&token.text))?;
        let (target, behind) = (&line[..colon], &line[colon + 1..]);
        if !is_op(line.get(colon), ":") || !is_target(target) {
            return None;
        }
        if colon == 1 && target.iter().any(|name| self.shared.contains(&name.text)) {
            return None;
        }
        let value = find(behind, 0, |token| token.kind == Kind::Op && token.text == "=");
        is_type(&behind[..value.unwrap_or(behind.len())], false).then(|| (colon, value.map(|at| colon + 1 + at)))
    }
}
