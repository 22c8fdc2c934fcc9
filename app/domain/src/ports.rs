//! What the engine needs from the world, as traits. Implementations may write `async fn`.
//!
//! [`clock`] tells and waits for the time, [`planner`] makes plans, [`lab`] runs trials, [`records`] is the evidence folder, [`store`] is
//! where subjects, effects and looks are written down, [`desk`] is what a service writes down besides, [`forge`] is
//! where pull requests live, and [`announce`] tells others of what happens. A port never decides: it answers, and the machines decide.

pub mod announce;
pub mod clock;
pub mod desk;
pub mod forge;
pub mod lab;
pub mod planner;
pub mod records;
pub mod store;

pub use announce::{Announcement, Announcer, Happening};
pub use clock::Clock;
pub use desk::Desk;
pub use forge::Forge;
pub use lab::{Answer, Cause, Collected, End, JobState, Lab, Submitted, Unreachable};
pub use planner::{Manners, NoPlan, Notify, Planner};
pub use records::{
    Alive, Counted, Decided, Discard, Ending, Failure, Fate, How, Judged, Look, LookKind, Records, RecordsError,
    Sealed, TrialFate,
};
pub use store::{Committed, LookKey, LookRow, Store, StoreError, StoredEffect, Subject, Write};
