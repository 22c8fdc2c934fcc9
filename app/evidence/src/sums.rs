//! sha256sums.txt, as `sha256sum -c` reads it.

use std::collections::BTreeMap;

use domain::ids::Digest;

/// The digests of files by their names.
pub type Sums = BTreeMap<String, Digest>;

/// One line for each file, in the byte order of the names: digest, two spaces, name.
#[must_use]
pub fn write(sums: &Sums) -> String {
    let lines: Vec<String> = sums.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    lines.concat()
}

/// What [`write()`] wrote.
///
/// # Errors
/// The first line that is none, from 1, and why.
pub fn read(bytes: &[u8]) -> Result<Sums, (usize, &'static str)> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].split(|b| *b == b'\n').count();
        (line, "is not text in UTF-8")
    })?;
    let mut sums = Sums::new();
    let mut rest = text;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let (line, after) = rest.split_once('\n').ok_or((number, "has no end"))?;
        let (digest, name) = line.split_once("  ").ok_or((number, "is not a digest, two spaces and a name"))?;
        let digest = digest.parse().map_err(|_| (number, "does not start with 64 lowercase hexadecimal digits"))?;
        if name.is_empty() {
            return Err((number, "has no name"));
        }
        if sums.last_key_value().is_some_and(|(last, _)| last.as_str() >= name) {
            return Err((number, "is not in the order of the names"));
        }
        sums.insert(name.to_owned(), digest);
        rest = after;
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_refusals() {
        let sums: Sums = ["b", "a/c", "a"].map(|name| (name.to_owned(), Digest::of(name.as_bytes()))).into();
        let text = write(&sums);
        assert!(text.ends_with("  b\n") && text.lines().count() == 3);
        assert_eq!(read(text.as_bytes()), Ok(sums));
        let line = |n: usize| text.lines().nth(n).unwrap();
        for (bad, number) in [
            (text.trim_end().to_owned(), 3),
            (format!("{}\n{}\n", line(1), line(0)), 2),
            (format!("{}\n{}\n", line(0), line(0)), 2),
            (text.replacen("  ", " ", 1), 1),
            (text.to_uppercase(), 1),
            (format!("{text}\n"), 4),
            (format!("{}  \n", Digest::of(b"")), 1),
        ] {
            assert_eq!(read(bad.as_bytes()).unwrap_err().0, number, "{bad}");
        }
        assert_eq!(read(b"\xff").unwrap_err().0, 1);
    }
}
