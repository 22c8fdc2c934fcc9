//! A sandbox as a program sees it: over HTTP and git.

#[cfg(test)]
mod all;
