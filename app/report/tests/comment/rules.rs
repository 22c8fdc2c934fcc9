//! Rules that hold for every text.

use std::collections::BTreeSet;

use domain::view::{Note, Ordered, PerMetric, Reason, State, Treatment, View, Why};
use report::marker::{Marker, find};

use crate::support::{blocked, comment, complete, on_the_command_line, renderer, unjudged, vector, vectors};

/// The verbs of the command table.
const VERBS: [&str; 13] = [
    "run",
    "plan",
    "confirm",
    "status",
    "cancel",
    "retry",
    "calibrate",
    "aa",
    "compare",
    "explain",
    "skip",
    "accept",
    "auto",
];
/// The commands of the command line that texts may name.
const COMMANDS: [&str; 3] = ["run", "calibrate", "evidence"];
const COLUMNS: &str = "| Treatment | Stage | CPU control | CPU treatment | CPU change | Elapsed control | Elapsed treatment | Elapsed change | Peak memory change |";

fn phrases() -> Vec<(String, String)> {
    include_str!("../../../../templates/words.txt")
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(|l| l.split_once(" = ").unwrap())
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

/// What stands between backticks.
fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_reason_has_its_own_sentence_and_next_step() {
    let phrases = phrases();
    let mut sentences = BTreeSet::new();
    for reason in Reason::ALL {
        for part in ["short", "what", "next"] {
            let key = format!("reason.{}.{part}", reason.code());
            let (_, text) = phrases.iter().find(|(k, _)| *k == key).unwrap();
            assert!(!text.is_empty());
            if part == "what" {
                assert!(text.ends_with('.') && sentences.insert(text.clone()), "{key}");
            }
        }
    }
}

#[test]
fn only_verbs_that_exist_are_offered() {
    let all = phrases();
    let mut offered = [0, 0];
    for (key, text) in &all {
        let (base, cli) = key.strip_suffix(".cli").map_or((key.as_str(), false), |base| (base, true));
        assert!(!cli || all.iter().any(|(other, _)| other == base), "{key} stands in for nothing");
        // A phrase without another one for the command line is shown there, too.
        let on_both = !cli && !all.iter().any(|(other, _)| *other == format!("{key}.cli"));
        for span in spans(text) {
            let first = span.split_whitespace().next().unwrap();
            if first.contains('=') || span.contains(" = ") || ["suite.toml", "<repository>"].contains(&span) {
                continue;
            }
            assert!(!on_both, "{key} offers `{span}` on the command line");
            if cli {
                let command = span.strip_prefix("zephyr-ab ").and_then(|rest| rest.split(' ').next());
                let option = ["--calibration"].contains(&first);
                assert!(option || command.is_some_and(|c| COMMANDS.contains(&c)), "{key} offers `{span}`");
            } else {
                // A whole line to type, or a verb.
                let line = span.strip_prefix("/ab-test {{suite}}").map(str::trim);
                let verb = line.unwrap_or(first);
                assert!(verb.is_empty() || VERBS.contains(&verb) || verb == "help", "{key} offers `{span}`");
            }
            offered[usize::from(cli)] += 1;
        }
    }
    assert!(offered[0] > 10 && offered[1] > 3, "{offered:?}");
}

#[test]
fn the_command_line_is_told_nothing_of_comments() {
    let told = |view: View| {
        let text = renderer().text(&on_the_command_line(view)).unwrap();
        let top = text.split("\nWorkload: ").next().unwrap();
        for word in ["/ab-test", "'explain'", "'accept'", "'retry'", "'cancel'", "'confirm'", "'run'", "'calibrate'"] {
            assert!(!top.contains(word), "{word}: {top}");
        }
    };
    for reason in Reason::ALL {
        told(blocked(*reason));
    }
    for (_, input) in vectors() {
        told(crate::support::judged(input));
    }
    for state in crate::states::states() {
        told(View { state, ..vector("v01_aa_n3") });
    }
}

/// The numbers of rounds that a row is said to need.
fn needs(text: &str) -> Vec<u64> {
    let number = |rest: &str| rest.trim_start_matches("at least ").split(' ').next().and_then(|n| n.parse().ok());
    text.split("needs ").skip(1).filter_map(number).collect()
}

#[test]
fn no_row_needs_more_rounds_than_the_verdict() {
    let mut seen = 0;
    for (id, input) in vectors() {
        let body = comment(&crate::support::judged(input)).replace('\u{A0}', " ");
        let all = body.split(" rounds in all").next().and_then(|front| front.rsplit(['(', ' ']).next()?.parse().ok());
        let rows = needs(&body);
        if let (Some(all), Some(most)) = (all, rows.iter().max()) {
            let all: u64 = all;
            assert!(*most <= all, "{id}: {rows:?} and {all}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn work_that_is_not_counted_is_in_the_heading_where_it_weighs() {
    let mut view = vector("v01_aa_n3");
    let judgement = view.treatments[0].judgement.as_mut().unwrap();
    let share = |row: &str, judgement: &domain::view::Judgement| {
        let cpu = |name: &str| judgement.table.get(name).unwrap().cpu.control.unwrap();
        cpu(row) / cpu("TOTAL")
    };
    let names: Vec<String> = judgement.table.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names.iter().filter(|name| *name != "TOTAL") {
        let judgement = view.treatments[0].judgement.as_mut().unwrap();
        judgement.notes = Ordered(vec![(format!("work:{name}"), vec![Note::NotCounted])]);
        let weighs = share(name, judgement) > 0.1;
        let body = comment(&view);
        let heading = body.lines().nth(1).unwrap();
        assert_eq!(heading.contains("work not counted"), weighs, "{heading}");
        assert!(body.contains("Work not counted in"), "{body}");
    }
    // One row that holds next to nothing.
    let judgement = view.treatments[0].judgement.as_mut().unwrap();
    let name = names.iter().find(|name| *name != "TOTAL").unwrap();
    judgement.notes = Ordered(vec![(format!("work:{name}"), vec![Note::NotCounted])]);
    for (row, cells) in &mut judgement.table.0 {
        if row == name {
            (cells.cpu.control, cells.cpu.treatment) = (Some(0.001), Some(0.001));
        }
    }
    assert!(!comment(&view).lines().nth(1).unwrap().contains("work not counted"));
}

#[test]
fn a_treatment_that_never_ran_is_not_said_to_be_fine() {
    let mut view = on_the_command_line(blocked(Reason::ControlFailed));
    let failed = "In control: step guide exited with 1 (2 times); the last line of its output: name one step: `start`, @team | x.";
    let text = renderer().text(&view).unwrap();
    assert!(text.contains("The control failed and the treatment did not.") && text.contains(failed), "{text}");
    view.treatments[0].started = Some(false);
    let text = renderer().text(&view).unwrap();
    assert!(text.contains("The treatment was not started") && !text.contains("did not."), "{text}");
    assert!(text.contains(failed) && text.contains("usage: bench.py"), "{text}");
    let body = comment(&view);
    assert!(body.contains("``name one step: `start`, @\u{200B}team | x``"), "{body}");
}

#[test]
fn labels_columns_and_verdict_stand_where_scripts_look_for_them() {
    for (id, input) in vectors() {
        let view = complete(crate::support::judged(input));
        let body = comment(&view);
        let verdict = view.head().unwrap().judgement.as_ref().unwrap().verdict.word();
        let lines: Vec<&str> = body.lines().collect();
        assert_eq!(lines[0], "<!-- zephyr-ab-test -->");
        assert!(lines[1].starts_with("## 🤖 Zephyr A/B test: "), "{id}");
        assert_eq!(lines.iter().filter(|l| **l == format!("Verdict: {verdict}")).count(), 1, "{id}");
        for label in ["Workload:", "Control:", "Treatments:", "Data check:", "Infrastructure:", "Interpretation:"] {
            assert_eq!(lines.iter().filter(|l| l.starts_with(label)).count(), 1, "{id} {label}");
        }
        assert!(lines.contains(&COLUMNS), "{id}");
        let rows = lines.iter().filter(|l| l.starts_with('|')).count();
        assert!(rows > 2, "{id} has no rows");
    }
}

#[test]
fn every_change_has_an_interval_or_says_that_it_has_none() {
    for (id, input) in vectors() {
        let body = comment(&crate::support::judged(input));
        for line in body.lines().filter(|l| l.starts_with("| `") && l.contains("<sub>")) {
            let cells: Vec<&str> = line.split(" | ").collect();
            for cell in [cells[4], cells[7]] {
                let ok =
                    cell.contains('±') || cell.contains(" to ") || cell.contains("no interval") || cell.contains('—');
                assert!(ok, "{id}: {cell}");
                assert!(cell.contains("n=") || cell.contains("not judged"), "{id}: {cell}");
            }
        }
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        assert!(!body.split_whitespace().any(|word| ["NaN", "inf"].contains(&bare(word).as_str())), "{id}");
    }
}

#[test]
fn durations_and_averages_are_never_in_table_or_verdict() {
    let body = comment(&complete(vector("v03_cpu_plus10_one_stage_n3")));
    let (open, folded) = body.split_once("<details>").unwrap();
    // The launcher took 123,456 s, the average was 93.4 % of a core and 2.4e9 bytes.
    for text in ["34 h", "123,456", "93.4 %", "2.24 GiB"] {
        assert!(!open.contains(text), "{text} in {open}");
    }
    assert!(folded.contains("34 h 18 min") && folded.contains("93.4 %") && folded.contains("2.24 GiB"));
    assert!(folded.contains("it is no part of the verdict") && folded.contains("averages decide nothing"));
}

#[test]
fn every_note_and_every_why_has_words() {
    let notes = [
        Note::BelowFloor,
        Note::ZeroBoth,
        Note::ZeroOneSided,
        Note::Immaterial,
        Note::OverheadDominated,
        Note::NotJudged,
        Note::RoundsDropped,
        Note::NoiseChangedNoClaim,
        Note::NoiseChangedCalibrationIgnored,
        Note::Normalised,
        Note::WorkDiffers,
        Note::NotCounted,
        Note::SmallHigher,
        Note::OomNotRepeated,
        Note::AppFailureNotRepeated,
    ];
    let mut whys: Vec<Why> = notes.into_iter().map(Why::Note).collect();
    whys.extend([
        Why::MissingInControl,
        Why::MissingInTreatment,
        Why::BadValue,
        Why::Decided,
        Why::Reason(Reason::NoData),
    ]);
    let mut seen = BTreeSet::new();
    for why in whys {
        let mut view = blocked(Reason::NoCalibration);
        let judgement = view.treatments[0].judgement.as_mut().unwrap();
        for (_, row) in &mut judgement.table.0 {
            (row.cpu.why, row.elapsed.why) = (Some(why), Some(why));
        }
        if let Why::Note(note) = why {
            judgement.notes = Ordered(vec![
                ("cpu:minhash".into(), vec![note]),
                ("work:minhash".into(), vec![note]),
                ("run:*".into(), vec![note]),
            ]);
        }
        let body = comment(&view);
        let cell = body.lines().find(|l| l.contains("`minhash`") && l.starts_with('|')).unwrap();
        let text = cell.split("not judged: ").nth(1).unwrap().split('<').next().unwrap().to_owned();
        assert!(text.len() > 5 && seen.insert(text), "{why:?}: {cell}");
    }
}

#[test]
fn markers_follow_the_suite() {
    let mut view = vector("v01_aa_n3");
    assert_eq!(find(&comment(&view)), Some(Marker::Suite("zephyr".into())));
    view.suite = "demo".into();
    let body = comment(&view);
    assert!(body.starts_with("<!-- zephyr-ab-test:demo -->\n"));
    assert_eq!(find(&body), Some(Marker::Suite("demo".into())));
}

#[test]
fn what_is_absent_is_said_to_be_unknown_or_left_out() {
    let mut view = View::new("zephyr", "Zephyr A/B test", State::Done);
    view.treatments = vec![Treatment { judgement: Some(unjudged(Vec::new())), ..Treatment::new("head") }];
    let body = comment(&view);
    for text in [
        "Workload: not given",
        "Control: commit not given",
        "Infrastructure: not reported.",
        "Data check: no measured rows.",
    ] {
        assert!(body.contains(text), "{text}: {body}");
    }
    assert!(!body.contains("<details>") && !body.contains("---\n\n<sub>"), "{body}");
}

#[test]
fn templates_of_a_folder_replace_the_built_in_ones() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("words.txt"), "reason.NO_CHANGE.next = Have a cup of tea.\n").unwrap();
    let renderer = report::Renderer::with_folder(folder.path()).unwrap();
    let body = renderer.comment(&vector("v01_aa_n3")).unwrap().body;
    assert!(body.contains("**What to do:** Have a cup of tea."));

    let file = folder.path().join("comment.hbs");
    std::fs::write(&file, "{{#if}").unwrap();
    let problem = report::Renderer::with_folder(folder.path()).err().unwrap().to_string();
    assert!(problem.starts_with(&file.display().to_string()), "{problem}");

    std::fs::write(&file, "{{marker}} {{no_such_field}}").unwrap();
    let problem = report::Renderer::with_folder(folder.path()).unwrap().comment(&vector("v01_aa_n3")).unwrap_err();
    assert!(problem.to_string().contains("no_such_field"), "{problem}");

    let missing = report::Renderer::with_folder(&folder.path().join("none")).err().unwrap().to_string();
    assert!(missing.contains("none"), "{missing}");
}

#[test]
fn directions_without_statistics_are_not_claimed() {
    let mut view = vector("v01_aa_n3");
    let judgement = view.treatments[0].judgement.as_mut().unwrap();
    judgement.stages = PerMetric::default();
    let body = comment(&view);
    assert!(!body.contains("confirmed increase") && !body.contains('⛔'));
}

#[test]
fn terminal_text_has_no_markup_and_straight_columns() {
    for (id, input) in vectors() {
        let text = renderer().text(&complete(crate::support::judged(input))).unwrap();
        assert!(!text.contains(['`', '*']) && !text.contains("<sub>"), "{id}: {text}");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{id}");
        assert!(!text.lines().any(|line| line.ends_with(' ')), "{id}: {text}");
    }
    let mut view = complete(vector("v01_aa_n3"));
    view.averages[0].row = "段落😀".to_owned();
    view.averages.push(view.averages[0].clone());
    view.averages[1].row = format!("long{}", "x".repeat(300));
    let text = renderer().text(&view).unwrap();
    let lines: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("Arm ")).take(3).collect();
    let [head, wide, long] = lines[..] else { panic!("{text}") };
    // Each of the three characters of the name is two columns wide.
    let end = head.find("CPU").unwrap();
    assert_eq!(
        wide.find("93.4").map(|at| wide[..at].chars().count() + 3),
        long.find("93.4").map(|at| long[..at].chars().count())
    );
    assert!(end > 60 && end < 80 && long.contains('…'), "{text}");
}
