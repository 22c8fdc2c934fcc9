//! What a run of tokens is: a name, a target, a parameter, a logging call.

use super::quiet::are_arguments;
use super::tokens::{Kind, Token};

const LOGGERS: [&str; 3] = ["logging", "logger", "log"];
const LEVELS: [&str; 8] = ["debug", "info", "warning", "warn", "error", "exception", "critical", "fatal"];
const CONSTANTS: [&str; 3] = ["None", "True", "False"];
/// Words that are no names anywhere.
pub(super) const KEYWORDS: [&str; 32] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield",
];

/// The names of all `global` and `nonlocal` statements.
pub(super) fn shared<'s>(all: &[Token<'s>]) -> Vec<&'s str> {
    let mut names = Vec::new();
    let mut inside = false;
    for token in all {
        match (token.kind, token.text) {
            (Kind::Name, "global" | "nonlocal") => inside = true,
            (Kind::Name, name) if inside => names.push(name),
            (Kind::Op, ",") => {}
            _ => inside = false,
        }
    }
    names
}

pub(super) fn is_op(token: Option<&Token<'_>>, text: &str) -> bool {
    token.is_some_and(|token| token.kind == Kind::Op && token.text == text)
}

pub(super) fn is_name(token: Option<&Token<'_>>, text: &str) -> bool {
    token.is_some_and(|token| token.kind == Kind::Name && token.text == text)
}

pub(super) fn is_plain_name(token: Option<&Token<'_>>) -> bool {
    token.is_some_and(|token| {
        token.kind == Kind::Name && !KEYWORDS.contains(&token.text) && !CONSTANTS.contains(&token.text)
    })
}

pub(super) fn is_constant(token: Option<&Token<'_>>) -> bool {
    token.is_some_and(|token| token.kind == Kind::Name && CONSTANTS.contains(&token.text))
}

/// How a token changes the depth of brackets.
pub(super) fn depth(token: &Token<'_>) -> i32 {
    match (token.kind, token.text) {
        (Kind::Op, "(" | "[" | "{") => 1,
        (Kind::Op, ")" | "]" | "}") => -1,
        _ => 0,
    }
}

/// The first place from `from` on, outside brackets, where `wanted` holds.
pub(super) fn find(line: &[Token<'_>], from: usize, wanted: impl Fn(&Token<'_>) -> bool) -> Option<usize> {
    let mut level = 0;
    for (at, token) in line.iter().enumerate().skip(from) {
        if level == 0 && wanted(token) {
            return Some(at);
        }
        level += depth(token);
        if level < 0 {
            return None;
        }
    }
    None
}

/// Where a parameter ends: at a comma that belongs neither to a lambda nor to brackets.
pub(super) fn parameter_end(rest: &[Token<'_>]) -> usize {
    let (mut level, mut lambdas) = (0, 0);
    for (at, token) in rest.iter().enumerate() {
        level += depth(token);
        if level != 0 {
            continue;
        }
        match (token.kind, token.text) {
            (Kind::Name, "lambda") => lambdas += 1,
            (Kind::Op, ":") if lambdas > 0 => lambdas -= 1,
            (Kind::Op, ",") if lambdas == 0 => return at,
            _ => {}
        }
    }
    rest.len()
}

/// Whether something may stand before the colon of an annotation: a name with attributes and subscripts behind it.
pub(super) fn is_target(tokens: &[Token<'_>]) -> bool {
    if !is_plain_name(tokens.first()) {
        return false;
    }
    let mut at = 1;
    while at < tokens.len() {
        if is_op(tokens.get(at), ".") && is_plain_name(tokens.get(at + 1)) {
            at += 2;
        } else if is_op(tokens.get(at), "[") {
            let Some(end) = find(tokens, at + 1, |token| token.kind == Kind::Op && token.text == "]") else {
                return false;
            };
            at = end + 1;
        } else {
            return false;
        }
    }
    true
}

/// The place of the bracket of a logging call that is a statement of its own and whose arguments do nothing.
pub(super) fn logging(line: &[Token<'_>]) -> Option<usize> {
    let open = line.iter().position(|token| token.kind == Kind::Op && token.text == "(")?;
    let (chain, arguments) = (&line[..open], line.get(open + 1..line.len().checked_sub(1)?)?);
    let named = |at: usize, token: &Token<'_>| {
        if at.is_multiple_of(2) { is_plain_name(Some(token)) } else { token.kind == Kind::Op && token.text == "." }
    };
    if chain.len() < 3 || chain.len().is_multiple_of(2) || !chain.iter().enumerate().all(|(at, token)| named(at, token))
    {
        return None;
    }
    let logger = chain[chain.len() - 3].text.trim_matches('_').to_ascii_lowercase();
    if !LOGGERS.contains(&logger.as_str()) || !LEVELS.contains(&chain[chain.len() - 1].text) {
        return None;
    }
    (is_op(line.last(), ")") && are_arguments(arguments)).then_some(open)
}
