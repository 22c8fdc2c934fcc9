//! Which places of a comment stand inside an element of HTML.

use std::collections::BTreeMap;

/// Elements that have no end.
const VOID: [&str; 6] = ["br", "hr", "img", "input", "source", "wbr"];
/// Elements that hold what follows even where nobody ends them; others are then taken for a slip of the pen.
const HOLDING: [&str; 14] =
    ["blockquote", "code", "del", "details", "div", "dl", "kbd", "ol", "pre", "samp", "sub", "sup", "table", "ul"];

/// The tags of a comment in their order.
#[derive(Default)]
pub(super) struct Elements {
    /// Names, and whether the tag begins the element.
    tags: Vec<(String, bool)>,
}

impl Elements {
    /// Reads a piece of HTML.
    pub(super) fn read(&mut self, html: &str) {
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            rest = &rest[at + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                rest = comment.split_once("-->").map_or("", |(_, after)| after);
                continue;
            }
            let (begins, after) = rest.strip_prefix('/').map_or((true, rest), |after| (false, after));
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(after.len());
            let name = after[..end].to_ascii_lowercase();
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                continue;
            }
            rest = beyond(&after[end..]);
            if !VOID.contains(&name.as_str()) {
                self.tags.push((name, begins));
            }
        }
    }

    /// Where one is now.
    pub(super) fn place(&self) -> usize {
        self.tags.len()
    }

    /// Those of these things that no element holds which began before them. Each is given with its place, in order.
    pub(super) fn free<T: Copy>(&self, things: &[(T, usize)]) -> Vec<T> {
        let ends = self.tags.iter().enumerate().filter(|(_, (_, begins))| !begins);
        let last_end: BTreeMap<&str, usize> = ends.map(|(at, (name, _))| (name.as_str(), at)).collect();
        let holds =
            |name: &str, place: usize| HOLDING.contains(&name) || last_end.get(name).is_some_and(|end| *end >= place);
        let mut open: Vec<&str> = Vec::new();
        let mut read = 0;
        let mut free = Vec::new();
        for (thing, place) in things {
            for (at, (name, begins)) in self.tags.iter().enumerate().take(*place).skip(read) {
                if !*begins {
                    if let Some(at) = open.iter().rposition(|other| other == name) {
                        open.truncate(at);
                    }
                } else if holds(name, at) {
                    open.push(name);
                }
            }
            read = *place;
            if !open.iter().any(|name| holds(name, *place)) {
                free.push(*thing);
            }
        }
        free
    }
}

/// What follows the attributes of a tag.
fn beyond(text: &str) -> &str {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return &text[at..],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(before: &str, after: &str) -> bool {
        let mut elements = Elements::default();
        elements.read(before);
        let place = elements.place();
        elements.read(after);
        elements.free(&[((), place)]).is_empty()
    }

    #[test]
    fn elements_hold_what_stands_between_their_tags() {
        for (before, after, expected) in [
            ("<b>", "</b>", true),
            ("<B class='>'>", "</b>", true),
            ("<b></b>", "</b>", false),
            ("<b>", "", false),
            ("<details><summary>x</summary>", "", true),
            ("<div><p></div>", "</p>", false),
            ("<br><img src=x>", "</br>", false),
            ("<!-- <b> -->", "</b>", false),
            ("<!-- <b>", "</b>", false),
            ("a < b <3 </", "</b>", false),
            ("<a\n href=\"<b>\">", "</b>", false),
        ] {
            assert_eq!(inside(before, after), expected, "{before} | {after}");
        }
    }
}
