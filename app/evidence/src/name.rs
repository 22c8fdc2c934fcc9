//! Which names files may have.

use domain::arms::Role;
use domain::rounds::TrialName;

/// Longest name of an answer, bytes.
pub const LONGEST: usize = 160;
/// Longest part of a name, bytes.
const LONGEST_PART: usize = 100;
/// Folders that an answer may stand in, below the folder of its trial.
const DEEPEST: usize = 4;

/// The name of an answer is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{shown:?} is not the name of an answer; allowed: parts of a-z, 0-9, . _ - separated by /, none empty, over {LONGEST_PART} characters or starting with . or -, at most {LONGEST} characters and {} parts", DEEPEST + 1)]
pub struct NameError {
    /// The first 80 characters of it.
    pub shown: String,
}

/// Whether an answer may have this name.
///
/// # Errors
/// See [`NameError`].
pub fn check(name: &str) -> Result<(), NameError> {
    let part = |part: &str| {
        let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
        (1..=LONGEST_PART).contains(&part.len()) && !part.starts_with(['.', '-']) && part.bytes().all(ok)
    };
    let fits = name.len() <= LONGEST && name.split('/').count() <= DEEPEST + 1 && name.split('/').all(part);
    if fits { Ok(()) } else { Err(NameError { shown: name.chars().take(80).collect() }) }
}

/// The folder of a trial inside the folder of its run.
#[must_use]
pub fn trial_folder(trial: &TrialName, role: &Role) -> String {
    format!("arms/{role}-{}.{}-{}", trial.round, trial.replacement, trial.place)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names() {
        for good in ["steps.json", "01-sort.stdout", "a/b/c/d/e", "0", "a..b", &"x".repeat(100)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let deep = "a/b/c/d/e/f";
        let long = format!("{0}/{0}", "x".repeat(90));
        for bad in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "../a",
            ".a",
            "-a",
            "A",
            "a b",
            "a\\b",
            "a\n",
            "a\0",
            "é",
            "a~",
            "c:a",
            deep,
            &long,
            &"x".repeat(101),
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_leaves_the_folder(name in "[a-zA-Z0-9./_~-]{0,24}") {
            if check(&name).is_ok() {
                let path = std::path::Path::new(&name);
                prop_assert!(path.components().all(|c| matches!(c, std::path::Component::Normal(_))), "{}", name);
                prop_assert!(path.is_relative());
            }
        }
    }
}
