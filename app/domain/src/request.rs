//! What somebody asks for: a suite, and `key=value` pairs as they were typed.
//!
//! [`KEYS`] is the one table of keys: errors, help and the parser of commands derive from it. Every other key is a
//! parameter of the suite, and the suite says whether it knows it.

mod keys;

use std::fmt::Write as _;

use stats::input::choices;

pub use keys::{KEYS, Key};
pub use stats::config::Normalize;
pub use stats::spending::default_looks;

use crate::arms::{ArmsError, Declared};
use crate::ids::{ArmName, IdError};

/// Most pairs that a request may have.
pub const MOST_PAIRS: usize = 64;
/// Longest value, in bytes.
pub const LONGEST_VALUE: usize = 1000;
/// Most rounds that may be asked for.
pub const MOST_ROUNDS: u32 = 100;

const KEY_FORM: &str = "1 to 40 characters a-z, 0-9, _ and -, the first a letter";
const VALUE_FORM: &str =
    "1 to 1000 characters A-Z, a-z, 0-9 and . _ - : / , + @ = *, not starting with -, without /../";
const PRIORITIES: [&str; 3] = ["production", "interactive", "batch"];
const HARNESS: [(&str, HarnessPolicy); 3] =
    [("control", HarnessPolicy::Control), ("head", HarnessPolicy::Head), ("refuse", HarnessPolicy::Refuse)];
const NORMALIZE: [(&str, Normalize); 4] =
    [("auto", Normalize::Auto), ("none", Normalize::None), ("item", Normalize::Item), ("byte", Normalize::Byte)];

/// What somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Name of a suite, or where the command line allows it the path of one.
    pub suite: String,
    /// Keys and values in the order in which they were typed.
    pub pairs: Vec<(String, String)>,
}

/// How many rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// So many, judged once after the last of them.
    Exactly(u32),
    /// So many more than there are.
    More(u32),
}

/// What to do where a change alters the benchmark itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HarnessPolicy {
    /// Both arms run the control's files.
    Control,
    /// Every arm runs its own files; that is a declared difference.
    Head,
    /// Nothing is compared.
    Refuse,
}

impl HarnessPolicy {
    /// The word in suites and commands.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Head => "head",
            Self::Refuse => "refuse",
        }
    }
}

/// A treatment that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreatmentAsked {
    /// Its name.
    pub name: ArmName,
    /// Its commit, 7 to 40 lowercase hexadecimal digits; `None` is the head.
    pub commit: Option<String>,
    /// What it declares to do differently.
    pub declared: Declared,
}

/// A request whose keys are understood, but for those that the suite must know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Name of a preset.
    pub preset: Option<String>,
    /// Rounds.
    pub rounds: Option<Rounds>,
    /// Priority that jobs ask for: production, interactive or batch.
    pub priority: Option<String>,
    /// What times are divided by.
    pub normalize: Option<Normalize>,
    /// What to do where the change alters the benchmark.
    pub harness: Option<HarnessPolicy>,
    /// The head that is meant, 7 to 40 lowercase hexadecimal digits.
    pub sha: Option<String>,
    /// The control's commit, likewise; `None` is the merge base.
    pub control: Option<String>,
    /// The treatments; none is the head as it is, under the name `head`.
    pub treatments: Vec<TreatmentAsked>,
    /// All other pairs, for the suite to judge; no key twice.
    pub parameters: Vec<(String, String)>,
}

/// Why pairs are not a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A word that is no pair.
    #[error("{0:?} is not of the form key=value")]
    NoPair(String),
    /// More pairs than anybody needs.
    #[error("{0} pairs are more than the {MOST_PAIRS} that are allowed")]
    TooMany(usize),
    /// A key that nothing can have.
    #[error("{0:?} is not a key; allowed: {KEY_FORM}")]
    Key(String),
    /// A key that stands twice.
    #[error("{0} is given twice{also}", also = repeatable())]
    Twice(String),
    /// A value that nothing may have.
    #[error("the value of {key} {problem}; allowed: {VALUE_FORM}")]
    Value {
        /// The key.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// A word that the key does not know, or a number out of its range.
    #[error("{key}={found}: expected {expected}")]
    Choice {
        /// The key.
        key: &'static str,
        /// What was found, at most 40 characters.
        found: String,
        /// What is allowed, with the nearest.
        expected: String,
    },
    /// A treatment whose name is not one.
    #[error("treatment={found}: {error}")]
    Name {
        /// What stands before the `@`, at most 40 characters.
        found: String,
        /// Why.
        error: IdError,
    },
    /// A treatment that takes the name of the head as it is.
    #[error("treatment=head@...: head is the name of the treatment that runs the head as it is; choose another name")]
    HeadName,
    /// Two treatments of one name.
    #[error("two treatments are named {0}; every treatment needs a name of its own")]
    SameName(ArmName),
    /// A treatment that is not put together as it should be.
    #[error("treatment={found}: {problem}; the form is {form}", form = treatment_form())]
    Treatment {
        /// Its beginning, at most 40 characters.
        found: String,
        /// What is wrong.
        problem: String,
    },
    /// A difference that cannot be declared.
    #[error("treatment={name}: {error}")]
    Declared {
        /// The treatment.
        name: ArmName,
        /// Why.
        error: ArmsError,
    },
}

