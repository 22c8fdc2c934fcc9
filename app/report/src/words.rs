//! The phrases: one file of `key = text` lines, with `{{name}}` where a value goes.

use std::collections::BTreeMap;

use handlebars::Handlebars;
use serde_json::Value;

use crate::renderer::RenderError;

/// Name of the file of phrases.
pub(crate) const FILE: &str = "words.txt";

/// The phrases by key.
pub(crate) struct Words {
    phrases: Handlebars<'static>,
}

impl Words {
    /// Reads `text`, and over it the phrases of `overlay`: the name and the text of a file of the same form. Without
    /// the asterisks of Markdown, and with quotes in place of its backticks, where `plain`.
    pub(crate) fn new(text: &str, overlay: Option<(&str, &str)>, plain: bool) -> Result<Self, RenderError> {
        let mut all = parse(FILE, text)?;
        if let Some((file, text)) = overlay {
            for (key, (line, phrase)) in parse(file, text)? {
                if !all.contains_key(&key) {
                    let near = nearest(&key, all.keys().map(String::as_str));
                    let problem = format!("line {line}: no phrase is named `{key}`; the nearest is `{near}`");
                    return Err(RenderError::Template { file: file.to_owned(), problem });
                }
                all.insert(key, (line, phrase));
            }
        }
        let file = overlay.map_or(FILE, |(file, _)| file);
        let mut phrases = Handlebars::new();
        phrases.set_strict_mode(true);
        phrases.register_escape_fn(handlebars::no_escape);
        for (key, (line, phrase)) in all {
            let phrase = if plain { phrase.replace('*', "").replace('`', "'") } else { phrase };
            phrases
                .register_template_string(&key, phrase)
                .map_err(|e| RenderError::Template { file: file.to_owned(), problem: format!("line {line}: {e}") })?;
        }
        Ok(Self { phrases })
    }

    /// The phrase `key` with `values`.
    pub(crate) fn say(&self, key: &str, values: &Value) -> Result<String, RenderError> {
        self.phrases
            .render(key, values)
            .map_err(|e| RenderError::Template { file: FILE.to_owned(), problem: format!("{key}: {e}") })
    }

    /// Whether there is a phrase `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.phrases.has_template(key)
    }

    /// The phrase `key`, which takes no values.
    pub(crate) fn get(&self, key: &str) -> Result<String, RenderError> {
        self.say(key, &Value::Object(serde_json::Map::new()))
    }
}

fn parse(file: &str, text: &str) -> Result<BTreeMap<String, (usize, String)>, RenderError> {
    let mut phrases = BTreeMap::new();
    for (i, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong =
            |problem: &str| RenderError::Template { file: file.to_owned(), problem: format!("line {i}: {problem}") };
        let (key, phrase) = line.split_once(" = ").ok_or_else(|| wrong("expected `key = text`"))?;
        if phrases.insert(key.trim().to_owned(), (i, phrase.trim().to_owned())).is_some() {
            return Err(wrong(&format!("`{key}` stands here a second time")));
        }
    }
    Ok(phrases)
}

/// The key that shares the longest beginning and end with `key`.
fn nearest<'a>(key: &str, keys: impl Iterator<Item = &'a str>) -> &'a str {
    let common = |other: &str| {
        let front = key.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let back = key.chars().rev().zip(other.chars().rev()).take_while(|(a, b)| a == b).count();
        front + back
    };
    keys.max_by_key(|other| common(other)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_and_line() {
        let problem = |overlay| {
            Words::new("a.b = x **{{n}}**", Some(("mine/words.txt", overlay)), false).err().unwrap().to_string()
        };
        assert_eq!(
            problem("# mine\n\na.c = y"),
            "mine/words.txt: line 3: no phrase is named `a.c`; the nearest is `a.b`"
        );
        assert_eq!(problem("a.b y"), "mine/words.txt: line 1: expected `key = text`");
        assert!(problem("a.b = {{#if}}").starts_with("mine/words.txt: line 1: "));
        let words = Words::new("a.b = x {{n}}", Some(("w", "a.b = **y** `z` {{n}}")), true).unwrap();
        assert_eq!(words.say("a.b", &serde_json::json!({"n": 1})).unwrap(), "y 'z' 1");
        assert!(words.get("a.b").is_err());
    }
}
