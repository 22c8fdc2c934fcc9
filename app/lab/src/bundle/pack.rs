//! Reading and compressing what is not there yet: git unpacks the objects while threads compress them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::zip::{Packed, Packer};
use super::{BUNDLE_BYTES, BundleError, PLAIN_BYTES};
use crate::git::{GitError, Mirror, read_blobs};

/// Larger files are compressed while they are read and never held in memory.
const HELD: u64 = 2 << 20;
/// Bytes of files that are handed to a thread together: handing over each alone would cost more than compressing it.
const BATCH: usize = 256 << 10;
const THREADS: usize = 4;

/// A file to compress.
pub(super) struct Wanted<'w> {
    pub(super) object: &'w str,
    /// How often it is in the bundle.
    pub(super) times: u64,
}

/// What is in the bundle already.
pub(super) struct Sums {
    pub(super) packed: u64,
    pub(super) plain: u64,
}

type Batch = Vec<(usize, Vec<u8>)>;
type Made = Vec<(usize, Packed)>;

/// Compresses files, in their order. Once the bundle is too large, only sizes are kept.
///
/// # Errors
/// More than may be unpacked, which is noticed before its content is read, or git failed.
pub(super) fn pack(mirror: &Mirror, wanted: &[Wanted<'_>], sums: &Sums) -> Result<Vec<Arc<Packed>>, BundleError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let objects: Vec<&str> = wanted.iter().map(|file| file.object).collect();
    let total = AtomicU64::new(sums.packed);
    let counted = |at: usize, made: Packed| {
        let bytes = made.bytes.saturating_mul(wanted[at].times);
        let before = total.fetch_add(bytes, Ordering::Relaxed);
        (at, if before.saturating_add(bytes) > BUNDLE_BYTES { made.without_content() } else { made })
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let (give, taken) = sync_channel::<Batch>(threads);
    // Only the threads have it, so that giving fails where they are gone.
    let taken = Arc::new(Mutex::new(taken));
    let made = thread::scope(|scope| -> Result<Made, BundleError> {
        let work = |taken: &Mutex<Receiver<Batch>>| {
            let (mut packer, mut made) = (Packer::new(), Made::new());
            loop {
                let next = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(batch) = next else { return Ok(made) };
                for (at, content) in batch {
                    made.push(counted(at, packer.held(&content)?));
                }
            }
        };
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let taken = Arc::clone(&taken);
                scope.spawn(move || work(&taken))
            })
            .collect();
        drop(taken);

        let (mut packer, mut made) = (Packer::new(), Made::new());
        let mut plain = sums.plain;
        let (mut batch, mut size) = (Batch::new(), 0);
        let send = |batch: &mut Batch| {
            // A thread that is gone says below why.
            give.send(std::mem::take(batch)).map_err(|_| BundleError::Git(GitError::Stopped))
        };
        let read = read_blobs(mirror.git(), &objects, |at, bytes, content| {
            plain = plain.saturating_add(bytes.saturating_mul(wanted[at].times));
            within(plain)?;
            if bytes > HELD {
                made.push(counted(at, packer.read(content)?));
                return Ok(());
            }
            let mut held = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
            content.read_to_end(&mut held).map_err(|why| GitError::system("reading from git cat-file", &why))?;
            size += held.len() + 100;
            batch.push((at, held));
            if size >= BATCH {
                size = 0;
                send(&mut batch)?;
            }
            Ok(())
        });
        let read = read.and_then(|()| send(&mut batch));
        drop(give);
        for worker in workers {
            let done: Result<Made, BundleError> =
                worker.join().unwrap_or_else(|_| Err(BundleError::Zip("a thread is gone".to_owned())));
            made.extend(done?);
        }
        read.map(|()| made)
    })?;
    let mut files: Vec<Option<Arc<Packed>>> = wanted.iter().map(|_| None).collect();
    for (at, file) in made {
        files[at] = Some(Arc::new(file));
    }
    let files: Option<Vec<Arc<Packed>>> = files.into_iter().collect();
    files.ok_or_else(|| BundleError::Zip("a file is missing".to_owned()))
}

/// Refuses more than may be unpacked.
pub(super) fn within(plain: u64) -> Result<(), BundleError> {
    if plain > PLAIN_BYTES {
        return Err(BundleError::bounds("what is in the files of the commit", PLAIN_BYTES, "bytes"));
    }
    Ok(())
}
