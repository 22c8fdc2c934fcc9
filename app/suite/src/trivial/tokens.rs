//! A Python file as tokens, by the lexical rules of Python 3.14. Whatever it cannot read is an error: nothing is guessed.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A name or a keyword.
    Name,
    /// A number.
    Number,
    /// A text without places for expressions, prefix and quotes included.
    Text,
    /// Bytes, likewise.
    Bytes,
    /// A text with places for expressions.
    Format,
    /// An operator or a delimiter.
    Op,
    /// The end of a logical line.
    Newline,
    /// The beginning of a deeper block.
    Indent,
    /// The end of a block.
    Dedent,
    /// A line at the top that is no comment to those who read the file: an interpreter or an encoding.
    Directive,
}

/// A token: its kind and its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
}

/// The tokens of a file.
#[derive(Debug, Default)]
pub(super) struct Tokens<'s> {
    /// Those that count.
    pub(super) all: Vec<Token<'s>>,
    /// The comments.
    pub(super) comments: Vec<&'s str>,
}

/// Why a file cannot be read.
pub(super) type Unreadable = &'static str;

/// Operators of more than one character, the longest first.
const LONG: [&str; 24] = [
    "**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "**", "//", ">>", "<<", "<=", ">=", "==", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "@=",
];
const SHORT: &str = "+-*/%@&|^~<>()[]{},:.;=";
/// Brackets and blocks inside each other: more than anybody writes.
const DEEPEST: usize = 200;
/// Places for expressions inside each other, likewise.
const MOST_NESTED: usize = 16;
/// Columns between the stops of a tab.
const TAB: usize = 8;

/// Reads a file whose lines end in `\n`.
pub(super) fn tokens(source: &str) -> Result<Tokens<'_>, Unreadable> {
    if source.contains('\0') {
        return Err("a NUL byte");
    }
    let mut lexer = Lexer::new(source);
    lexer.top()?;
    lexer.lines()?;
    Ok(lexer.out)
}

