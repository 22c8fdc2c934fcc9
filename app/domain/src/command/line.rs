//! A command line, word by word.

use stats::input::choices;

use super::error::{Code, CommandError};
use super::known::{Known, SuiteKeys};
use super::verb::{PREFIX, Pairs, Positional, Verb};
use super::{Command, LONGEST_REASON, LONGEST_ROW, short};
use crate::request::{KEYS, Key, MOST_PAIRS, Request, check_value};

/// Keys of the verb that judges jobs.
const JOBS: [&str; 2] = ["control", "treatment"];
const BLANKS: [char; 2] = [' ', '\t'];
const FULL_STOP: &str = "remove the full stop at the end";

/// Reads a line that begins with [`PREFIX`].
pub(super) fn read(line: &str, known: &Known) -> Result<Command, CommandError> {
    let all = line.strip_prefix(PREFIX).unwrap_or(line);
    let (first, mut rest) = next(all)?;
    let (suite, verb) = if let Some(suite) = known.suite(first) {
        let (word, after) = next(rest)?;
        if word.is_empty() || word.contains('=') {
            (Some(suite), Verb::DEFAULT)
        } else {
            rest = after;
            (Some(suite), Verb::of(word).ok_or_else(|| unknown_verb(word, suite))?)
        }
    } else if first.is_empty() {
        return Err(no_suite(known));
    } else if first.contains('=') {
        return Err(lacks_suite(Verb::DEFAULT, all, known));
    } else {
        match Verb::of(first) {
            Some(verb) if verb.needs_suite => return Err(lacks_suite(verb, rest, known)),
            Some(verb) => (None, verb),
            None => return Err(unknown_suite(first, known)),
        }
    };
    let name = suite.map(|suite| suite.name.clone());
    let mut command = Command {
        request: Request { suite: name.as_ref().map_or_else(String::new, ToString::to_string), pairs: Vec::new() },
        suite: name,
        verb,
        digest: None,
        reason: None,
        row: None,
        state: None,
    };
    match (verb.positional, verb.pairs, suite) {
        (Positional::Reason, ..) => command.reason = Some(free(rest, LONGEST_REASON, &command)?),
        (Positional::Row, ..) => command.row = Some(free(rest, LONGEST_ROW, &command)?),
        (Positional::Digest, ..) => command.digest = digest(rest, &command)?,
        (Positional::State, ..) => command.state = Some(state(rest, &command)?),
        (Positional::None, Pairs::None, _) | (.., None) => nothing(rest, &command)?,
        (Positional::None, Pairs::Request | Pairs::Jobs, Some(suite)) => {
            let bare = pairs(rest, &mut command.request.pairs)?;
            check(&command, suite)?;
            if let Some(bare) = bare {
                return Err(bare_word(bare, verb, suite));
            }
        }
    }
    Ok(command)
}

/// The next word and what follows it; empty at the end.
fn next(text: &str) -> Result<(&str, &str), CommandError> {
    let text = text.trim_start_matches(BLANKS);
    let (word, rest) = text.split_at(text.find(BLANKS).unwrap_or(text.len()));
    visible(word)?;
    Ok((word, rest))
}

/// Refuses characters that nobody sees, or that look like a blank and are none.
fn visible(text: &str) -> Result<(), CommandError> {
    let Some(c) = text.chars().find(|c| c.is_whitespace() && *c != ' ' || is_invisible(*c)) else { return Ok(()) };
    let code = format!("U+{:04X}", u32::from(c));
    Err(CommandError::new(
        Code::BadValue,
        if c.is_whitespace() {
            format!("the line has the blank {code}, which is no space; type a plain space in its place")
        } else {
            format!("the line has the invisible character {code}; remove it")
        },
    ))
}

/// Controls, and characters that join, hide or turn around what stands beside them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// "; remove the full stop at the end", where there is one.
fn full_stop(word: &str) -> String {
    if word.ends_with('.') { format!("; {FULL_STOP}") } else { String::new() }
}

/// What is allowed, with the nearest, however it was capitalised.
fn one_of(allowed: &[&str], found: &str) -> String {
    choices(allowed, found.to_lowercase().trim_end_matches('.'))
}

fn no_suite(known: &Known) -> CommandError {
    let names = known.names().join(", ");
    let error =
        CommandError::new(Code::MissingArgument, format!("{PREFIX} needs a suite, or help or status; suites: {names}"));
    error.instead(known.usual().map_or_else(|| format!("{PREFIX} help"), |name| format!("{PREFIX} {name}")))
}

