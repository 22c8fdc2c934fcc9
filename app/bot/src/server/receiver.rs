//! What stores deliveries.

use std::future::Future;

use domain::ports::desk::Delivery;
use domain::ports::{Desk, StoreError};

/// Stores deliveries. Every [`Desk`] that can be shared is one.
pub trait Receiver: Clone + Send + Sync + 'static {
    /// Stores a delivery. `false` where it is known: then nothing changes. What returned is on stable storage.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn receive(&self, delivery: Delivery) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Whether the store answers and can be written to.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn alive(&self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl<D: Desk + Clone + Send + Sync + 'static> Receiver for D {
    async fn receive(&self, delivery: Delivery) -> Result<bool, StoreError> {
        Desk::receive(self, delivery).await
    }

    async fn alive(&self) -> Result<(), StoreError> {
        Desk::alive(self).await
    }
}
