//! The manifest.

use github::needs::{EVENTS, permissions};
use serde_json::{Value, json};

/// An app that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The address of the service, without a slash at the end.
    pub url: &'a str,
    /// What it is called.
    pub name: &'a str,
}

impl Wanted<'_> {
    /// The manifest, as GitHub reads it: nobody else can install the app, it acts for nobody, and it asks for what
    /// [`github::needs`] lists. `back` is where the browser is sent with the code.
    #[must_use]
    pub fn manifest(&self, back: Option<&str>) -> Value {
        let mut manifest = json!({
            "name": self.name,
            "url": self.url,
            "description": "Benchmarks a pull request against its base and says what is proven.",
            "hook_attributes": { "url": format!("{}/webhook", self.url), "active": true },
            "public": false,
            "default_permissions": permissions(),
            "default_events": EVENTS.map(|event| event.name),
        });
        if let Some(back) = back {
            manifest["redirect_url"] = back.into();
        }
        manifest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest() {
        let wanted = Wanted { url: "https://ab.example", name: "zephyr-ab" };
        insta::assert_json_snapshot!(wanted.manifest(None));
        assert_eq!(wanted.manifest(Some("http://127.0.0.1:1/made"))["redirect_url"], "http://127.0.0.1:1/made");
    }
}