fn repeatable() -> String {
    let names: Vec<&str> = KEYS.iter().filter(|key| key.repeatable).map(|key| key.name).collect();
    format!("; only {} may be repeated", names.join(", "))
}

fn treatment_form() -> &'static str {
    Key::of("treatment").map_or("", |key| key.form)
}

/// The first characters of a foreign text.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Refuses a value that nothing may have: what is accepted here is safe in an argument list, a file name and a query.
///
/// # Errors
/// What is wrong, as the rest of a sentence that begins with "the value".
pub fn check_value(value: &str) -> Result<(), String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || ".-_:/,+@=*".contains(c);
    if value.is_empty() {
        Err("is empty".to_owned())
    } else if value.len() > LONGEST_VALUE {
        Err("is too long".to_owned())
    } else if value.starts_with('-') {
        Err("starts with -".to_owned())
    } else if let Some(c) = value.chars().find(|c| !fine(*c)) {
        Err(format!("has the character {c:?}"))
    } else if value.split('/').any(|part| part == "..") {
        Err("has .. as a part of a path".to_owned())
    } else {
        Ok(())
    }
}

impl Request {
    /// A request from the words of a command line or a comment.
    ///
    /// # Errors
    /// A word without `=`.
    pub fn new<'w>(suite: &str, words: impl IntoIterator<Item = &'w str>) -> Result<Self, RequestError> {
        let pair = |word: &str| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(RequestError::NoPair(short(word))),
        };
        Ok(Self { suite: suite.to_owned(), pairs: words.into_iter().map(pair).collect::<Result<_, _>>()? })
    }

    /// What the pairs mean. A key that is not in [`KEYS`] is left in [`Options::parameters`], with a dash in it as it
    /// was typed.
    ///
    /// # Errors
    /// The first pair that makes no sense.
    pub fn options(&self) -> Result<Options, RequestError> {
        if self.pairs.len() > MOST_PAIRS {
            return Err(RequestError::TooMany(self.pairs.len()));
        }
        let mut options = Options::default();
        for (index, (key, value)) in self.pairs.iter().enumerate() {
            check_key(key)?;
            check_value(value).map_err(|problem| RequestError::Value { key: key.clone(), problem })?;
            let known = Key::of(key);
            let may_repeat = known.is_some_and(|key| key.repeatable);
            if !may_repeat && self.pairs[..index].iter().any(|(other, _)| other == key) {
                return Err(RequestError::Twice(key.clone()));
            }
            match known {
                Some(known) => options.set(known, value)?,
                None => options.parameters.push((key.clone(), value.clone())),
            }
        }
        Ok(options)
    }
}

impl Options {
    fn set(&mut self, key: &'static Key, value: &str) -> Result<(), RequestError> {
        match key.name {
            "preset" => self.preset = Some(value.to_owned()),
            "rounds" => self.rounds = Some(rounds(value)?),
            "priority" => {
                let words: Vec<(&str, &str)> = PRIORITIES.iter().map(|word| (*word, *word)).collect();
                self.priority = Some(choice(key.name, value, &words)?.to_owned());
            }
            "normalize" => self.normalize = Some(choice(key.name, value, &NORMALIZE)?),
            "harness" => self.harness = Some(choice(key.name, value, &HARNESS)?),
            "sha" => self.sha = Some(commit(key.name, value)?),
            "control" => self.control = Some(commit(key.name, value)?),
            _ => {
                let asked = treatment(value)?;
                if self.treatments.iter().any(|other| other.name == asked.name) {
                    return Err(RequestError::SameName(asked.name));
                }
                self.treatments.push(asked);
            }
        }
        Ok(())
    }
}

