//! Files beside which a step ran. A step runs as the same user, so that anything may stand where an answer belongs: a
//! link to a file of the user, or a pipe that nobody reads.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Makes a file where nothing stands yet, in a folder whose path leads through no link.
///
/// # Errors
/// Something stands there, the folder is reached through a link, or the system said no.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let foreign = |what: &Path, why: &str| io::Error::other(format!("{} {why}", what.display()));
    let folder = path.parent().unwrap_or(path);
    if !is_itself(folder) {
        return Err(foreign(folder, "is not the folder that was made for it"));
    }
    // `O_EXCL`, which follows no link and waits for nobody.
    File::create_new(path).map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => foreign(path, "is there already, and not made by this trial"),
        _ => why,
    })
}

/// Opens a regular file for reading, and nothing else.
///
/// # Errors
/// It is none, or the system said no.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a pipe would wait for who writes to it.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// Whether a folder is there and no part of its path is a link.
pub(crate) fn is_itself(folder: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|real| real == folder) && folder.is_dir()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_foreign_is_written_or_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("answers")).unwrap();
        fs::write(root.join("victim"), "mine").unwrap();
        let at = |name: &str| root.join("answers").join(name);
        symlink(root.join("victim"), at("link")).unwrap();
        symlink(root.join("nothing"), at("dangling")).unwrap();
        fs::hard_link(root.join("victim"), at("hard")).unwrap();
        symlink(root.join("answers"), root.join("other")).unwrap();
        for name in ["link", "dangling", "hard"] {
            let why = create(&at(name)).unwrap_err().to_string();
            assert!(why.ends_with("is there already, and not made by this trial"), "{why}");
        }
        let why = create(&root.join("other/new")).unwrap_err().to_string();
        assert!(why.ends_with("other is not the folder that was made for it"), "{why}");
        assert!(!root.join("nothing").exists() && !at("new").exists());
        assert_eq!(fs::read(root.join("victim")).unwrap(), b"mine");
        create(&at("new")).unwrap();
        assert!(open(&at("new")).is_ok());
        for name in ["link", "dangling", "missing", "."] {
            assert!(open(&at(name)).is_err(), "{name}");
        }
    }
}
