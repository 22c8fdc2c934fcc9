use std::io::Cursor;

use proptest::prelude::*;
use zip::ZipArchive;

use super::*;

fn whole(files: &[(&str, bool, Packed)]) -> Vec<u8> {
    let entries = || files.iter().map(|(name, executable, file)| Entry { name, executable: *executable, file });
    let bytes = size(entries());
    let zip = assemble(entries(), bytes).unwrap();
    assert_eq!(zip.len() as u64, bytes);
    zip
}

proptest! {
    #[test]
    fn a_library_reads_what_is_written(
        contents in prop::collection::vec((prop::collection::vec(0_u8..9, 0..3000), any::<bool>()), 0..6)
    ) {
        let mut packer = Packer::new();
        let names = ["a", "a b/c", "caf\u{e9}/b", "d\\e", "-f", "\u{4e2d}"];
        let files: Vec<(&str, bool, Packed)> = names
            .iter()
            .zip(&contents)
            .map(|(name, (content, executable))| (*name, *executable, packer.held(content).unwrap()))
            .collect();
        let mut archive = ZipArchive::new(Cursor::new(whole(&files))).unwrap();
        prop_assert_eq!(archive.len(), contents.len());
        for (at, (content, executable)) in contents.iter().enumerate() {
            let mut file = archive.by_index(at).unwrap();
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            prop_assert_eq!(&read, content);
            prop_assert_eq!(file.name().unwrap().to_string(), names[at]);
            prop_assert_eq!(file.unix_mode(), Some(if *executable { 0o100_755 } else { 0o100_644 }));
            prop_assert_eq!(file.last_modified(), Some(zip::DateTime::DEFAULT));
        }
    }
}

#[test]
fn as_many_entries_as_there_are() {
    let file = Packer::new().held(b"x").unwrap();
    for count in [0, 65_534, 65_535, 65_536, 70_000] {
        let names: Vec<String> = (0..count).map(|n| format!("{n:05}")).collect();
        let entries = || names.iter().map(|name| Entry { name, executable: false, file: &file });
        let zip = assemble(entries(), size(entries())).unwrap();
        assert_eq!(zip.len() as u64, size(entries()));
        let archive = ZipArchive::new(Cursor::new(zip)).unwrap();
        assert_eq!(archive.len(), count);
    }
}

#[test]
fn what_has_no_content_is_not_written() {
    let file = Packer::new().held(b"x").unwrap().without_content();
    assert!(!file.has_content() && file.plain == 1);
    let entries = [Entry { name: "a", executable: false, file: &file }];
    assert!(matches!(assemble(entries.into_iter(), 0), Err(BundleError::Zip(_))));
}

/// Gives what it has in pieces of odd lengths.
struct Dribble<'d>(&'d [u8]);

impl Read for Dribble<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let most = room.len().min(self.0.len() % 1000 + 1);
        self.0.read(&mut room[..most])
    }
}

#[test]
fn neither_pieces_nor_what_came_before_make_a_difference() {
    let text: Vec<u8> = (0..300_000_u32).flat_map(|n| ((n % 40_000).pow(2) % 977).to_string().into_bytes()).collect();
    let noise: Vec<u8> = (0_u32..500_000).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    for content in [&b""[..], b"x", &text, &noise, &text[..CHUNK], &text[..2 * CHUNK]] {
        let (mut new, mut used) = (Packer::new(), Packer::new());
        used.held(&noise).unwrap();
        used.read(&mut &text[..]).unwrap();
        let held = [new.held(content).unwrap(), used.held(content).unwrap()];
        let read = [new.read(&mut &*content).unwrap(), used.read(&mut Dribble(content)).unwrap()];
        assert_eq!(held[0].content, held[1].content);
        assert_eq!(read[0].content, read[1].content);
        assert_eq!((held[0].crc, held[0].plain), (read[1].crc, content.len() as u64));
        let [_, read] = read;
        let mut archive = ZipArchive::new(Cursor::new(whole(&[("a", false, read)]))).unwrap();
        let mut unpacked = Vec::new();
        archive.by_index(0).unwrap().read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == content);
    }
}
