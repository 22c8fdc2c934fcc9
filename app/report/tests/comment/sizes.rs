//! No text is too long, and what is left out is said.

use std::collections::BTreeSet;

use domain::view::{Difference, Treatment, View};
use proptest::prelude::*;

use crate::support::{comment, complete, renderer, unjudged, vector};

/// `rows` rows whose names have `emoji` emoji, and everything else just as long.
fn huge(rows: usize, treatments: usize, emoji: usize, page: bool) -> View {
    let mut view = complete(vector("v03_cpu_plus10_one_stage_n3"));
    let long = "😀".repeat(emoji);
    let judgement = unjudged((0..rows).map(|i| (format!("{i}{long}"), 100.0 + i as f64, 110.0)).collect());
    view.treatments = (0..treatments)
        .map(|i| Treatment {
            judgement: Some(judgement.clone()),
            errors: vec![long.clone(); 45],
            ..Treatment::new(format!("{i}{long}"))
        })
        .collect();
    view.headline = None;
    view.workload = vec![long.clone(); 120];
    view.queries = vec![long.clone(); 120];
    view.reproduce = vec![long.clone(); 120];
    view.history = vec![view.history[0].clone(); 120];
    view.context =
        vec![Difference { field: long.clone(), control: Some(long.clone()), treatment: Some(long.clone()) }; 120];
    view.offers = vec![long.clone(); 50];
    if !page {
        view.provenance.page = None;
    }
    view
}

/// Rows that no budget has room for, and those next to which a table changes: 15 are open, 30, 60 and 100 folded.
fn edges() -> impl Strategy<Value = usize> {
    prop_oneof![prop::sample::select(vec![0, 1, 15, 16, 30, 31, 60, 61, 100, 101]), 0usize..250]
}

/// Names that are shortened, much so, and so long that their middle is not even looked at.
fn lengths() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![120, 300, 1_100])
}

fn not_too_long(view: &View) -> Result<String, TestCaseError> {
    let check = renderer().check(view).unwrap();
    let body = comment(view);
    for text in [&body, &check.summary, &check.text] {
        prop_assert!(text.len() <= 60_000 && text.encode_utf16().count() <= 60_000);
        prop_assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        for line in text.lines().filter(|l| l.starts_with("| ")) {
            prop_assert!(line.ends_with(" |"), "{}", line);
        }
    }
    prop_assert!(check.title.chars().count() <= 255);
    Ok(body)
}

#[test]
fn a_terminal_shows_the_rows_that_matter_most_and_says_where_the_others_are() {
    let mut view = vector("v03_cpu_plus10_one_stage_n3");
    let rows = (0..500).map(|i| (format!("row {i}"), 100.0 + f64::from(i), 110.0)).collect();
    view.treatments[0].judgement = Some(unjudged(rows));
    let shown = |text: &str| text.lines().filter(|line| line.starts_with("row ")).count();
    let text = renderer().text(&view).unwrap();
    assert_eq!(shown(&text), 15, "{text}");
    assert!(text.contains("row 499  (treatment)") && text.len() < 20_000);
    assert!(text.contains("Left out: 485 rows"), "{text}");
    assert!(text.contains("With --all-rows all of it is shown."), "{text}");
    view.surface = domain::view::Surface::CommandLine;
    assert!(renderer().text(&view).unwrap().contains("'zephyr-ab evidence show --all-rows"));
    let all = renderer().text_of_all_rows(&view).unwrap();
    assert_eq!(shown(&all), 500);
    assert!(!all.contains("Left out"));
    assert!(!renderer().text(&vector("v03_cpu_plus10_one_stage_n3")).unwrap().contains("Left out"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_comment_is_never_too_long(rows in edges(), treatments in 1usize..4, emoji in lengths(), page in any::<bool>()) {
        let body = not_too_long(&huge(rows / treatments, treatments, emoji, page))?;
        prop_assert!(body.contains("Left out to fit the size of a comment:"));
        prop_assert_eq!(body.contains("All of it: [run page](https://ab.example/run/zephyr-412-k7m2)."), page);
    }

    /// Around the number of rows at which a comment that is otherwise small is first too long.
    #[test]
    fn what_just_fits_is_shown_whole(rows in 40usize..160, emoji in 0usize..40) {
        let mut view = vector("v03_cpu_plus10_one_stage_n3");
        let long = "😀".repeat(emoji);
        let judgement = unjudged((0..rows).map(|i| (format!("{i}{long}"), 100.0 + i as f64, 110.0)).collect());
        view.treatments[0].judgement = Some(judgement);
        let body = not_too_long(&view)?;
        let all = (0..rows).all(|i| body.contains(&format!("| `{i}{long}` |")));
        prop_assert_eq!(all, !body.contains("Left out to fit"), "{}", body);
        // Nothing is left out while there is room for much more.
        prop_assert!(all || body.len() > 20_000, "{} bytes", body.len());
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let body = comment(&huge(999, 1, 300, true));
    let left = body.lines().find(|l| l.starts_with("Left out")).unwrap();
    let rows = body.lines().filter(|l| l.starts_with("| `0") && l.contains("<sub>"));
    let shown: BTreeSet<&str> = rows.map(|l| l.split(" | ").nth(1).unwrap()).collect();
    let rows = format!("{} rows", 999 - shown.len());
    assert!(left.contains(&rows), "{rows}: {left}");
}
