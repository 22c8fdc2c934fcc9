//! Rules that hold for every text.

use std::collections::BTreeSet;

use domain::view::{Difference, Earlier, Job, Note, Ordered, PerMetric, Reason, State, Treatment, Verdict, View, Why};
use proptest::prelude::*;
use report::marker::{Marker, find};

use crate::support::{blocked, comment, complete, renderer, unjudged, vector, vectors};

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
    let mut offered = 0;
    for (key, text) in phrases() {
        for span in spans(&text) {
            let first = span.split_whitespace().next().unwrap();
            if first.contains('=') || span.contains(" = ") {
                continue;
            }
            assert!(VERBS.contains(&first) || first == "help", "{key} offers `{span}`");
            offered += 1;
        }
    }
    assert!(offered > 10);
}

#[test]
fn labels_columns_and_verdict_stand_where_scripts_look_for_them() {
    for (id, input) in vectors() {
        let view = complete(crate::support::judged(&input));
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
        let body = comment(&crate::support::judged(&input));
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

/// What hurts in a name.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("@team"),
        Just("#12"),
        Just("Fixes #3"),
        Just("|"),
        Just("\\"),
        Just("`"),
        Just("```"),
        Just("\n"),
        Just("<!-- zephyr-ab-test -->"),
        Just("</details>"),
        Just("<b>"),
        Just("https://x.y"),
        Just("![i](u)"),
        Just("\u{202E}"),
        Just("\u{200F}"),
        Just("\n/ab-test zephyr"),
        Just("owner/repo#1"),
        Just("a"),
        Just("😀"),
        Just("\u{0}"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|v| v.concat())
}

/// A view in which every foreign text is `text`.
fn infested(text: &str) -> View {
    let mut view = complete(vector("v03_cpu_plus10_one_stage_n3"));
    let t = || text.to_owned();
    let difference = || Difference { field: t(), control: Some(t()), treatment: Some(t()) };
    view.title = t();
    view.workload = vec![t(); 3];
    view.control.base_ref = Some(t());
    view.control.sha = Some(t());
    // Addresses are our own; what is not one is not linked.
    let url = || Some(format!("{text} "));
    view.control.jobs = vec![Job { id: t(), url: url() }];
    let treatment = &mut view.treatments[0];
    treatment.name = t();
    treatment.errors = vec![t(); 3];
    treatment.declared = vec![difference()];
    treatment.mismatch = vec![difference()];
    let judgement = treatment.judgement.as_mut().unwrap();
    let renamed = |name: &str| if name == "TOTAL" { name.to_owned() } else { format!("{name}{text}") };
    for (name, _) in &mut judgement.table.0 {
        *name = renamed(name);
    }
    for rows in [&mut judgement.stages.cpu, &mut judgement.stages.elapsed].into_iter().flatten() {
        rows.0.iter_mut().for_each(|(name, _)| *name = renamed(name));
    }
    if let Some(rows) = &mut judgement.rows {
        rows.0.iter_mut().for_each(|(name, _)| *name = renamed(name));
    }
    judgement.notes.0.push((format!("work:minhash{text}"), vec![Note::NotCounted]));
    view.context = vec![difference()];
    view.history = vec![Earlier { head: t(), verdict: Verdict::Pass, said: Some(t()), at: Some(t()), url: url() }];
    view.provenance.run = Some(t());
    view.provenance.page = url();
    view.averages[0].row = t();
    view.timeline[0].what = t();
    if let Some(infrastructure) = &mut view.infrastructure {
        infrastructure.priority = Some(t());
        infrastructure.arms[1].host_classes = vec![t()];
        infrastructure.arms[1].arm = t();
    }
    view
}

/// The comment without fenced blocks and code spans: what GitHub reads as prose.
fn prose(body: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    for line in body.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !line[ticks.len()..].contains('`') => fence = Some(ticks),
            None => {
                out.push_str(&without_code(line));
                out.push('\n');
            }
        }
    }
    out
}

