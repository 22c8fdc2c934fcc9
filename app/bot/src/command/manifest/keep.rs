//! The files of an app. They are made before the forge is asked: what it tells once must not be lost because a file is there
//! already or cannot be written.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use secrecy::ExposeSecret as _;

use super::exchange::Made;
use crate::config::USUAL;
use crate::failure::Failure;

const KEY: &str = "private-key.pem";
const SECRET: &str = "webhook-secret";

/// The files, empty. Dropped before they are written they are removed.
pub(super) struct Place {
    folder: PathBuf,
    files: Vec<(&'static str, File)>,
    written: bool,
}

impl Place {
    /// Makes the files, for their owner only.
    ///
    /// # Errors
    /// One is there already, or cannot be made.
    pub(super) fn reserve(folder: &Path) -> Result<Self, Failure> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder);
        made.with_context(|| folder.display().to_string())?;
        let mut place = Self { folder: folder.to_owned(), files: Vec::new(), written: false };
        for (name, mode) in [(KEY, 0o600), (SECRET, 0o600), (USUAL, 0o644)] {
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => place.files.push((name, file)),
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {
                    return Err(Failure::Usage(format!(
                        "{} is there already and stays as it is: name another folder with --out",
                        path.display()
                    )));
                }
                Err(why) => return Err(anyhow::Error::from(why).context(path.display().to_string()).into()),
            }
        }
        Ok(place)
    }

    /// Writes what belongs to the app. Returns the configuration.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(mut self, made: &Made, url: &str, web: &str, api: &str) -> Result<PathBuf, Failure> {
        // Half of them are better than none: a key is told once.
        self.written = true;
        for (name, file) in &mut self.files {
            let text = match *name {
                KEY => made.key.expose_secret().trim_end().to_owned() + "\n",
                SECRET => made.secret.expose_secret().to_owned() + "\n",
                _ => configuration(made, url, web, api),
            };
            let done = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
            done.with_context(|| self.folder.join(name).display().to_string())?;
        }
        Ok(self.folder.join(USUAL))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.written {
            for (name, _) in &self.files {
                // Empty files that stay are in the way, no more.
                drop(std::fs::remove_file(self.folder.join(name)));
            }
        }
    }
}

/// A configuration that a service can start with. One for a service on this machine that nobody else reaches, as beside the
/// sandbox, keeps everything beside it and runs the demo here.
fn configuration(made: &Made, url: &str, web: &str, api: &str) -> String {
    let here = listen(url);
    let listen = here.as_deref().unwrap_or("127.0.0.1:8080");
    let pause = if here.is_some() { "write_pause_ms = 0\n" } else { "" };
    let service = if here.is_some() {
        "[store]\nurl = \"sqlite:data/zephyr-ab.db\"\n\n[service]\ndata_dir = \"data\"\nsuites = [\"demo\"]\n\
         # Code of pull requests runs on this machine.\nlocal_backend = true\n"
    } else {
        "[service]\n# What can be asked for in pull requests: \"zephyr\" needs [clusters.marin]; \"demo\" runs on this host and \
         needs\n# local_backend = true.\nsuites = [\"zephyr\"]\n# Repositories that are served, such as \"octo/demo\"; all that \
         have the app installed where it is empty.\nrepositories = []\n"
    };
    format!(
        "# The app {slug}. Every key, with its default: config/zephyr-ab.example.toml of zephyr-ab.\n\
         [server]\nlisten = \"{listen}\"\npublic_url = \"{url}\"\n\n\
         [github]\napp_id = {id}\nslug = \"{slug}\"\nprivate_key_file = \"{KEY}\"\nwebhook_secret_file = \"{SECRET}\"\n\
         api_url = \"{api}\"\nweb_url = \"{web}\"\n{pause}\n{service}",
        slug = made.slug,
        id = made.id,
    )
}

/// Where a service on this machine listens that is reached without a proxy.
fn listen(url: &str) -> Option<String> {
    let address = url.strip_prefix("http://")?;
    address.parse::<std::net::SocketAddr>().ok().map(|address| address.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::config::Config;
    use crate::world::Secrets;

    fn made() -> Made {
        let key = include_str!("../../config/fixtures/rsa-pkcs1.pem");
        Made { id: 7, slug: "zephyr-ab".into(), key: key.into(), secret: "0123456789abcdef0123456789abcdef".into() }
    }

    #[test]
    fn what_is_written_is_a_configuration_and_secrets_that_only_the_owner_reads() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::reserve(&folder.path().join("etc")).unwrap();
        let config =
            place.write(&made(), "https://ab.example", "https://github.com", "https://api.github.com").unwrap();
        let mode =
            |name: &str| std::fs::metadata(folder.path().join("etc").join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(KEY), mode(SECRET)), (0o600, 0o600));
        let text = std::fs::read_to_string(&config).unwrap();
        insta::assert_snapshot!(text);
        let service = Config::load(Some(&config)).unwrap().service().unwrap();
        let secrets = service.secrets(&Secrets::default()).unwrap();
        assert_eq!(secrets.warnings, Vec::<String>::new());
        assert_eq!(secrets.webhook[0].expose_secret(), made().secret.expose_secret());
        assert_eq!(service.public_url.as_deref(), Some("https://ab.example"));
    }

    #[test]
    fn what_is_there_stays_and_what_was_not_needed_goes() {
        for taken in [KEY, SECRET, USUAL] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(taken), "mine").unwrap();
            let Err(why) = Place::reserve(folder.path()) else { panic!("{taken} was overwritten") };
            assert!(why.to_string().contains("stays as it is"), "{why}");
            assert_eq!(std::fs::read_to_string(folder.path().join(taken)).unwrap(), "mine");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        let folder = tempfile::tempdir().unwrap();
        drop(Place::reserve(folder.path()).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_service_that_nobody_else_reaches_keeps_everything_beside_its_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::reserve(folder.path()).unwrap();
        let sandbox = "http://127.0.0.1:4000";
        let config = place.write(&made(), "http://127.0.0.1:8080", sandbox, sandbox).unwrap();
        insta::assert_snapshot!(std::fs::read_to_string(&config).unwrap());
        let service = Config::load(Some(&config)).unwrap().service().unwrap();
        assert!(service.local_backend && service.data_dir == folder.path().join("data"));
    }

    #[test]
    fn where_a_service_listens() {
        assert_eq!(listen("http://127.0.0.1:9000").as_deref(), Some("127.0.0.1:9000"));
        assert_eq!(listen("http://localhost:9000"), None);
        assert_eq!(listen("https://ab.example"), None);
    }
}
