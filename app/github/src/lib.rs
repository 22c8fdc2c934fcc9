//! The forge port, spoken to GitHub.