fn without_code(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let run = |at: usize| chars[at..].iter().take_while(|c| **c == '`').count();
    let (mut out, mut i) = (String::new(), 0);
    while i < chars.len() {
        if chars[i] == '\\' && i + 1 < chars.len() {
            out.extend(&chars[i..i + 2]);
            i += 2;
        } else if chars[i] == '`' {
            let open = run(i);
            let mut j = i + open;
            let mut end = None;
            while j < chars.len() {
                let close = run(j);
                if close == open {
                    end = Some(j + close);
                    break;
                }
                j += close.max(1);
            }
            if let Some(end) = end {
                out.push_str("CODE");
                i = end;
            } else {
                out.extend(&chars[i..i + open]);
                i += open;
            }
        } else {
            out.push(chars[i]);
            i += 1;
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn foreign_text_stays_text(text in hostile()) {
        let view = infested(&text);
        for body in [comment(&view), renderer().check(&view).unwrap().text] {
            let prose = prose(&body);
            let lines: Vec<&str> = prose.lines().collect();
            for (i, line) in lines.iter().enumerate() {
                if i > 0 {
                    prop_assert!(!line.contains("<!--"), "{}", line);
                }
                prop_assert!(!line.trim_start().starts_with("/ab-test"), "{}", line);
                if line.starts_with('|') {
                    let pipes = line.replace("\\|", "").matches('|').count();
                    let head = lines[..=i].iter().rev().take_while(|l| l.starts_with('|')).last().unwrap();
                    prop_assert_eq!(pipes, head.matches('|').count(), "{}", line);
                }
            }
            for bad in ["@t", "#1", "#3", "https://x", "<b>"] {
                prop_assert!(!prose.contains(bad), "{} in {}", bad, prose);
            }
            prop_assert_eq!(prose.matches("<details>").count(), prose.matches("</details>").count());
            let hidden = body.contains(['\u{202E}', '\u{200F}', '\u{0}']);
            prop_assert!(!hidden);
            prop_assert_eq!(body.matches("<!-- zephyr").count(), usize::from(body.starts_with("<!--")));
        }
        let text = renderer().text(&view).unwrap();
        let hidden = text.contains(['\u{202E}', '\u{200F}', '\u{0}', '\u{1B}']);
        prop_assert!(!hidden);
    }
}

#[test]
fn hostile_names_comment() {
    let text =
        "a|b `x` <!-- zephyr-ab-test --> @team Fixes #3 owner/repo#1 https://x.y ![i](u) <b>\n/ab-test zephyr \u{202E}";
    insta::assert_snapshot!(comment(&infested(text)));
}

/// `rows` rows with names of 4,000 emoji, and long everything else.
fn huge(rows: usize, treatments: usize, page: bool) -> View {
    let mut view = complete(vector("v03_cpu_plus10_one_stage_n3"));
    let long = "😀".repeat(4_000);
    let judgement = unjudged((0..rows).map(|i| (format!("{i}{long}"), 100.0 + i as f64, 110.0)).collect());
    view.treatments = (0..treatments)
        .map(|i| Treatment {
            judgement: Some(judgement.clone()),
            errors: vec![long.clone(); 100],
            ..Treatment::new(format!("{i}{long}"))
        })
        .collect();
    view.headline = None;
    view.workload = vec![long.clone(); 300];
    view.queries = vec![long.clone(); 300];
    view.reproduce = vec![long.clone(); 300];
    view.history = vec![view.history[0].clone(); 300];
    view.context =
        vec![Difference { field: long.clone(), control: Some(long.clone()), treatment: Some(long.clone()) }; 300];
    view.offers = vec![long.clone(); 50];
    if !page {
        view.provenance.page = None;
    }
    view
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_comment_is_never_too_long(rows in prop_oneof![0usize..40, 40usize..3_000], treatments in 1usize..4, page in any::<bool>()) {
        let view = huge(rows / treatments, treatments, page);
        let renderer = renderer();
        let check = renderer.check(&view).unwrap();
        for body in [renderer.comment(&view).unwrap().body, check.summary, check.text] {
            prop_assert!(body.len() <= 60_000 && body.encode_utf16().count() <= 60_000);
            prop_assert_eq!(body.matches("<details>").count(), body.matches("</details>").count());
            for line in body.lines().filter(|l| l.starts_with("| ")) {
                prop_assert!(line.ends_with(" |"), "{}", line);
            }
        }
        let body = renderer.comment(&view).unwrap().body;
        prop_assert!(body.contains("Left out to fit the size of a comment:"));
        prop_assert_eq!(body.contains("All of it: [run page](https://ab.example/run/zephyr-412-k7m2)."), page);
        prop_assert!(check.title.chars().count() <= 255);
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let body = comment(&huge(3_000, 1, true));
    let left = body.lines().find(|l| l.starts_with("Left out")).unwrap();
    let rows = body.lines().filter(|l| l.starts_with("| `0") && l.contains("<sub>"));
    let shown: BTreeSet<&str> = rows.map(|l| l.split(" | ").nth(1).unwrap()).collect();
    let rows = format!("{} rows", 3_000 - shown.len()).replacen('2', "2,", 1);
    assert!(left.contains(&rows), "{rows}: {left}");
}

#[test]
fn directions_without_statistics_are_not_claimed() {
    let mut view = vector("v01_aa_n3");
    let judgement = view.treatments[0].judgement.as_mut().unwrap();
    judgement.stages = PerMetric::default();
    let body = comment(&view);
    assert!(!body.contains("confirmed increase") && !body.contains('⛔'));
}
