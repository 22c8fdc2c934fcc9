//! The words of an A/B comparison.
//!
//! [`ids`] parses every name that comes from outside. [`record`] is one measured stage of one execution; [`steps`]
//! says which row it belongs to, [`tally`] sums, and [`assemble`] turns the records of all trials into rows that every
//! trial resolves alike. [`arms`] are what is compared, [`rounds`] in which order and under which job names, and
//! [`case`] puts counted trials together for `stats::judge`. [`workload`] is what must be equal between arms
//! ([`setting`] its values, [`bytesize`] its sizes) and [`comparability`] says whether it was. [`view`] is a run as
//! readers see it. [`command`] is a line of a comment and [`request`] what it asks for in pairs of key and value,
//! [`plan`] what is decided before a run starts, [`scope`] what kind of change it is about, [`machine`] how run and trials
//! move, [`pull`] how a pull request moves, and [`ports`] what the engine needs from the world. [`budget`] is what may be
//! spent and who goes first, [`retry`] what a run takes over from one that came to no verdict, [`time`] a point in time,
//! [`calibration`] what is known of the noise. Time and randomness are arguments; nothing here reads a file or a clock.

pub mod arms;
pub mod assemble;
pub mod budget;
pub mod bytesize;
pub mod calibration;
pub mod case;
pub mod command;
pub mod comparability;
pub mod ids;
pub mod machine;
pub mod plan;
pub mod ports;
pub mod pull;
pub mod record;
pub mod request;
pub mod retry;
pub mod rounds;
pub mod scope;
pub mod setting;
pub mod steps;
pub mod tally;
pub mod time;
pub mod view;
pub mod workload;

/// The verdict and its types, for the floors that know it through these words only.
pub use stats;