/// A verb without its suite; `rest` follows the verb.
fn lacks_suite(verb: &Verb, rest: &str, known: &Known) -> CommandError {
    let names = known.names().join(", ");
    let message = format!("{} needs the suite that it is about, before it; suites: {names}", verb.name);
    let error = CommandError::new(Code::MissingArgument, message);
    let Some(usual) = known.usual() else { return error };
    // What was typed stays, where it is short and harmless.
    let words: Vec<&str> = rest.split(BLANKS).filter(|word| !word.is_empty()).collect();
    let typed = words.join(" ");
    let fine = typed.len() <= 40 && words.iter().all(|word| check_value(word).is_ok());
    let after = match (typed.is_empty(), fine) {
        (false, true) => format!(" {typed}"),
        _ => verb.positional.form().to_owned(),
    };
    let word = if rest.contains('=') && verb == Verb::DEFAULT { String::new() } else { format!(" {}", verb.name) };
    error.instead(format!("{PREFIX} {usual}{word}{after}"))
}

fn unknown_suite(word: &str, known: &Known) -> CommandError {
    let bare = super::VERBS.iter().filter(|verb| verb.built && !verb.needs_suite).map(|verb| verb.name);
    let allowed: Vec<&str> = known.names().into_iter().chain(bare).collect();
    let message =
        format!("there is no suite {:?}: expected {}{}", short(word), one_of(&allowed, word), full_stop(word));
    CommandError::new(Code::UnknownSuite, message)
}

fn unknown_verb(word: &str, suite: &SuiteKeys) -> CommandError {
    let allowed: Vec<&str> = Verb::built().map(|verb| verb.name).collect();
    let hint = if suite.presets.iter().any(|preset| preset == word) {
        format!("; for the preset write preset={word}")
    } else {
        full_stop(word)
    };
    let message =
        format!("there is no verb {:?}: expected key=value, or {}{hint}", short(word), one_of(&allowed, word));
    CommandError::new(Code::UnknownVerb, message)
}

/// The line of a command that lacks what follows its verb.
fn lacks(command: &Command, what: &str) -> CommandError {
    let error = CommandError::new(Code::MissingArgument, format!("{} needs {what}", command.verb.name));
    let Some(suite) = &command.suite else { return error };
    error.instead(format!("{PREFIX} {suite} {}{}", command.verb.name, command.verb.positional.form()))
}

fn trailing(word: &str, command: &Command) -> CommandError {
    let Command { suite, verb, .. } = command;
    let suite = suite.as_ref().map_or(String::new(), |suite| format!(" {suite}"));
    let takes = match verb.positional {
        Positional::None => "nothing".to_owned(),
        other => format!("nothing but its {}", other.name()),
    };
    let message = format!("{} takes {takes}, and {:?} follows{}", verb.name, short(word), full_stop(word));
    CommandError::new(Code::TrailingText, message).instead(format!("{PREFIX}{suite} {}", verb.name))
}

/// Refuses a further word.
fn nothing(rest: &str, command: &Command) -> Result<(), CommandError> {
    match next(rest)? {
        ("", _) => Ok(()),
        (word, _) => Err(trailing(word, command)),
    }
}

/// The rest of the line as a text.
fn free(rest: &str, most: usize, command: &Command) -> Result<String, CommandError> {
    let text = rest.replace('\t', " ").trim().to_owned();
    let what = command.verb.positional.name();
    if text.is_empty() {
        return Err(lacks(command, &format!("a {what} after it")));
    }
    let length = text.chars().count();
    if length > most {
        let message = format!("the {what} has {length} characters; at most {most} are allowed");
        return Err(CommandError::new(Code::TooLong, message));
    }
    if let Some(c) = text.chars().find(|c| is_invisible(*c)) {
        let message = format!("the {what} has the invisible character U+{:04X}; remove it", u32::from(c));
        return Err(CommandError::new(Code::BadValue, message));
    }
    Ok(text)
}

fn digest(rest: &str, command: &Command) -> Result<Option<String>, CommandError> {
    let (word, rest) = next(rest)?;
    if word.is_empty() {
        return Ok(None);
    }
    if word.contains('=') {
        return Err(trailing(word, command));
    }
    if !(6..=64).contains(&word.len()) || !word.bytes().all(|b| b.is_ascii_hexdigit()) {
        let message = format!(
            "{:?} is not the digest of a plan: expected 6 to 64 hexadecimal digits{}",
            short(word),
            full_stop(word)
        );
        return Err(CommandError::new(Code::BadValue, message));
    }
    nothing(rest, command)?;
    Ok(Some(word.to_owned()))
}