/// The places for expressions of a string that was read as one, braces and formats included.
pub(super) fn fields(string: &str) -> Vec<&str> {
    let mut lexer = Lexer::new(string);
    match lexer.token() {
        Ok(()) => lexer.fields,
        Err(_) => vec![string],
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    out: Tokens<'s>,
    /// Brackets that are open.
    open: Vec<char>,
    /// The columns of the blocks, with tabs to their stops and with tabs of one column.
    blocks: Vec<(usize, usize)>,
    /// The places for expressions of the strings so far.
    fields: Vec<&'s str>,
    /// In how many places for expressions this is.
    nested: usize,
}

/// Encodings in which a comment is what it looks like.
const PLAIN: [&str; 6] = ["utf-8", "utf8", "utf_8", "ascii", "us-ascii", "utf-8-sig"];

/// The encoding that a comment declares.
fn encoding(comment: &str) -> Option<&str> {
    let (_, behind) = comment
        .match_indices("coding")
        .map(|(at, word)| comment.split_at(at + word.len()))
        .find(|(_, behind)| behind.starts_with([':', '=']))?;
    let name = behind[1..].trim_start_matches([' ', '\t']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(name.len());
    Some(&name[..end])
}

fn begins_name(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn in_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'s> Lexer<'s> {
    fn new(source: &'s str) -> Self {
        let (out, open, fields) = (Tokens::default(), Vec::new(), Vec::new());
        Self { source, at: 0, out, open, blocks: vec![(0, 0)], fields, nested: 0 }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, matching: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !matching(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn push(&mut self, kind: Kind, text: &'s str) {
        self.out.all.push(Token { kind, text });
    }

    /// The lines that mean something to an interpreter although they are comments: the first, and an encoding in the first
    /// two (PEP 263). They stay comments beside that. In an encoding of escapes, a comment may hide code.
    fn top(&mut self) -> Result<(), Unreadable> {
        for (number, line) in self.source.split('\n').take(2).enumerate() {
            let text = line.trim_start_matches([' ', '\t', '\u{c}']);
            if !text.is_empty() && !text.starts_with('#') {
                break;
            }
            let encoding = encoding(text);
            if encoding.is_some_and(|name| !PLAIN.iter().any(|plain| name.eq_ignore_ascii_case(plain))) {
                return Err("an encoding other than UTF-8");
            }
            if encoding.is_some() || (number == 0 && text.starts_with("#!")) {
                self.push(Kind::Directive, text);
            }
        }
        Ok(())
    }

    fn lines(&mut self) -> Result<(), Unreadable> {
        // Whether the next thing begins a logical line.
        let mut fresh = true;
        loop {
            if fresh && self.open.is_empty() {
                if !self.indentation()? {
                    break;
                }
                fresh = false;
            }
            self.skip(|c| matches!(c, ' ' | '\t' | '\u{c}'));
            let Some(c) = self.next() else { break };
            match c {
                '\n' => {
                    self.at += 1;
                    if self.open.is_empty() {
                        self.push(Kind::Newline, "");
                        fresh = true;
                    }
                }
                '#' => {
                    let comment = self.skip(|c| c != '\n');
                    self.out.comments.push(comment);
                }
                '\\' => {
                    if !self.rest().starts_with("\\\n") {
                        return Err("a backslash inside a line");
                    }
                    self.at += 2;
                    if self.rest().is_empty() {
                        return Err("a backslash at the end of the file");
                    }
                }
                _ => self.token()?,
            }
        }
        if !self.open.is_empty() {
            return Err("a bracket that is not closed");
        }
        if self.out.all.last().is_some_and(|last| !matches!(last.kind, Kind::Newline | Kind::Directive)) {
            self.push(Kind::Newline, "");
        }
        for _ in 1..self.blocks.len() {
            self.push(Kind::Dedent, "");
        }
        Ok(())
    }

    /// Blank lines, comments of their own and the indentation before the next logical line; false at the end of the file.
    fn indentation(&mut self) -> Result<bool, Unreadable> {
        loop {
            let (mut column, mut narrow) = (0, 0);
            for c in self.skip(|c| matches!(c, ' ' | '\t' | '\u{c}')).chars() {
                (column, narrow) = match c {
                    ' ' => (column + 1, narrow + 1),
                    '\t' => ((column / TAB + 1) * TAB, narrow + 1),
                    _ => (0, 0),
                };
            }
            match self.next() {
                None => return Ok(false),
                Some('\n') => self.at += 1,
                Some('#') => {
                    let comment = self.skip(|c| c != '\n');
                    self.out.comments.push(comment);
                }
                // Where its line belongs depends on the version.
                Some('\\') => return Err("a backslash at the beginning of a line"),
                Some(_) => {
                    self.block(column, narrow)?;
                    return Ok(true);
                }
            }
        }
    }

    fn block(&mut self, column: usize, narrow: usize) -> Result<(), Unreadable> {
        let inconsistent = "tabs and blanks that do not fit each other";
        let top = self.blocks.last().copied().unwrap_or_default();
        if column > top.0 {
            if narrow <= top.1 {
                return Err(inconsistent);
            }
            if self.blocks.len() >= DEEPEST {
                return Err("too many blocks inside each other");
            }
            self.blocks.push((column, narrow));
            self.push(Kind::Indent, "");
            return Ok(());
        }
        while self.blocks.last().is_some_and(|last| last.0 > column) {
            self.blocks.pop();
            self.push(Kind::Dedent, "");
        }
        match self.blocks.last() {
            Some(last) if last.0 != column => Err("a block that ends at no other's column"),
            Some(last) if last.1 != narrow => Err(inconsistent),
            _ => Ok(()),
        }
    }

    /// One token that is no white space, comment or line end.
    fn token(&mut self) -> Result<(), Unreadable> {
        let (start, rest) = (self.at, self.rest());
        let c = self.next().ok_or("nothing")?;
        if begins_name(c) {
            let name = self.skip(in_name);
            if !self.rest().starts_with(['"', '\'']) {
                self.push(Kind::Name, name);
                return Ok(());
            }
            let kind = match name.to_ascii_lowercase().as_str() {
                "r" | "u" => Kind::Text,
                "b" | "br" | "rb" => Kind::Bytes,
                "f" | "fr" | "rf" | "t" | "tr" | "rt" => Kind::Format,
                _ => {
                    self.push(Kind::Name, name);
                    return Ok(());
                }
            };
            self.string(kind, name.contains(['r', 'R']))?;
            self.push(kind, &self.source[start..self.at]);
            return Ok(());
        }
        if matches!(c, '"' | '\'') {
            self.string(Kind::Text, false)?;
            self.push(Kind::Text, &self.source[start..self.at]);
            return Ok(());
        }
        if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            self.number()?;
            self.push(Kind::Number, &self.source[start..self.at]);
            return Ok(());
        }
        let length = match LONG.iter().find(|op| rest.starts_with(**op)) {
            Some(op) => op.len(),
            None if SHORT.contains(c) => c.len_utf8(),
            None => return Err("a character that means nothing"),
        };
        self.at += length;
        self.bracket(c)?;
        self.push(Kind::Op, &rest[..length]);
        Ok(())
    }

    fn bracket(&mut self, c: char) -> Result<(), Unreadable> {
        match c {
            '(' | '[' | '{' if self.open.len() >= DEEPEST => Err("too many brackets inside each other"),
            '(' | '[' | '{' => {
                self.open.push(c);
                Ok(())
            }
            ')' | ']' | '}' => {
                let fits = matches!((self.open.pop(), c), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}'));
                if fits { Ok(()) } else { Err("a bracket that does not fit") }
            }
            _ => Ok(()),
        }
    }

    fn number(&mut self) -> Result<(), Unreadable> {
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        let prefix = self.rest().get(..2).unwrap_or_default().to_ascii_lowercase();
        if matches!(prefix.as_str(), "0x" | "0o" | "0b") {
            self.at += 2;
            self.skip(|c| c.is_ascii_hexdigit() || c == '_');
        } else {
            self.skip(digits);
            if self.next() == Some('.') {
                self.at += 1;
                self.skip(digits);
            }
            let exponent = self.rest().strip_prefix(['e', 'E']);
            let signed = exponent.map(|rest| (rest, rest.strip_prefix(['+', '-']).unwrap_or(rest)));
            if let Some((rest, bare)) = signed
                && bare.starts_with(|c: char| c.is_ascii_digit())
            {
                self.at += 1 + (rest.len() - bare.len());
                self.skip(digits);
            }
            if matches!(self.next(), Some('j' | 'J')) {
                self.at += 1;
            }
        }
        // `1if x` was allowed once.
        if self.next().is_some_and(in_name) { Err("a number that goes on as a name") } else { Ok(()) }
    }

    /// A string from its first quote on.
    fn string(&mut self, kind: Kind, raw: bool) -> Result<(), Unreadable> {
        let quote = self.quote();
        let is_long = quote.len() == 3;
        loop {
            let Some(c) = self.next() else { return Err("a string that does not end") };
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                return Ok(());
            }
            self.at += c.len_utf8();
            match c {
                '\n' if !is_long => return Err("a string that does not end on its line"),
                '\\' => {
                    let rest = self.rest();
                    if kind == Kind::Format && rest.starts_with(['{', '}']) {
                        // A backslash does not hide a brace.
                    } else if kind == Kind::Format && !raw && rest.starts_with("N{") {
                        self.at += rest.find('}').ok_or("a name of a character that does not end")? + 1;
                    } else {
                        self.at += self.next().map_or(0, char::len_utf8);
                    }
                }
                '}' if kind == Kind::Format => {
                    if !self.rest().starts_with('}') {
                        return Err("a brace that closes nothing");
                    }
                    self.at += 1;
                }
                '{' if kind == Kind::Format => {
                    if self.rest().starts_with('{') {
                        self.at += 1;
                    } else {
                        self.field(quote)?;
                    }
                }
                _ => {}
            }
        }
    }

    /// The quotes that a string begins with; they are passed.
    fn quote(&mut self) -> &'s str {
        let rest = self.rest();
        let length = if rest.starts_with("\"\"\"") || rest.starts_with("'''") { 3 } else { 1 };
        self.at += length;
        &rest[..length]
    }

    /// A place for an expression in a string, from behind its first brace to behind its last (PEP 701).
    fn field(&mut self, quote: &str) -> Result<(), Unreadable> {
        if self.nested >= MOST_NESTED {
            return Err("too many places for expressions inside each other");
        }
        let from = self.at;
        let (outer, held) = (std::mem::take(&mut self.open), std::mem::take(&mut self.out.all));
        self.nested += 1;
        let read = self.expression(quote);
        self.nested -= 1;
        self.fields.push(&self.source[from..self.at]);
        let empty = self.out.all.is_empty();
        (self.open, self.out.all) = (outer, held);
        read?;
        if empty { Err("a place for an expression without one") } else { Ok(()) }
    }

    fn expression(&mut self, quote: &str) -> Result<(), Unreadable> {
        loop {
            self.skip(|c| matches!(c, ' ' | '\t'));
            let Some(c) = self.next() else { return Err("a place for an expression that does not end") };
            match c {
                '}' if self.open.is_empty() => {
                    self.at += 1;
                    return Ok(());
                }
                '!' if self.open.is_empty() && !self.rest().starts_with("!=") => {
                    self.at += 1;
                    self.skip(in_name);
                }
                ':' if self.open.is_empty() => {
                    self.at += 1;
                    return self.format(quote);
                }
                '\n' if quote.len() == 3 => self.at += 1,
                '\n' | '#' | '\\' | '\u{c}' => return Err("a line end or a comment inside a string"),
                _ => self.token()?,
            }
        }
    }

    /// What stands behind the colon of a place for an expression.
    fn format(&mut self, quote: &str) -> Result<(), Unreadable> {
        loop {
            let Some(c) = self.next() else { return Err("a place for an expression that does not end") };
            if self.rest().starts_with(quote) || c == '\\' || (c == '\n' && quote.len() == 1) {
                return Err("a place for an expression that does not end");
            }
            self.at += c.len_utf8();
            match c {
                '}' => return Ok(()),
                '{' => self.field(quote)?,
                _ => {}
            }
        }
    }
}
