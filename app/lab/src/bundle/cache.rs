//! What was compressed before, by object.

use std::collections::HashMap;
use std::sync::Arc;

use super::zip::Packed;

/// Bytes of compressed files that are kept: ten of the largest bundles.
const PACKED_BYTES: u64 = 256 << 20;
/// Bytes of the targets of links, and of texts that rules are in.
const TEXT_BYTES: usize = 16 << 20;

/// Compressed files, and small objects as they are.
#[derive(Debug, Default)]
pub(super) struct Cache {
    packed: HashMap<String, Kept>,
    bytes: u64,
    /// How many bundles were made.
    now: u64,
    texts: HashMap<String, Arc<[u8]>>,
    text_bytes: usize,
}

#[derive(Debug)]
struct Kept {
    file: Arc<Packed>,
    /// The bundle that it was last a part of.
    used: u64,
}

impl Cache {
    /// Another bundle is about to be made.
    pub(super) fn next(&mut self) {
        self.now += 1;
    }

    /// A file that was compressed before.
    pub(super) fn packed(&mut self, object: &str) -> Option<Arc<Packed>> {
        let kept = self.packed.get_mut(object)?;
        kept.used = self.now;
        Some(Arc::clone(&kept.file))
    }

    /// Keeps a file.
    pub(super) fn keep(&mut self, object: &str, file: Arc<Packed>) {
        self.bytes += file.memory();
        let kept = Kept { file, used: self.now };
        if let Some(before) = self.packed.insert(object.to_owned(), kept) {
            self.bytes -= before.file.memory();
        }
    }

    /// Drops what has not been used for longest, until the rest is small enough.
    pub(super) fn trim(&mut self) {
        self.trim_to(PACKED_BYTES);
    }

    fn trim_to(&mut self, most: u64) {
        while self.bytes > most {
            let Some(oldest) = self.packed.values().map(|kept| kept.used).min() else { return };
            let bytes = &mut self.bytes;
            self.packed.retain(|_, kept| {
                let stays = kept.used > oldest;
                *bytes -= if stays { 0 } else { kept.file.memory() };
                stays
            });
        }
    }

    /// A small object that was read before.
    pub(super) fn text(&self, object: &str) -> Option<Arc<[u8]>> {
        self.texts.get(object).map(Arc::clone)
    }

    /// Keeps a small object.
    pub(super) fn keep_text(&mut self, object: &str, text: Arc<[u8]>) {
        // An overhead for each, so that a million empty ones have a limit too.
        self.text_bytes += text.len() + 200;
        if self.text_bytes > TEXT_BYTES {
            self.texts.clear();
            self.text_bytes = text.len() + 200;
        }
        self.texts.insert(object.to_owned(), text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::zip::Packer;
    use super::*;

    fn file(content: &[u8]) -> Arc<Packed> {
        Arc::new(Packer::new().held(content).unwrap())
    }

    #[test]
    fn what_was_used_last_stays() {
        let mut cache = Cache::default();
        cache.next();
        for object in ["a", "b", "c"] {
            cache.keep(object, file(object.as_bytes()));
        }
        // Kept twice, counted once.
        cache.keep("a", file(b"a"));
        assert_eq!(cache.bytes, 3 * file(b"a").memory());
        cache.next();
        assert!(cache.packed("b").is_some() && cache.packed("x").is_none());
        cache.trim();
        assert_eq!(cache.packed.len(), 3);
        cache.trim_to(2 * file(b"a").memory());
        assert!(cache.packed("a").is_none() && cache.packed("c").is_none());
        assert!(cache.packed("b").is_some());
        assert_eq!(cache.bytes, file(b"b").memory());
        cache.trim_to(0);
        assert_eq!((cache.bytes, cache.packed.len()), (0, 0));
    }

    #[test]
    fn texts_have_a_limit() {
        let mut cache = Cache::default();
        for n in 0..40 {
            cache.keep_text(&n.to_string(), Arc::from(vec![0; 1 << 20]));
        }
        assert!(cache.texts.len() < 16 && cache.text("39").is_some() && cache.text("0").is_none());
    }
}
