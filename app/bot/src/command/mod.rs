//! One room per subcommand: its arguments, and a function that runs it.

pub mod judge;
pub mod power;
pub mod simulate;
