//! Ids of Iris jobs.

use super::error::{IdError, characters};
use super::text_id;

const WHAT: &str = "a job id";
const ALLOWED: &str = "/user/name[/child...] in A-Z, a-z, 0-9, . _ - @ +, at most 512 characters, no part over 128, \
                       none empty or starting with . or -";

text_id! {
    /// A canonical job of Iris: `/user/name`, and `/child` for each level below. `@` and `+` stand in the user only,
    /// where an identity may be an address.
    JobId, parse
}

impl JobId {
    /// The user.
    #[must_use]
    pub fn user(&self) -> &str {
        self.0.split('/').nth(1).unwrap_or_default()
    }

    /// The name of the root job.
    #[must_use]
    pub fn root_name(&self) -> &str {
        self.0.split('/').nth(2).unwrap_or_default()
    }

    /// Whether this job is `other` or stands below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.strip_prefix(&other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

fn parse(text: &str) -> Result<String, IdError> {
    characters(WHAT, text, 4..=512, ALLOWED, |_, c| {
        c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@' | '+')
    })?;
    let form = || IdError::Form { what: WHAT, allowed: ALLOWED };
    let parts: Vec<&str> = text.strip_prefix('/').ok_or_else(form)?.split('/').collect();
    if parts.len() < 2 {
        return Err(form());
    }
    for (index, part) in parts.iter().enumerate() {
        if part.is_empty() || part.len() > 128 || part.starts_with(['.', '-']) {
            return Err(form());
        }
        if index > 0 && part.contains(['@', '+']) {
            let found = part.chars().take(64).collect();
            return Err(IdError::Field { what: WHAT, field: "name", found, allowed: "no @ or + after the user" });
        }
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let job: JobId = "/bot@example.com/zab-1/child".parse().unwrap();
        assert_eq!((job.user(), job.root_name()), ("bot@example.com", "zab-1"));
        let root: JobId = "/bot@example.com/zab-1".parse().unwrap();
        let neighbour: JobId = "/bot@example.com/zab-12".parse().unwrap();
        assert!(job.is_within(&root) && root.is_within(&root));
        assert!(!root.is_within(&job) && !neighbour.is_within(&root));
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "/",
            "/bot",
            "/bot/",
            "bot/x",
            "//x",
            "/bot//x",
            "/bot/../x",
            "/bot/x y",
            "/bot/-x",
            "/b/x@y",
            "/bot/x'",
            "/bot/x%",
            "/bot/é",
        ] {
            assert!(text.parse::<JobId>().is_err(), "{text}");
        }
        assert!(format!("/bot/{}", "x".repeat(129)).parse::<JobId>().is_err());
        assert!(format!("/bot{}", "/abcdefg".repeat(64)).parse::<JobId>().is_err());
    }
}
