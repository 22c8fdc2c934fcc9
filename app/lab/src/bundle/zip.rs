//! The container: each file is compressed once into an archive of its own, and a bundle is put together from those.

use std::io::{self, Cursor, Read, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::BundleError;

/// What the compressor is given at once. What it makes of a file may depend on that, so that it is the same for all.
const CHUNK: usize = 64 << 10;
/// Bytes of an entry besides its content and twice its name: one head before the content, one in the directory.
pub(super) const ENTRY: u64 = 30 + 46;
/// Bytes of the end of the directory. Past 65,535 entries it has 76 more, which no limit hangs on.
pub(super) const END: u64 = 22;

/// A compressed file.
#[derive(Debug)]
pub(super) struct Packed {
    /// A zip archive with the file as its only entry; nothing where it would have been of no use.
    archive: Box<[u8]>,
    /// Compressed bytes.
    pub(super) bytes: u64,
    /// Bytes of the file.
    pub(super) plain: u64,
}

impl Packed {
    /// Compresses what is read from `content`.
    ///
    /// # Errors
    /// Reading failed.
    pub(super) fn of(content: &mut dyn Read, executable: bool) -> Result<Self, BundleError> {
        // No time of any clock, and no mode but the two of git.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(6))
            .last_modified_time(DateTime::DEFAULT)
            .unix_permissions(if executable { 0o755 } else { 0o644 });
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("x", options).map_err(broken)?;
        let mut plain = 0;
        let mut chunk = Vec::new();
        loop {
            chunk.clear();
            let read = (&mut *content).take(CHUNK as u64).read_to_end(&mut chunk).map_err(broken)?;
            writer.write_all(&chunk).map_err(broken)?;
            plain += read as u64;
            if read < CHUNK {
                break;
            }
        }
        let archive = writer.finish().map_err(broken)?.into_inner().into_boxed_slice();
        // What is not compressed bytes is known: head, directory and its end, with a name of one byte.
        let bytes = (archive.len() as u64).saturating_sub(ENTRY + 2 + END);
        Ok(Self { archive, bytes, plain })
    }

    /// The sizes alone.
    pub(super) fn without_content(self) -> Self {
        Self { archive: Box::default(), ..self }
    }

    /// Whether it can be a part of a bundle.
    pub(super) fn has_content(&self) -> bool {
        !self.archive.is_empty()
    }

    /// Bytes of memory, about.
    pub(super) fn memory(&self) -> u64 {
        self.archive.len() as u64 + 200
    }
}

/// Puts a bundle together; `bytes` is how large it will be.
///
/// # Errors
/// The writer found something wrong, such as two entries of one name.
pub(super) fn assemble<'f>(
    files: impl Iterator<Item = (&'f str, &'f Packed)>,
    bytes: u64,
) -> Result<Vec<u8>, BundleError> {
    let room = usize::try_from(bytes).unwrap_or_default();
    let mut writer = ZipWriter::new(Cursor::new(Vec::with_capacity(room)));
    for (name, file) in files {
        let mut archive = ZipArchive::new(Cursor::new(&file.archive[..])).map_err(broken)?;
        let entry = archive.by_index_raw(0).map_err(broken)?;
        writer.raw_copy_file_rename(entry, name).map_err(broken)?;
    }
    Ok(writer.finish().map_err(broken)?.into_inner())
}

fn broken(why: impl Into<io::Error>) -> BundleError {
    BundleError::Zip(why.into().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_known_before() {
        let noise: Vec<u8> = (0_u32..200_000).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
        let same = vec![7; 200_000];
        let files: Vec<(&str, Packed)> = [("a", &b""[..]), ("caf\u{e9}/b", b"b"), ("c", &noise), ("d", &same)]
            .into_iter()
            .map(|(name, content)| (name, Packed::of(&mut &*content, name == "c").unwrap()))
            .collect();
        let sizes = files.iter().map(|(name, file)| ENTRY + 2 * name.len() as u64 + file.bytes);
        let bytes = sizes.sum::<u64>() + END;
        let whole = assemble(files.iter().map(|(name, file)| (*name, file)), bytes).unwrap();
        assert_eq!(whole.len() as u64, bytes);
        assert_eq!((files[0].1.plain, files[2].1.plain, files[3].1.bytes < 1000), (0, 200_000, true));
        let twice = files.iter().take(1).chain(&files[..1]).map(|(name, file)| (*name, file));
        assert!(matches!(assemble(twice, 0), Err(BundleError::Zip(_))));
    }

    #[test]
    fn reading_in_pieces_makes_no_difference() {
        struct Dribble<'d>(&'d [u8]);
        impl Read for Dribble<'_> {
            fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
                let most = room.len().min(self.0.len() % 1000 + 1);
                self.0.read(&mut room[..most])
            }
        }
        let text: Vec<u8> =
            (0..300_000_u32).flat_map(|n| ((n % 40_000).pow(2) % 977).to_string().into_bytes()).collect();
        let whole = Packed::of(&mut text.as_slice(), false).unwrap();
        let pieces = Packed::of(&mut Dribble(&text), false).unwrap();
        assert_eq!((whole.archive, whole.plain), (pieces.archive, text.len() as u64));
    }
}
