//! What can be wrong with an id.

/// Why a text is not the id that was asked for. The text itself is foreign and never repeated whole: at most one
/// character or one short field of it, escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing there.
    #[error("{what} is empty; allowed: {allowed}")]
    Empty {
        /// The kind of id.
        what: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// Too short or too long.
    #[error("{what} has {found} characters; allowed: {allowed}")]
    Length {
        /// The kind of id.
        what: &'static str,
        /// Characters found.
        found: usize,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A character that does not belong there.
    #[error("{what} has {found:?} as character {at}; allowed: {allowed}")]
    Character {
        /// The kind of id.
        what: &'static str,
        /// The character.
        found: char,
        /// Its place, counted from 1.
        at: usize,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The parts are not where they should be.
    #[error("{what} does not have the form {allowed}")]
    Form {
        /// The kind of id.
        what: &'static str,
        /// The form.
        allowed: &'static str,
    },
    /// One part has an impossible value.
    #[error("{what}: the {field} is {found:?}; allowed: {allowed}")]
    Field {
        /// The kind of id.
        what: &'static str,
        /// The part.
        field: &'static str,
        /// Its text, at most 64 characters.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A word that has a meaning of its own.
    #[error("{what} may not be {found:?}: {why}")]
    Reserved {
        /// The kind of id.
        what: &'static str,
        /// The word.
        found: String,
        /// What it means.
        why: &'static str,
    },
}

/// Refuses an empty text, a length (in characters) outside `range`, and the first character that `ok` refuses.
pub(super) fn characters(
    what: &'static str,
    text: &str,
    range: std::ops::RangeInclusive<usize>,
    allowed: &'static str,
    ok: impl Fn(usize, char) -> bool,
) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { what, allowed });
    }
    if let Some((index, found)) = text.chars().enumerate().find(|(index, c)| !ok(*index, *c)) {
        return Err(IdError::Character { what, found, at: index + 1, allowed });
    }
    let found = text.chars().count();
    if range.contains(&found) { Ok(()) } else { Err(IdError::Length { what, found, allowed }) }
}
