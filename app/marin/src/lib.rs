//! Client of the Iris job controller and of the Finelog store beside it.
//!
//! Both speak the Connect protocol; this crate speaks it as JSON over HTTP POST and needs no generated code.
//! The rooms: [`iris`] launches, follows and ends jobs; [`finelog`] reads tables (Arrow) and logs; [`sql`] makes the
//! only texts [`finelog`] accepts as queries; [`ids`] are names that were checked; [`wire`] holds what JSON of
//! protocol buffers looks like (64-bit integers as text, enums by name); [`transport`] carries one call, [`retry`]
//! decides when it is repeated, [`auth`] what headers it carries; [`error`] is how it fails.
//!
//! What a newer server adds survives: unknown fields are kept in `other`, unknown enum values in `Other`. What an
//! older server lacks is not sent to it: [`iris::Capabilities`] is learnt once. Time, waiting and jitter come from
//! the [`retry::Clock`] that the caller passes in. Text in answers (errors, log lines, names) is whatever a job
//! printed and is to be treated as hostile.

pub mod auth;
pub mod error;
pub mod finelog;
pub mod ids;
pub mod iris;
pub mod retry;
pub mod sql;
pub mod transport;
pub mod wire;

pub use auth::Login;
pub use error::{Code, Error};
pub use finelog::Finelog;
pub use ids::{ExecutionId, JobId, TaskId};
pub use iris::Iris;
pub use retry::{Clock, RetryPolicy};
pub use transport::{Limits, Transport};
