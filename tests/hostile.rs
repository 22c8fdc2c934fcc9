//! Bytes from anywhere and cases that are no longer what they were: judged, or refused in one line. Never a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::generate::{self, Dice, mutate, spoil};
use crate::support::count;
use crate::support::json::Json;

const TOKENS: &[&str] = &[
    "null",
    "true",
    "-1",
    "1e400",
    "1e-400",
    "NaN",
    "\"\"",
    "{}",
    "[]",
    "\"TOTAL\"",
    "\"rounds\":",
    "\"control\":0",
    "[[[[",
    "}}",
    ",",
    ":",
    "\\u0000",
    "\\ud800",
    "\u{202e}",
    "\n",
    "\"config\":{\"looks\":[1]}",
    "0x10",
    "1.",
    "+1",
    "18446744073709551616",
];

fn bytes(dice: &mut Dice) -> String {
    let length = dice.below(200);
    let alphabet = b"{}[]:,\"\\0123456789.eE+-truefalsnu \n";
    let structured = dice.chance(0.5);
    let raw: Vec<u8> = (0..length).map(|_| if structured { *dice.pick(alphabet) } else { dice.byte() }).collect();
    String::from_utf8_lossy(&raw).into_owned()
}

/// A place between two characters.
fn cut(text: &str, dice: &mut Dice) -> usize {
    let mut at = dice.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.below(3) {
        let at = cut(&text, dice);
        match dice.below(5) {
            0 => text.truncate(at),
            1 => text.insert_str(at, dice.word(TOKENS)),
            2 => {
                let mut raw = text.into_bytes();
                if !raw.is_empty() {
                    let at = dice.below(raw.len());
                    raw[at] ^= 1 << dice.below(8);
                }
                text = String::from_utf8_lossy(&raw).into_owned();
            }
            3 => {
                let piece: String = text[at..].chars().take(dice.below(40)).collect();
                let other = cut(&text, dice);
                text.insert_str(other, &piece);
            }
            _ => {
                let end = (at + dice.below(30)).min(text.len());
                if text.is_char_boundary(end) {
                    text.replace_range(at..end, dice.word(TOKENS));
                }
            }
        }
    }
    text
}

/// Whether it was judged. Panics with the input where the answer is not one of the two that are allowed.
fn answered(input: &str) -> bool {
    let came = catch_unwind(AssertUnwindSafe(|| {
        stats::input::parse(input).map(|case| serde_json::to_string(&stats::judge(&case)).map(|json| json.len()))
    }));
    match came {
        Err(panic) => panic!("{panic:?} on {input}"),
        Ok(Ok(written)) => {
            assert!(written.is_ok_and(|length| length > 2), "{input}");
            true
        }
        Ok(Err(error)) => {
            let line = error.to_string();
            assert_eq!(line.lines().count(), 1, "{line:?} for {input}");
            assert!(!line.chars().any(char::is_control), "{line:?} for {input}");
            let (place, expected) = line.split_once(": expected ").unwrap_or_else(|| panic!("{line:?} for {input}"));
            assert!(!place.is_empty() && !expected.is_empty(), "{line:?} for {input}");
            false
        }
    }
}

#[test]
fn hostile_input_is_judged_or_refused() {
    let cases = count("ZEPHYR_AB_FUZZ_CASES", 50_000);
    let small = |seed: u64| Some(generate::case(seed)).filter(|case| case.to_string().len() < 4_000);
    let seeds: Vec<(Json, String)> =
        (900_000..).filter_map(small).take(150).map(|case| (case.clone(), case.to_string())).collect();
    let half = |first: u64| {
        let (mut judged, mut refused) = (0u64, 0u64);
        for seed in (first..cases).step_by(2) {
            let mut dice = Dice::new(seed);
            let (case, text) = dice.pick(&seeds);
            let input = match dice.weighted(&[0.1, 0.3, 0.35, 0.25]) {
                0 => bytes(&mut dice),
                1 => damaged(text, &mut dice),
                3 => {
                    let mut case = case.clone();
                    (0..=dice.below(4)).for_each(|_| spoil(&mut case, &mut dice));
                    case.to_string()
                }
                _ => {
                    let mut case = case.clone();
                    let reach = *dice.pick(&[0.75, 0.98, 0.98]);
                    for _ in 0..=dice.below(3) {
                        mutate(&mut case, &mut dice, reach);
                    }
                    case.to_string()
                }
            };
            if answered(&input) { judged += 1 } else { refused += 1 }
        }
        (judged, refused)
    };
    let (a, b) = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        (half(0), other.join().expect("the other half"))
    });
    let (judged, refused) = (a.0 + b.0, a.1 + b.1);
    println!("{cases} hostile inputs: {judged} judged, {refused} refused");
    assert_eq!(judged + refused, cases);
    assert!(judged * 10 > cases && refused * 10 > cases, "both ways are tried");
}
