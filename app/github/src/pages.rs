//! Lists that come in pages.

/// A list that is longer than this is not read on: it leads in a circle.
pub(crate) const MOST: usize = 1000;

/// The address of the next page, of a `Link` header.
pub(crate) fn next(link: &str) -> Option<&str> {
    link.split(',').find_map(|entry| {
        let (address, attributes) = entry.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = attributes.split(';').any(|attribute| {
            let attribute = attribute.trim();
            attribute.eq_ignore_ascii_case("rel=\"next\"") || attribute.eq_ignore_ascii_case("rel=next")
        });
        is_next.then_some(address)
    })
}

/// `text` as one piece of a path or a query.
pub(crate) fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links() {
        for (link, address) in [
            (r#"<https://h/x?page=2>; rel="next", <https://h/x?page=9>; rel="last""#, Some("https://h/x?page=2")),
            (r#"<https://h/x?page=1>; rel="prev", <https://h/x?page=3>; rel="next""#, Some("https://h/x?page=3")),
            (r#"<https://h/x?a=1>; title="t"; rel=next"#, Some("https://h/x?a=1")),
            (r#"<https://h/x?page=1>; rel="first""#, None),
            ("nonsense", None),
            ("<https://h", None),
            ("", None),
        ] {
            assert_eq!(next(link), address, "{link}");
        }
    }

    #[test]
    fn pieces() {
        assert_eq!(escape("dependabot[bot]"), "dependabot%5Bbot%5D");
        assert_eq!(escape("zephyr-ab / a&b"), "zephyr-ab%20%2F%20a%26b");
    }
}
