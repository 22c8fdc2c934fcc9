//! What a program needs to connect to a sandbox.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::state::State;
use crate::{Error, PRIVATE_KEY};

/// What a program needs to connect to a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The address of the API, with the prefix.
    pub api: String,
    /// The address of pages, and of repositories: `<web>/<owner>/<name>.git`.
    pub web: String,
    /// The address of the control.
    pub control: String,
    /// The number of the app.
    pub app_id: u64,
    /// Its name in addresses.
    pub slug: String,
    /// The login and the number of the account that it writes as.
    pub bot: (String, u64),
    /// What deliveries are signed with.
    pub secret: String,
    /// Where they go.
    pub webhook: Option<String>,
    /// Installations and their accounts.
    pub installations: Vec<(u64, String)>,
    /// The private key of the app, once it was written.
    pub key_file: Option<PathBuf>,
    /// The secret as a file, once it was written.
    pub secret_file: Option<PathBuf>,
}

impl Settings {
    pub(crate) fn of(state: &State) -> Self {
        let bot = state.bot();
        let id = state.users.get(&bot).map_or(0, |user| user.id);
        Self {
            api: state.api(),
            web: state.web.clone(),
            control: format!("{}/_sandbox", state.web),
            app_id: state.app.id,
            slug: state.app.slug.clone(),
            bot: (bot, id),
            secret: state.app.secret.clone(),
            webhook: state.app.webhook.clone(),
            installations: state.installations.values().map(|i| (i.id, i.account.clone())).collect(),
            key_file: None,
            secret_file: None,
        }
    }

    /// Writes the private key and the secret to files that only their owner reads, in a folder that is made.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder or a file cannot be written.
    pub fn write_to(&mut self, folder: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(folder)?;
        let key = folder.join("app.pem");
        write(&key, PRIVATE_KEY)?;
        let secret = folder.join("webhook-secret");
        write(&secret, &self.secret)?;
        self.key_file = Some(key);
        self.secret_file = Some(secret);
        Ok(())
    }
}

/// Writes a file that only its owner reads.
fn write(file: &Path, text: &str) -> Result<(), Error> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok(options.open(file)?.write_all(text.as_bytes())?)
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path =
            |path: &Option<PathBuf>| path.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        let mut line = |name: &str, value: &str| writeln!(f, "{name:<16}{value}");
        line("pages", &self.web)?;
        line("api", &self.api)?;
        line("git", &format!("{}/<owner>/<name>.git", self.web))?;
        line("app id", &self.app_id.to_string())?;
        line("app slug", &self.slug)?;
        line("private key", &path(&self.key_file))?;
        line("webhook secret", &format!("{} (in {})", self.secret, path(&self.secret_file)))?;
        line("webhook", self.webhook.as_deref().unwrap_or("-"))?;
        for (id, account) in &self.installations {
            line("installation", &format!("{id} at {account}"))?;
        }
        Ok(())
    }
}