fn check_key(key: &str) -> Result<(), RequestError> {
    let ok = |(index, c): (usize, char)| {
        c.is_ascii_lowercase() || (index > 0 && (c.is_ascii_digit() || matches!(c, '_' | '-')))
    };
    if (1..=40).contains(&key.len()) && key.chars().enumerate().all(ok) {
        return Ok(());
    }
    Err(RequestError::Key(short(key)))
}

fn choice<T: Copy>(key: &'static str, found: &str, words: &[(&str, T)]) -> Result<T, RequestError> {
    words.iter().find(|(word, _)| *word == found).map(|(_, value)| *value).ok_or_else(|| {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        RequestError::Choice { key, found: short(found), expected: choices(&allowed, found) }
    })
}

fn rounds(value: &str) -> Result<Rounds, RequestError> {
    let (digits, more) = value.strip_prefix('+').map_or((value, false), |rest| (rest, true));
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let count = digits.parse::<u32>().ok().filter(|n| plain && (1..=MOST_ROUNDS).contains(n));
    let expected = || format!("1 to {MOST_ROUNDS} rounds, or +1 to +{MOST_ROUNDS} for more than there are");
    match count {
        Some(count) if more => Ok(Rounds::More(count)),
        Some(count) => Ok(Rounds::Exactly(count)),
        None => Err(RequestError::Choice { key: "rounds", found: short(value), expected: expected() }),
    }
}

fn commit(key: &'static str, value: &str) -> Result<String, RequestError> {
    if (7..=40).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(value.to_ascii_lowercase());
    }
    let expected = "a commit of 7 to 40 hexadecimal digits".to_owned();
    Err(RequestError::Choice { key, found: short(value), expected })
}

