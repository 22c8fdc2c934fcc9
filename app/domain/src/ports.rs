//! What the engine needs from the world, as traits. Implementations may write `async fn`.
//!
//! [`clock`] tells and waits for the time, [`lab`] runs trials, [`records`] is the evidence folder, and [`store`] is
//! where subjects, effects and looks are written down. A port never decides: it answers, and the machines decide.

pub mod clock;
pub mod lab;
pub mod records;
pub mod store;

pub use clock::Clock;
pub use lab::{Answer, Cause, Collected, End, JobState, Lab, Submitted, Unreachable};
pub use records::{
    Alive, Counted, Decided, Discard, Ending, Failure, Fate, How, Judged, Look, LookKind, Records, RecordsError,
    Sealed, TrialFate,
};
pub use store::{Committed, LookKey, LookRow, Store, StoreError, StoredEffect, Subject, Write};
