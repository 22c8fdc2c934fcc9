//! The body of a request, as bytes, in bounded room.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Largest delivery, bytes.
pub const LARGEST: usize = 25 << 20;
/// Of a body that is too large this much more is read, for nothing: who is still sending does not hear the answer.
const UNHEARD: u64 = 25 << 20;
/// Units of room for all bodies that are being read at once: before a signature is verified anybody may send.
pub(super) const ROOM: usize = 256 << 10;
/// Bytes of one unit.
const UNIT: usize = 1 << 10;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is larger than [`LARGEST`].
    TooLarge,
    /// There is no room for it now.
    NoRoom,
    /// The sender stopped in the middle.
    Broken,
}

/// Reads a body. The room that it takes is given back when what is returned is dropped.
pub(super) async fn read(mut body: Body, room: &Semaphore) -> Result<(Vec<u8>, SemaphorePermit<'_>), Unread> {
    let mut bytes = Vec::new();
    let mut permit = room.try_acquire_many(1).map_err(|_| Unread::NoRoom)?;
    if body.size_hint().lower() > LARGEST as u64 {
        drain(body).await;
        return Err(Unread::TooLarge);
    }
    while let Some(data) = next(&mut body).await? {
        if bytes.len() + data.len() > LARGEST {
            drop(bytes);
            drain(body).await;
            return Err(Unread::TooLarge);
        }
        let units = (bytes.len() + data.len()).div_ceil(UNIT);
        if let Ok(more) = u32::try_from(units.saturating_sub(permit.num_permits())) {
            permit.merge(room.try_acquire_many(more).map_err(|_| Unread::NoRoom)?);
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, permit))
}

/// Reads on until the end or until it is enough.
pub(super) async fn drain(mut body: Body) {
    let mut left = LARGEST as u64 + UNHEARD;
    while let Ok(Some(data)) = next(&mut body).await
        && left > 0
    {
        left = left.saturating_sub(data.len() as u64);
    }
}

async fn next(body: &mut Body) -> Result<Option<axum::body::Bytes>, Unread> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
            None => return Ok(None),
            Some(Err(_)) => return Err(Unread::Broken),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn room_is_taken_while_a_body_is_held_and_no_longer() {
        let room = Semaphore::new(5);
        let (bytes, held) = read(Body::from(vec![1; 3000]), &room).await.unwrap();
        assert_eq!((bytes.len(), room.available_permits()), (3000, 2));
        assert_eq!(read(Body::from(vec![1; 3000]), &room).await.unwrap_err(), Unread::NoRoom);
        assert_eq!(room.available_permits(), 2);
        let (small, also) = read(Body::empty(), &room).await.unwrap();
        assert!(small.is_empty());
        drop((held, also));
        assert_eq!(room.available_permits(), 5);
    }

    #[tokio::test]
    async fn the_largest_is_read_and_no_larger_one() {
        let room = Semaphore::new(ROOM);
        assert_eq!(read(Body::from(vec![0; LARGEST]), &room).await.unwrap().0.len(), LARGEST);
        assert_eq!(read(Body::from(vec![0; LARGEST + 1]), &room).await.unwrap_err(), Unread::TooLarge);
        assert_eq!(room.available_permits(), ROOM);
    }
}
