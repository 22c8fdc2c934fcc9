//! Small pictures, drawn here: nothing is fetched.

use std::fmt::Write as _;

use super::escaped;
use crate::model::Kind;

/// A picture of 16 by 16.
pub(super) fn icon(name: &str) -> String {
    let inner = match name {
        "pull" => {
            "<circle cx=\"4\" cy=\"3.5\" r=\"1.8\"/><circle cx=\"4\" cy=\"12.5\" r=\"1.8\"/>\
             <circle cx=\"12\" cy=\"12.5\" r=\"1.8\"/><path d=\"M4 5.3v5.4M12 10.7V6.5a2 2 0 0 0-2-2H7.5M9.3 2.5l-2 2 2 2\"/>"
        }
        "merged" => {
            "<circle cx=\"4\" cy=\"3.5\" r=\"1.8\"/><circle cx=\"4\" cy=\"12.5\" r=\"1.8\"/>\
             <circle cx=\"12\" cy=\"8.5\" r=\"1.8\"/><path d=\"M4 5.3v5.4M4 5.3c.5 2.4 3 3.2 6.2 3.2\"/>"
        }
        "commit" => "<circle cx=\"8\" cy=\"8\" r=\"2.8\"/><path d=\"M0.5 8h4.7M10.8 8h4.7\"/>",
        "push" => "<path d=\"M8 13V4M4.5 7.5 8 4l3.5 3.5M3 1.5h10\"/>",
        "good" => {
            "<circle cx=\"8\" cy=\"8\" r=\"7\" class=\"full\"/><path class=\"on\" d=\"M4.8 8.3 7 10.5l4.2-4.6\"/>"
        }
        "bad" => {
            "<circle cx=\"8\" cy=\"8\" r=\"7\" class=\"full\"/><path class=\"on\" d=\"M5.5 5.5l5 5M10.5 5.5l-5 5\"/>"
        }
        "neutral" => {
            "<rect x=\"1.5\" y=\"1.5\" width=\"13\" height=\"13\" rx=\"3\" class=\"full\"/><path class=\"on\" d=\"M5 8h6\"/>"
        }
        "waits" => "<circle cx=\"8\" cy=\"8\" r=\"4\" class=\"full\"/>",
        "runs" => "<circle cx=\"8\" cy=\"8\" r=\"6\" class=\"track\"/><path d=\"M8 2a6 6 0 0 1 6 6\"/>",
        "edit" => "<path d=\"M3 13l.7-2.8L10.5 3.4l2.1 2.1-6.8 6.8zM9 5l2 2\"/>",
        _ => "<path d=\"M3 3l10 10M13 3 3 13\"/>",
    };
    format!(
        "<svg class=\"icon {name}\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" aria-hidden=\"true\">{inner}</svg>"
    )
}

/// A picture of somebody: the first letter on a colour that the name decides. Apps are square.
pub(super) fn avatar(login: &str, kind: Kind, size: u32) -> String {
    let hue = login.bytes().fold(7_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 360);
    let letter: String = login.chars().take(1).flat_map(char::to_uppercase).collect();
    let radius = if kind == Kind::User { 20 } else { 8 };
    let mut out = String::new();
    // Writing to a text does not fail.
    let _ = write!(
        out,
        "<svg class=\"avatar\" viewBox=\"0 0 40 40\" width=\"{size}\" height=\"{size}\" role=\"img\" aria-label=\"{0}\">\
         <rect width=\"40\" height=\"40\" rx=\"{radius}\" fill=\"hsl({hue} 45% 45%)\"/>\
         <text x=\"20\" y=\"27\" text-anchor=\"middle\" font-size=\"20\" fill=\"#fff\">{1}</text></svg>",
        escaped(login),
        escaped(&letter)
    );
    out
}
