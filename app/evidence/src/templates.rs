//! The templates that a comment is made with, and their digest.

use std::path::Path;

use domain::ids::Digest;
use report::{RenderError, Renderer};

/// The files that make a comment, by name.
const FILES: [(&str, &str); 3] = [
    ("comment.hbs", include_str!("../../../templates/comment.hbs")),
    ("table.hbs", include_str!("../../../templates/table.hbs")),
    ("words.txt", include_str!("../../../templates/words.txt")),
];

/// Templates with the digest that evidence.json names them by.
pub struct Templates {
    pub(crate) renderer: Renderer,
    digest: Digest,
}

impl Templates {
    /// Those that are built in.
    ///
    /// # Errors
    /// Never with the built-in ones.
    pub fn built_in() -> Result<Self, RenderError> {
        Ok(Self { renderer: Renderer::new()?, digest: digest(|_| Ok(None))? })
    }

    /// With the files of `folder` in place of the built-in ones of the same name.
    ///
    /// # Errors
    /// Those of [`Renderer::with_folder`].
    pub fn from_folder(folder: &Path) -> Result<Self, RenderError> {
        let renderer = Renderer::with_folder(folder)?;
        let digest = digest(|name| {
            let path = folder.join(name);
            match std::fs::read(&path) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(source) => Err(RenderError::Read { file: path.display().to_string(), source }),
            }
        })?;
        Ok(Self { renderer, digest })
    }

    /// What the texts are made with.
    #[must_use]
    pub fn renderer(&self) -> &Renderer {
        &self.renderer
    }

    /// SHA-256 over the names and contents of the files, each with its length.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }
}

fn digest(instead: impl Fn(&str) -> Result<Option<Vec<u8>>, RenderError>) -> Result<Digest, RenderError> {
    let mut all = Vec::new();
    for (name, built_in) in FILES {
        let content = instead(name)?.unwrap_or_else(|| built_in.as_bytes().to_vec());
        all.extend_from_slice(format!("{name} {}\n", content.len()).as_bytes());
        all.extend_from_slice(&content);
    }
    Ok(Digest::of(&all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_word_is_another_digest() {
        let built_in = Templates::built_in().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let same = Templates::from_folder(folder.path()).unwrap();
        assert_eq!(same.digest(), built_in.digest());
        std::fs::write(folder.path().join("words.txt"), "footer.evidence = proof {{digest}}\n").unwrap();
        let other = Templates::from_folder(folder.path()).unwrap();
        assert_ne!(other.digest(), built_in.digest());
    }
}