/// `<name>@<commit|head>[,key=value...]`. A part without `=` continues the list that stands before it.
fn treatment(value: &str) -> Result<TreatmentAsked, RequestError> {
    let wrong = |problem: &str| RequestError::Treatment { found: short(value), problem: problem.to_owned() };
    let mut parts = value.split(',');
    let (name, at) = parts.next().and_then(|arm| arm.split_once('@')).ok_or_else(|| wrong("there is no @<commit>"))?;
    let name: ArmName = name.parse().map_err(|error| RequestError::Name { found: short(name), error })?;
    if name.as_str() == "head" {
        return Err(RequestError::HeadName);
    }
    let commit = if at == "head" {
        None
    } else {
        Some(commit("treatment", at).map_err(|_| wrong("the commit is neither head nor 7 to 40 hexadecimal digits"))?)
    };
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for part in parts {
        match (part.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => pairs.push((key, value.to_owned())),
            // Writing to a String cannot fail.
            (None, Some((_, list))) => drop(write!(list, ",{part}")),
            (None, None) => return Err(wrong("what follows the commit is not key=value")),
        }
    }
    let mut declared = Declared::default();
    for (key, value) in &pairs {
        check_value(value).map_err(|problem| RequestError::Value { key: short(key), problem })?;
        let added = match key.strip_prefix("env.") {
            Some(variable) => declared.variable(variable, value),
            // A treatment declares canonical parameters; their names have no dashes.
            None => declared.parameter(key, value),
        };
        added.map_err(|error| RequestError::Declared { name: name.clone(), error })?;
    }
    Ok(TreatmentAsked { name, commit, declared })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn options(words: &str) -> Result<Options, RequestError> {
        Request::new("zephyr", words.split_whitespace())?.options()
    }

    #[test]
    fn every_example_of_the_table_is_accepted_and_no_parameter() {
        for key in KEYS {
            let found = options(key.example).unwrap();
            assert!(found.parameters.is_empty() && found != Options::default(), "{}", key.name);
        }
    }

    #[test]
    fn pairs_are_understood() {
        let found = options(
            "preset=light rounds=+2 normalize=byte control=DEADBEEF first-stage=exact pool_workers=80 \
             treatment=wide@head,pool_workers=96,sources=a,b,env.MALLOC=x treatment=b@0123456",
        )
        .unwrap();
        assert_eq!(found.preset.as_deref(), Some("light"));
        assert_eq!(found.rounds, Some(Rounds::More(2)));
        assert_eq!(found.normalize, Some(Normalize::Byte));
        assert_eq!(found.control.as_deref(), Some("deadbeef"));
        let parameters: Vec<String> = found.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(parameters, ["first-stage=exact", "pool_workers=80"]);
        let [wide, b] = &found.treatments[..] else { panic!("{:?}", found.treatments) };
        assert_eq!((wide.name.as_str(), &wide.commit), ("wide", &None));
        let declared: Vec<String> = wide.declared.entries().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(declared, ["pool_workers=96", "sources=a,b", "env.MALLOC=x"]);
        assert_eq!((b.commit.as_deref(), b.declared.is_empty()), (Some("0123456"), true));
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for (words, message) in [
            ("preset", "\"preset\" is not of the form key=value"),
            ("preset=a preset=b", "preset is given twice; only treatment may be repeated"),
            ("x=1 x=1", "x is given twice; only treatment may be repeated"),
            ("X=1", "\"X\" is not a key; allowed: 1 to 40 characters a-z, 0-9, _ and -, the first a letter"),
            ("rounds=0", "rounds=0: expected 1 to 100 rounds, or +1 to +100 for more than there are"),
            ("normalize=itme", "normalize=itme: expected one of auto, none, item, byte; nearest: item"),
            ("priority=urgent", "priority=urgent: expected one of production, interactive, batch"),
            ("harness=contrl", "harness=contrl: expected one of control, head, refuse; nearest: control"),
            ("control=main", "control=main: expected a commit of 7 to 40 hexadecimal digits"),
            (
                "treatment=head@0123456",
                "treatment=head@...: head is the name of the treatment that runs the head as it is; choose another name",
            ),
            (
                "treatment=control@head",
                "treatment=control: a treatment's name may not be \"control\": it is the arm that treatments are compared with",
            ),
            (
                "treatment=a@head treatment=a@head",
                "two treatments are named a; every treatment needs a name of its own",
            ),
            (
                "treatment=a",
                "treatment=a: there is no @<commit>; the form is <name>@<commit|head>[,key=value...][,env.NAME=value...]",
            ),
            (
                "treatment=a@--upload-pack=x",
                "treatment=a@--upload-pack=x: the commit is neither head nor 7 to 40 hexadecimal digits; the form is \
                 <name>@<commit|head>[,key=value...][,env.NAME=value...]",
            ),
            ("treatment=a@head,k=1,k=2", "treatment=a: k is declared twice"),
        ] {
            assert_eq!(options(words).unwrap_err().to_string(), message, "{words}");
        }
        for value in ["$(id)", "x';", "gs://b/../../c", "-x", "", "a b", "ä", &"x".repeat(1001)] {
            let request = Request { suite: "s".into(), pairs: vec![("k".into(), value.into())] };
            assert!(matches!(request.options(), Err(RequestError::Value { .. })), "{value:?}");
        }
        assert!(matches!(options("treatment=a@head,k=-1"), Err(RequestError::Value { .. })));
        let name = "x".repeat(300);
        assert!(matches!(options(&format!("treatment={name}@head")), Err(RequestError::Name { .. })));
        let many = vec![("a".to_owned(), "1".to_owned()); 65];
        assert_eq!(Request { suite: String::new(), pairs: many }.options(), Err(RequestError::TooMany(65)));
    }

    #[test]
    fn spans_are_values_and_paths_upwards_are_none() {
        assert!(check_value("minhash..fuzzy").is_ok());
        assert!(check_value("gs://marin-eu-west4/datakit/sample_100b").is_ok());
        assert!(check_value("..").is_err());
    }

    proptest! {
        #[test]
        fn what_is_accepted_holds_no_hostile_character(key in "[a-z-]{1,12}|treatment", value in "\\PC{0,30}|[a-z]{1,4}@(head|[0-9a-f]{7})(,[a-z.=,-]{0,12}){0,3}") {
            let request = Request { suite: "s".into(), pairs: vec![(key, value)] };
            if let Ok(options) = request.options() {
                let declared = options.treatments.iter().flat_map(|t| t.declared.entries().map(|(_, v)| v.to_owned()));
                for value in options.parameters.iter().map(|(_, value)| value.clone()).chain(declared) {
                    prop_assert!(!value.starts_with('-') && value.is_ascii() && !value.contains([' ', ';', '$', '\'', '"']));
                }
            }
        }
    }
}
