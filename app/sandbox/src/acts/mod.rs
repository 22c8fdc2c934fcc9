//! What happens in a sandbox, and what the webhook is told of it.

mod apps;
mod checks;
mod comments;
pub(crate) mod labels;
mod pulls;
mod repos;
