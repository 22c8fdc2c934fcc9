//! Files of one JSON object per line, to which lines are only added.
//!
//! A line counts when its line feed is there. A crash in the middle of a line leaves a last line without one: it is
//! never read, and cut off when the next line is added or the folder is sealed. Whoever was writing it is told nothing
//! until the line is whole, and so writes it again.

/// The complete lines, and how many bytes they have with their line feeds.
#[must_use]
pub fn complete(bytes: &[u8]) -> (Vec<&[u8]>, usize) {
    let keep = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let whole = bytes[..keep].strip_suffix(b"\n");
    (whole.map_or(Vec::new(), |whole| whole.split(|b| *b == b'\n').collect()), keep)
}

/// Every complete line, read.
///
/// # Errors
/// The number of the first line that is none, from 1, and why.
pub fn read<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, (usize, String)> {
    let (lines, _) = complete(bytes);
    let parse = |(at, line): (usize, &[u8])| serde_json::from_slice(line).map_err(|e| (at + 1, brief(&e)));
    lines.into_iter().enumerate().map(parse).collect()
}

/// An error of JSON in one short line: it may repeat what stands in the file.
pub(crate) fn brief(error: &serde_json::Error) -> String {
    error.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_count() {
        let lines = |text: &'static str| {
            let (lines, keep) = complete(text.as_bytes());
            (lines.into_iter().map(|l| std::str::from_utf8(l).unwrap()).collect::<Vec<_>>(), keep)
        };
        assert_eq!(lines(""), (vec![], 0));
        assert_eq!(lines("{\"a\""), (vec![], 0));
        assert_eq!(lines("1\n"), (vec!["1"], 2));
        assert_eq!(lines("1\n2"), (vec!["1"], 2));
        assert_eq!(lines("1\n\n2\n3"), (vec!["1", "", "2"], 5));
    }

    #[test]
    fn a_broken_line_is_named() {
        assert_eq!(read::<u8>(b"1\n2\n{"), Ok(vec![1, 2]));
        let (line, why) = read::<u8>(b"1\nx\n").unwrap_err();
        assert_eq!(line, 2);
        assert!(why.contains("expected value"), "{why}");
    }
}
