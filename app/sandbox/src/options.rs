//! What a sandbox is started with.

use std::sync::Arc;

use crate::clock::Clock;
use crate::exchange::Judge;
use crate::model::Permissions;

/// What a sandbox is started with.
#[derive(Clone)]
pub struct Options {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// What stands before every path of the API, such as `/api/v3`; usually empty.
    pub prefix: String,
    /// Where deliveries go. They are only logged while it is `None`.
    pub webhook: Option<String>,
    /// What deliveries are signed with.
    pub secret: String,
    /// The name of the app in addresses; its comments are written by `<slug>[bot]`.
    pub slug: String,
    /// What the app may.
    pub permissions: Permissions,
    /// The keys that its JWTs are checked with, in PEM. All of them are in force.
    pub public_keys: Vec<String>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What ids, tokens and chances come from.
    pub seed: u64,
    /// Who judges requests and answers.
    pub judge: Option<Judge>,
    /// The `PATH` that git is looked for in; that of this process where it is `None`.
    pub path: Option<std::ffi::OsString>,
}

impl Options {
    /// A free port, no prefix, no webhook, no judge, and an app with what the documentation asks for.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let permissions = [
            ("issues", "write"),
            ("pull_requests", "read"),
            ("checks", "write"),
            ("contents", "read"),
            ("metadata", "read"),
            ("statuses", "read"),
        ];
        Self {
            port: 0,
            prefix: String::new(),
            webhook: None,
            secret: "a secret of the sandbox".to_owned(),
            slug: "zephyr-ab".to_owned(),
            permissions: permissions.map(|(what, level)| (what.to_owned(), level.to_owned())).into(),
            public_keys: vec![crate::PUBLIC_KEY.to_owned()],
            clock,
            seed: 1,
            judge: None,
            path: None,
        }
    }
}