fn state(rest: &str, command: &Command) -> Result<bool, CommandError> {
    let (word, rest) = next(rest)?;
    let on = match word {
        "on" => true,
        "off" => false,
        "" => return Err(lacks(command, "on or off after it")),
        _ => {
            let message = format!(
                "{} {}: expected {}{}",
                command.verb.name,
                short(word),
                one_of(&["on", "off"], word),
                full_stop(word)
            );
            return Err(CommandError::new(Code::UnknownValue, message));
        }
    };
    nothing(rest, command)?;
    Ok(on)
}

/// Adds the pairs up to the first word that is none, and gives that word.
fn pairs<'l>(mut rest: &'l str, pairs: &mut Vec<(String, String)>) -> Result<Option<&'l str>, CommandError> {
    loop {
        let (word, after) = next(rest)?;
        rest = after;
        if word.is_empty() {
            return Ok(None);
        }
        let Some((key, value)) = word.split_once('=') else { return Ok(Some(word)) };
        pairs.push((key.to_owned(), value.to_owned()));
    }
}

/// A word where a pair should stand.
fn bare_word(word: &str, verb: &Verb, suite: &SuiteKeys) -> CommandError {
    let hint = if Verb::of(word).is_some() {
        "; a verb stands directly after the suite".to_owned()
    } else if suite.presets.iter().any(|preset| preset == word) {
        format!("; for the preset write preset={word}")
    } else {
        full_stop(word)
    };
    let message = format!("{:?} follows {}, and is not of the form key=value{hint}", short(word), verb.name);
    CommandError::new(Code::TrailingText, message)
}

/// Refuses pairs that the verb cannot have.
fn check(command: &Command, suite: &SuiteKeys) -> Result<(), CommandError> {
    let Command { request, verb, .. } = command;
    if request.pairs.len() > MOST_PAIRS {
        let message = format!("{} pairs are more than the {MOST_PAIRS} that are allowed", request.pairs.len());
        return Err(CommandError::new(Code::TooLong, message));
    }
    let keys: Vec<&str> = match verb.pairs {
        Pairs::Jobs => JOBS.to_vec(),
        _ => KEYS.iter().filter(|key| key.built).map(|key| key.name).chain(suite.keys()).collect(),
    };
    for (key, value) in &request.pairs {
        if !keys.contains(&key.as_str()) {
            return Err(unknown_key(key, &keys));
        }
        if value.ends_with('.') && check_value(value).is_ok() {
            let message = format!("{key}={} ends with a full stop; {FULL_STOP}", short(value));
            return Err(CommandError::new(kind_of(key, suite), message));
        }
    }
    if verb.pairs == Pairs::Jobs {
        return check_jobs(request);
    }
    let options = request.options()?;
    let words = |key: &str| {
        let of = suite.parameters.iter().find(|parameter| parameter.name == key);
        of.and_then(|parameter| parameter.allowed.as_deref())
    };
    let preset = options.preset.iter().map(|value| ("preset", value, Some(&suite.presets[..])));
    let parameters = options.parameters.iter().map(|(key, value)| (key.as_str(), value, words(key)));
    for (key, value, allowed) in preset.chain(parameters) {
        let Some(allowed) = allowed.filter(|allowed| !allowed.contains(value)) else { continue };
        let expected = match allowed {
            [] => format!("nothing: {} has no {key}s", suite.name),
            _ => one_of(&allowed.iter().map(String::as_str).collect::<Vec<_>>(), value),
        };
        return Err(CommandError::new(Code::UnknownValue, format!("{key}={}: expected {expected}", short(value))));
    }
    Ok(())
}

fn unknown_key(key: &str, keys: &[&str]) -> CommandError {
    let message = match Key::of(key) {
        Some(key) if !key.built => format!("{} is not built yet", key.name),
        _ => format!("there is no key {:?}: expected {}", short(key), one_of(keys, key)),
    };
    CommandError::new(Code::UnknownKey, message)
}

/// What a wrong word for the key is called.
fn kind_of(key: &str, suite: &SuiteKeys) -> Code {
    let takes_words = suite.parameters.iter().any(|p| p.name == key && p.allowed.is_some());
    if takes_words || matches!(key, "preset" | "priority" | "normalize" | "harness") {
        Code::UnknownValue
    } else {
        Code::BadValue
    }
}

/// The values of jobs are for whoever compares them to understand; here they are only made sure to be harmless.
fn check_jobs(request: &Request) -> Result<(), CommandError> {
    use crate::request::RequestError;
    for (index, (key, value)) in request.pairs.iter().enumerate() {
        check_value(value).map_err(|problem| RequestError::Value { key: key.clone(), problem })?;
        let may_repeat = Key::of(key).is_some_and(|key| key.repeatable);
        if !may_repeat && request.pairs[..index].iter().any(|(other, _)| other == key) {
            return Err(RequestError::Twice(key.clone()).into());
        }
    }
    Ok(())
}
