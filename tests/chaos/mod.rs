//! What benchmarks, people and machines do to a run. Whatever it is: nothing lives on, nothing lies around, the reason is
//! named, and the folder has what was measured.

mod disk;
mod ended;
mod steps;
