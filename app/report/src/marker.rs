//! The first line of a comment, by which it is found again.

/// The suite whose comment has the marker without a name.
pub const PLAIN: &str = "zephyr";
/// The marker of the one further comment.
pub const REPLY: &str = "<!-- zephyr-ab-reply -->";

/// Which comment a body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marker {
    /// The verdict comment of a suite.
    Suite(String),
    /// The one further comment.
    Reply,
}

impl Marker {
    /// The marker of the verdict comment of `suite`. Names are lowercase letters, digits, `-` and `_`; whatever else
    /// stands in `suite` is left out, so that no name closes the marker early.
    #[must_use]
    pub fn suite(suite: &str) -> Self {
        Self::Suite(suite.chars().filter(|c| is_name(*c)).collect())
    }

    /// The line.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Suite(name) if name == PLAIN => "<!-- zephyr-ab-test -->".to_owned(),
            Self::Suite(name) => format!("<!-- zephyr-ab-test:{name} -->"),
            Self::Reply => REPLY.to_owned(),
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_'
}

/// The marker of a body: its first line, exactly; only a carriage return at its end is tolerated.
#[must_use]
pub fn find(body: &str) -> Option<Marker> {
    let first = body.split('\n').next()?;
    let first = first.strip_suffix('\r').unwrap_or(first);
    if first == REPLY {
        return Some(Marker::Reply);
    }
    if first == "<!-- zephyr-ab-test -->" {
        return Some(Marker::Suite(PLAIN.to_owned()));
    }
    let name = first.strip_prefix("<!-- zephyr-ab-test:")?.strip_suffix(" -->")?;
    let ok = !name.is_empty() && name != PLAIN && name.chars().all(is_name);
    ok.then(|| Marker::Suite(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn exactly_the_first_line() {
        for (body, expected) in [
            ("<!-- zephyr-ab-test -->", Some(Marker::Suite("zephyr".into()))),
            ("<!-- zephyr-ab-test -->\r\n## x", Some(Marker::Suite("zephyr".into()))),
            ("<!-- zephyr-ab-test:demo -->\nx", Some(Marker::Suite("demo".into()))),
            ("<!-- zephyr-ab-reply -->\nx", Some(Marker::Reply)),
            ("\n<!-- zephyr-ab-test -->", None),
            (" <!-- zephyr-ab-test -->", None),
            ("<!-- zephyr-ab-test --> ", None),
            ("<!-- zephyr-ab-test:zephyr -->", None),
            ("<!-- zephyr-ab-test: -->", None),
            ("<!-- zephyr-ab-test:a --> <!-- b -->", None),
            ("<!--zephyr-ab-test-->", None),
            ("<!-- ZEPHYR-AB-TEST -->", None),
            ("", None),
        ] {
            assert_eq!(find(body), expected, "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_found(name in "[a-z0-9_-]{1,30}", rest in any::<String>()) {
            let marker = Marker::suite(&name);
            prop_assert_eq!(find(&format!("{}\n{rest}", marker.line())), Some(marker));
        }

        #[test]
        fn no_name_breaks_the_line(name in any::<String>()) {
            let line = Marker::suite(&name).line();
            prop_assert!(line.starts_with("<!-- ") && line.ends_with(" -->") && line.matches("-->").count() == 1);
            prop_assert!(!line.contains('\n'));
        }
    }
}
