//! What happens in a sandbox, and what the webhook is told of it.

mod apps;
mod checks;
mod comments;
mod pulls;
mod repos;
