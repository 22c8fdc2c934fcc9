//! What may be left out of a comparison: only what is certain to be read by Python and to do nothing. A file that Python
//! does not read any more is no trivial change, wherever the error stands.

use super::shape::{is_constant, is_op, is_plain_name};
use super::tokens::{Kind, Token};

/// Whether a type is written with names, attributes, subscripts, constants and `|` alone. `star` is whether it may begin
/// with `*`, as that of `*args` may.
pub(super) fn is_type(tokens: &[Token<'_>], star: bool) -> bool {
    let mut reader = Reader { tokens, at: 0 };
    if star && reader.op("*") {
        return reader.union() && reader.is_over();
    }
    reader.union() && reader.is_over()
}

/// Whether the arguments of a call are texts, numbers, names and attributes alone.
pub(super) fn are_arguments(tokens: &[Token<'_>]) -> bool {
    let mut reader = Reader { tokens, at: 0 };
    let mut keywords: Vec<&str> = Vec::new();
    while !reader.is_over() {
        let named = is_plain_name(tokens.get(reader.at)) && is_op(tokens.get(reader.at + 1), "=");
        if named {
            let name = tokens[reader.at].text;
            if keywords.contains(&name) {
                return false;
            }
            keywords.push(name);
            reader.at += 2;
        } else if !keywords.is_empty() {
            return false;
        }
        if !reader.argument() || !(reader.op(",") || reader.is_over()) {
            return false;
        }
    }
    true
}

/// Whether Python reads every escape of a text or of bytes. Names of characters are not looked up.
pub(super) fn is_sound(token: &Token<'_>) -> bool {
    let Some(quote) = token.text.find(['"', '\'']) else { return false };
    let (prefix, body) = token.text.split_at(quote);
    if prefix.contains(['r', 'R']) {
        return true;
    }
    if token.kind == Kind::Bytes && !body.is_ascii() {
        return false;
    }
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        let Some(letter) = escape.chars().next() else { return false };
        let digits = match letter {
            'x' => 2,
            'u' if token.kind == Kind::Text => 4,
            'U' if token.kind == Kind::Text => 8,
            'N' if token.kind == Kind::Text => return false,
            _ => 0,
        };
        let number = escape.get(1..=digits).filter(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
        match number.map(|digits| u32::from_str_radix(digits, 16)) {
            None => return false,
            Some(Ok(number)) if number > 0x0010_FFFF => return false,
            _ => {}
        }
        rest = &escape[letter.len_utf8()..];
    }
    true
}

/// Texts next to each other are one.
fn is_text(token: &Token<'_>) -> bool {
    token.kind == Kind::Text && is_sound(token)
}

struct Reader<'t, 's> {
    tokens: &'t [Token<'s>],
    at: usize,
}

impl Reader<'_, '_> {
    fn is_over(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn op(&mut self, text: &str) -> bool {
        let is = is_op(self.tokens.get(self.at), text);
        self.at += usize::from(is);
        is
    }

    fn skip(&mut self, wanted: impl Fn(&Token<'_>) -> bool) -> bool {
        let from = self.at;
        while self.tokens.get(self.at).is_some_and(&wanted) {
            self.at += 1;
        }
        self.at > from
    }

    /// `A`, or `A | B`, where neither may be a text: those know no `|`.
    fn union(&mut self) -> bool {
        let mut plain = true;
        let mut several = false;
        loop {
            let from = self.at;
            if !self.one() {
                return false;
            }
            plain &= self.tokens.get(from).is_some_and(|token| token.kind == Kind::Name);
            if !self.op("|") {
                return plain || !several;
            }
            several = true;
        }
    }

    /// A name with attributes and subscripts, a constant, or a list.
    fn one(&mut self) -> bool {
        if self.skip(is_text) || self.op("...") {
            return true;
        }
        if self.op("[") {
            return self.op("]") || self.items();
        }
        let minus = self.op("-");
        let token = self.tokens.get(self.at);
        if token.is_some_and(|token| token.kind == Kind::Number) {
            self.at += 1;
            return true;
        }
        if minus || !(is_plain_name(token) || is_constant(token)) {
            return false;
        }
        self.at += 1;
        loop {
            if self.op(".") {
                if !is_plain_name(self.tokens.get(self.at)) {
                    return false;
                }
                self.at += 1;
            } else if self.op("[") {
                if !self.items() {
                    return false;
                }
            } else {
                return true;
            }
        }
    }

    /// What stands in brackets, from behind the first to behind the last.
    fn items(&mut self) -> bool {
        loop {
            if !self.union() {
                return false;
            }
            let comma = self.op(",");
            if self.op("]") {
                return true;
            }
            if !comma {
                return false;
            }
        }
    }

    fn argument(&mut self) -> bool {
        let text = |token: &Token<'_>| match token.kind {
            Kind::Text => is_sound(token),
            // What stands between the places for expressions is left out.
            Kind::Format => !token.text.contains('\\'),
            _ => false,
        };
        if self.skip(text) || self.skip(|token| token.kind == Kind::Bytes && is_sound(token)) {
            return true;
        }
        let token = self.tokens.get(self.at);
        if token.is_some_and(|token| token.kind == Kind::Number) || is_constant(token) {
            self.at += 1;
            return true;
        }
        loop {
            if !is_plain_name(self.tokens.get(self.at)) {
                return false;
            }
            self.at += 1;
            if !self.op(".") {
                return true;
            }
        }
    }
}
