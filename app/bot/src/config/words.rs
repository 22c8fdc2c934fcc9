//! What is said of a file that is no configuration.

/// The message without the value that it is about: where something is amiss a secret may stand.
pub(super) fn without_value(message: &str) -> String {
    match message.split_once(", expected ") {
        Some((found, expected)) if !found.starts_with("unknown field") => {
            let kind = found.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            format!("{} value, expected {expected}", kind.trim_end_matches(':').split(' ').next().unwrap_or("invalid"))
        }
        Some(_) => message.to_owned(),
        // Without an expectation it repeats nothing but names.
        None => message.split('"').step_by(2).collect::<Vec<_>>().join("..."),
    }
}

/// The nearest of what the message says is allowed.
pub(super) fn near(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((found, allowed)) if message.starts_with("unknown field") => {
            nearest(found, allowed).map_or(String::new(), |near| format!("; nearest: {near}"))
        }
        _ => String::new(),
    }
}

/// The nearest of some words, where one is near.
pub(super) fn nearest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    let scored = known.iter().map(|known| (strsim::jaro_winkler(word, known), *known));
    scored.filter(|(score, _)| *score >= 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
