//! A small stateful GitHub on loopback.
