use std::fmt::Write as _;

use domain::view::{State, TOTAL, Texts, View};
use serde_json::Value;

use super::row;

fn vector(id: &str) -> View {
    let all: Value = serde_json::from_str(include_str!("../../../../../tests/stats/vectors.json")).unwrap();
    let list = all.as_array().or_else(|| all["vectors"].as_array()).unwrap();
    let input = list.iter().find(|vector| vector["id"] == id).unwrap();
    let case = stats::input::parse(&input.to_string()).unwrap();
    View::of_case(&case, &stats::judge(&case), Texts::default())
}

fn text(view: &View, asked: &str) -> String {
    report::Renderer::new().unwrap().reply_text(&row(view, asked)).unwrap()
}

fn first_row(view: &View) -> String {
    view.treatments[0].judgement.as_ref().unwrap().table.0[0].0.clone()
}

#[test]
fn rows_of_many_kinds() {
    let mut all = String::new();
    for (id, rows) in [
        ("v03_cpu_plus10_one_stage_n3", 2),
        ("v05_cpu_plus40_n1", 1),
        ("v08_wall_only_repeated_n5", 1),
        ("v23_missing_stage", 9),
        ("v30_no_calibration_n1", 1),
        ("v31_no_calibration_n5", 1),
        ("w31_more_work_per_item", 1),
        ("w34_cached_treatment", 1),
        ("w40_residual_adds_df", 1),
        ("w44_two_treatments", 1),
        ("w48_decided_stays_in_the_family", 1),
        ("w51_unpaired_same", 1),
        ("w55_churn_elapsed_one_round", 1),
        ("w86_small_increase_n3", 1),
    ] {
        let view = vector(id);
        let table = &view.treatments[0].judgement.as_ref().unwrap().table;
        let names = table.iter().map(|(name, _)| name).filter(|name| *name != TOTAL).take(rows);
        for name in names.chain([TOTAL]) {
            writeln!(all, "==== {id}\n{}", text(&view, name)).unwrap();
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn in_a_comment() {
    let mut view = vector("v03_cpu_plus10_one_stage_n3");
    view.treatments[0].sha = Some("c0ffee1234567890c0ffee1234567890c0ffee12".to_owned());
    view.state = State::Measuring { round: 4, of: 5, next_look: None };
    let answer = row(&view, &first_row(&view));
    insta::assert_snapshot!(report::Renderer::new().unwrap().reply(&answer).unwrap().body);
}

#[test]
fn a_name_may_be_in_other_letters_or_a_part() {
    let view = vector("v03_cpu_plus10_one_stage_n3");
    let name = first_row(&view);
    let whole = row(&view, &name);
    assert_eq!(row(&view, &name.to_uppercase()), whole);
    assert_eq!(row(&view, &format!(" {name} ")), whole);
    assert!(row(&view, "total").title.contains(&domain::view::Span::Code(TOTAL.to_owned())));
}

#[test]
fn what_is_not_found_is_told_with_what_there_is() {
    let view = vector("v03_cpu_plus10_one_stage_n3");
    let mut all = String::new();
    for asked in ["minhsh", "a", "", "@team <!-- x -->"] {
        writeln!(all, "==== {asked:?}\n{}", text(&view, asked)).unwrap();
    }
    let mut many = vector("v03_cpu_plus10_one_stage_n3");
    let table = &mut many.treatments[0].judgement.as_mut().unwrap().table.0;
    let row = table[0].1.clone();
    table.extend((0..40).map(|i| (format!("shuffle {i}"), row.clone())));
    writeln!(all, "==== many\n{}", text(&many, "shufle 7")).unwrap();
    writeln!(all, "==== part of many\n{}", text(&many, "shuffle")).unwrap();
    let nothing = View::new("zephyr", "Zephyr A/B test", State::Planning);
    writeln!(all, "==== nothing\n{}", text(&nothing, "x")).unwrap();
    insta::assert_snapshot!(all);
}
