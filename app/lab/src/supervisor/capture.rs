//! What a step prints, kept up to a limit.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The first and the last bytes of an output; what is between them is only counted.
#[derive(Debug, Default)]
pub(super) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl Kept {
    pub(super) fn new(bytes: usize) -> Self {
        Self { half: bytes / 2, ..Self::default() }
    }

    fn push(&mut self, mut chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let room = (self.half - self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..room]);
        chunk = &chunk[room..];
        chunk = &chunk[chunk.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + chunk.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(chunk);
    }

    /// Bytes of the whole output.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that were not kept.
    pub(super) fn dropped(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The end of the output, and whether that is all of it.
    pub(super) fn end(&self) -> (Vec<u8>, bool) {
        let whole = self.dropped() == 0;
        let head: &[u8] = if whole { &self.head } else { &[] };
        (head.iter().chain(&self.tail).copied().collect(), whole)
    }

    /// Writes what was kept, with a line of its own where something is missing.
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.head)?;
        if self.dropped() > 0 {
            write!(to, "\n[... {} bytes are not kept ...]\n", self.dropped())?;
        }
        let (one, other) = self.tail.as_slices();
        to.write_all(one)?;
        to.write_all(other)?;
        to.flush()
    }
}

/// Reads to the end, into memory that others can look at meanwhile.
pub(super) fn listen(mut from: impl Read, kept: &Arc<Mutex<Kept>>) {
    let mut chunk = vec![0; 1 << 16];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => kept.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..count]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(kept: &Kept) -> Vec<u8> {
        let mut bytes = Vec::new();
        kept.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn head_and_tail() {
        let mut kept = Kept::new(8);
        kept.push(b"abcdef");
        assert_eq!((written(&kept), kept.end()), (b"abcdef".to_vec(), (b"abcdef".to_vec(), true)));
        kept.push(b"gh");
        assert_eq!(kept.end(), (b"abcdefgh".to_vec(), true));
        kept.push(b"ijklmnopq");
        assert_eq!(written(&kept), b"abcd\n[... 9 bytes are not kept ...]\nnopq");
        assert_eq!((kept.end(), kept.total()), ((b"nopq".to_vec(), false), 17));
    }

    proptest! {
        #[test]
        fn any_chunks_give_the_same(text in prop::collection::vec(any::<u8>(), 0..200), sizes in prop::collection::vec(1_usize..40, 1..20), half in 0_usize..40) {
            let mut kept = Kept::new(2 * half);
            let mut rest = text.as_slice();
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                kept.push(chunk);
                rest = after;
            }
            let all = text.len();
            prop_assert_eq!(kept.total(), all as u64);
            prop_assert_eq!(kept.dropped(), all.saturating_sub(2 * half) as u64);
            let (end, whole) = kept.end();
            prop_assert_eq!(whole, all <= 2 * half);
            prop_assert_eq!(&end[..], if whole { &text[..] } else { &text[all - half..] });
        }
    }
}
