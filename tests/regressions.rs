//! What went wrong for people elsewhere, through the program, with the answer that is right.

use crate::support::json::{Json, int, num, object, text};
use crate::support::program;

/// Same-code wobble of a quiet row, pair scale: ten ratios of about 1 %.
const QUIET: [f64; 10] = [0.004, -0.011, 0.009, -0.006, 0.012, -0.003, 0.008, -0.014, 0.002, -0.007];

/// CPU seconds and elapsed seconds of a row, by round and arm.
struct Row {
    name: String,
    cpu: f64,
    elapsed: f64,
    /// What the treatment multiplies CPU and elapsed time by.
    times: (f64, f64),
}

fn row(name: &str, cpu: f64, elapsed: f64) -> Row {
    Row { name: name.to_owned(), cpu, elapsed, times: (1.0, 1.0) }
}

fn stage(cpu: f64, elapsed: f64) -> Json {
    object([
        ("cpu_time_total", num(cpu)),
        ("elapsed", num(elapsed)),
        ("items", int(1_000_000)),
        ("bytes_processed", int(8_000_000_000)),
        ("mem_peak_bytes_max", int(6_000_000_000)),
        ("status", text("END")),
    ])
}

/// Repeatable noise of a few tenths of a percent.
fn wobble(round: usize, row: usize, arm: usize) -> f64 {
    1.0 + 0.002 * QUIET[(3 * round + 7 * row + 5 * arm) % 10] / 0.01
}

/// A calibrated case of interleaved rounds.
fn case(rows: &[Row], rounds: usize) -> Json {
    calibrated(rows, rounds, 1.0)
}

/// The same where elapsed time is so many times noisier than CPU time.
fn calibrated(rows: &[Row], rounds: usize, noisier: f64) -> Json {
    let trial = |round: usize, arm: usize| {
        let stages = rows.iter().enumerate().map(|(i, row)| {
            let (cpu, elapsed) = if arm == 1 { row.times } else { (1.0, 1.0) };
            let noise = wobble(round, i, arm);
            (row.name.clone(), stage(row.cpu * cpu * noise, row.elapsed * elapsed * noise))
        });
        object([("stages", Json::Object(stages.collect())), ("executions", int(12))])
    };
    let list = (0..rounds).map(|r| object([("control", trial(r, 0)), ("treatment", trial(r, 1))])).collect();
    let ratios = |shift: usize, times: f64| Json::List((0..10).map(|i| num(times * QUIET[(i + shift) % 10])).collect());
    let known = |times: f64| {
        let names = rows.iter().map(|row| row.name.clone()).chain(["TOTAL".to_owned()]);
        Json::Object(names.enumerate().map(|(i, name)| (name, ratios(i, times))).collect())
    };
    let calibration = object([("grade", text("A")), ("cpu", known(1.0)), ("elapsed", known(noisier))]);
    object([("calibration", calibration), ("rounds", Json::List(list))])
}

fn answer(case: &Json) -> Json {
    Json::read(&program::judge(&case.to_string(), "json"))
}

fn comment(case: &Json) -> String {
    program::judge(&case.to_string(), "markdown")
}

fn verdict(answer: &Json) -> (&str, &str) {
    (answer.at("verdict").str().expect("a word"), answer.at("reason").str().expect("a code"))
}

/// The heading and the verdict line of a comment agree with the answer.
fn says(comment: &str, verdict: &str) {
    assert_eq!(comment.lines().next(), Some("<!-- zephyr-ab-test -->"), "{comment}");
    let heading = comment.lines().find(|line| line.starts_with("## ")).unwrap_or_else(|| panic!("{comment}"));
    assert!(heading.contains(verdict), "{heading}");
    assert_eq!(comment.lines().filter(|line| *line == format!("Verdict: {verdict}")).count(), 1, "{comment}");
}

fn every_stage(case: &mut Json, arm: &str, mut f: impl FnMut(&mut Json)) {
    for round in case.get_mut("rounds").expect("rounds").items_mut() {
        round.child(arm).child("stages").fields_mut().iter_mut().for_each(|(_, stage)| f(stage));
    }
}

fn pipeline() -> Vec<Row> {
    vec![row("exact", 9000.0, 700.0), row("minhash", 15000.0, 1100.0), row("tokenize", 5000.0, 500.0)]
}

/// C23: all stages of a repeated run come from a cache.
#[test]
fn a_cached_run_is_not_a_hundred_percent_faster() {
    let mut cached = case(&pipeline(), 2);
    every_stage(&mut cached, "treatment", |stage| {
        stage.set("cpu_time_total", num(0.0));
        stage.set("elapsed", num(0.0));
    });
    let answer = answer(&cached);
    assert_eq!(verdict(&answer), ("inconclusive", "CACHED"));
    assert_eq!(answer.at("table.TOTAL.cpu.judged"), &Json::Bool(false));
    let comment = comment(&cached);
    says(&comment, "inconclusive");
    assert!(comment.contains("cache"), "{comment}");
    assert!(!comment.contains("100") && !comment.replace("not faster", "").contains("faster"), "{comment}");
}

/// C24: items and bytes are 0 in both arms.
#[test]
fn work_that_is_not_counted_is_not_equal_work() {
    let mut blind = case(&pipeline(), 3);
    for arm in ["control", "treatment"] {
        every_stage(&mut blind, arm, |stage| {
            stage.set("items", int(0));
            stage.set("bytes_processed", int(0));
        });
    }
    let answer = answer(&blind);
    assert_eq!(verdict(&answer), ("inconclusive", "WORK_NOT_COUNTED"));
    for row in ["exact", "minhash", "tokenize"] {
        let notes = answer.at("notes").get(&format!("work:{row}")).expect("noted");
        assert_eq!(notes.items(), [text("not_counted")]);
    }
    let comment = comment(&blind);
    says(&comment, "inconclusive");
    let check = comment.lines().find(|line| line.starts_with("Data check:")).unwrap_or_else(|| panic!("{comment}"));
    assert!(check.contains("not counted"), "{check}");
    assert!(!check.contains("equal work") && !check.contains("same work"), "{check}");
}

/// C25: a stage exists in one arm only.
#[test]
fn a_stage_of_one_arm_is_shown() {
    for (arm, why) in [("control", "missing_in_control"), ("treatment", "missing_in_treatment")] {
        let mut lacking = case(&pipeline(), 3);
        for round in lacking.get_mut("rounds").expect("rounds").items_mut() {
            round.child(arm).child("stages").remove("minhash");
        }
        let answer = answer(&lacking);
        assert_eq!(verdict(&answer), ("inconclusive", "MISSING_STAGE"));
        assert_eq!(answer.at("table.minhash.cpu.why"), &text(why));
        let measured = if arm == "control" { "treatment" } else { "control" };
        let sum = answer.at("table.minhash.cpu").at(measured).number().expect("measured");
        assert!((sum - 45_000.0).abs() < 500.0, "{sum}");
        let comment = comment(&lacking);
        says(&comment, "inconclusive");
        assert!(comment.lines().any(|line| line.starts_with('|') && line.contains("minhash")), "{comment}");
    }
}

/// C26: control 5 workers, treatment 80 workers.
#[test]
fn another_pool_is_another_experiment() {
    let mut rows = pipeline();
    for row in &mut rows {
        row.times = (1.0, 1.0 / 14.0);
    }
    let mut unequal = case(&rows, 5);
    let difference = object([("field", text("pool.workers")), ("control", int(5)), ("treatment", int(80))]);
    unequal.set("fingerprint_mismatch", Json::List(vec![difference]));
    let answer = answer(&unequal);
    assert_eq!(verdict(&answer), ("inconclusive", "FINGERPRINT_MISMATCH"));
    assert_eq!(answer.at("rows"), &Json::Null);
    assert_eq!(answer.at("table.exact.cpu.why"), &text("FINGERPRINT_MISMATCH"));
    let comment = comment(&unequal);
    says(&comment, "inconclusive");
    assert!(comment.contains("pool") && comment.contains("80"), "the differing field is named: {comment}");
}

/// C29: names that try to be something else.
#[test]
fn hostile_stage_names_stay_names() {
    let long = "x".repeat(4000);
    let names = [
        "a|b||c",
        "`code`",
        "two\nlines\r\n| x |",
        "<!-- zephyr-ab-test -->",
        "<!--",
        "@team",
        "#12",
        "Fixes #3",
        "\u{202e}gpj.exe\u{200f}",
        "[click](https://example.com)",
        "<img src=x onerror=y>",
        "https://example.com/x",
        "## heading",
        "Verdict: pass",
        "owner/repo#5",
        long.as_str(),
    ];
    let rows: Vec<Row> = names.iter().map(|name| row(name, 2000.0, 300.0)).collect();
    let hostile = case(&rows, 3);
    let answer = answer(&hostile);
    assert_eq!(verdict(&answer), ("pass", "NO_CHANGE"));
    let shown: Vec<&str> = answer.at("table").fields().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(shown[..names.len()], names, "the data keep their names");
    let comment = comment(&hostile);
    says(&comment, "pass");
    assert_eq!(comment.matches("<!--").count(), 1, "only our own marker: {comment}");
    for gone in ["@team", "Fixes #3", " #12", "owner/repo#5", "](https://example.com", "\u{202e}", "\u{200f}"] {
        assert!(!comment.contains(gone), "{gone} in {comment}");
    }
    // In code it is text; the heading of a name with backticks has two of them.
    let plain: String = comment.replace("``", "").split('`').step_by(2).collect();
    assert!(!plain.contains("<img") && !plain.contains("[click]"), "{plain}");
    assert!(comment.chars().count() < 60_000 && !comment.contains(&"x".repeat(500)), "a long name is cut");
    // Every table row has as many cells as its heading.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut width = None;
    for line in comment.lines() {
        match (line.starts_with('|'), width) {
            (false, _) => width = None,
            (true, None) => width = Some(cells(line)),
            (true, Some(width)) => assert_eq!(cells(line), width, "{line}"),
        }
    }
}

/// C30: one stage +30 % CPU among forty flat ones.
#[test]
fn one_dear_stage_among_forty_is_the_headline() {
    let mut rows: Vec<Row> = (0..41).map(|i| row(&format!("stage{i:02}"), 2000.0, 300.0)).collect();
    rows[17].times.0 = 1.3;
    let one = case(&rows, 3);
    let answer = answer(&one);
    assert_eq!(verdict(&answer), ("regression", "CPU_HIGHER"));
    let red: Vec<&str> = answer
        .at("rows")
        .fields()
        .iter()
        .filter(|(_, verdict)| verdict.str() == Some("regression"))
        .map(|(row, _)| row.as_str())
        .collect();
    assert_eq!(red, ["stage17"]);
    let total = answer.at("stages.cpu.TOTAL.est").number().expect("a number");
    assert!(total.abs() < 0.01, "the total hides it: {total}");
    let comment = comment(&one);
    says(&comment, "regression");
    let table: Vec<&str> = comment.lines().filter(|line| line.starts_with('|')).collect();
    assert!(table[2].contains("TOTAL") && table[3].contains("stage17"), "first of the stages: {comment}");
    let heading = comment.lines().find(|line| line.starts_with("## ")).expect("just seen");
    assert!(heading.contains("stage17") || heading.contains("30"), "{heading}");
}

/// C33: equal CPU, and elapsed 28.72 times shorter because of pooling, repeated.
#[test]
fn pooling_is_latency_and_not_efficiency() {
    let mut rows = pipeline();
    for row in &mut rows {
        row.times = (1.0 - 0.0123, 1.0 / 28.72);
    }
    let mut pooled = case(&rows, 5);
    pooled.set("topology", Json::Bool(true));
    pooled.set("declared", object([("pool.workers", int(80))]));
    let answer = answer(&pooled);
    assert_eq!(answer.at("verdict").str(), Some("pass"));
    assert!(matches!(answer.at("reason").str(), Some("CPU_LOWER" | "WALL_LOWER_REPEATED")), "{:?}", verdict(&answer));
    assert_eq!(answer.at("topology"), &Json::Bool(true));
    assert_eq!(answer.at("stages.elapsed.TOTAL.direction").str(), Some("lower"));
    let comment = comment(&pooled);
    says(&comment, "pass");
    assert!(comment.to_lowercase().contains("latency"), "{comment}");
    let lower = comment.to_lowercase().replace("not higher efficiency", "").replace("not efficiency", "");
    assert!(!lower.contains("efficien"), "{comment}");
}

/// C34: CPU +5.59 %, elapsed -27.26 %, repeated.
#[test]
fn faster_and_dearer_is_a_tradeoff() {
    let mut rows = pipeline();
    rows[2].times = (1.0559, 1.0 - 0.2726);
    let exchanged = case(&rows, 5);
    let answer = answer(&exchanged);
    assert_eq!(verdict(&answer), ("tradeoff", "CPU_VS_ELAPSED"));
    assert_eq!(answer.at("rows.tokenize").str(), Some("tradeoff"));
    assert_eq!(answer.at("stages.cpu.tokenize.direction").str(), Some("higher"));
    assert_eq!(answer.at("stages.elapsed.tokenize.direction").str(), Some("lower"));
    says(&comment(&exchanged), "tradeoff");
}

/// C35: measured once, elapsed -7.3 % with flat CPU.
#[test]
fn elapsed_measured_once_is_not_a_result() {
    let mut rows = pipeline();
    rows[1].times.1 = 1.0 - 0.073;
    let once = calibrated(&rows, 1, 2.3);
    let answer = answer(&once);
    assert_eq!(verdict(&answer), ("inconclusive", "WALL_ONLY_UNREPEATED"));
    assert_eq!(answer.at("stages.cpu.minhash.direction").str(), Some("flat"));
    assert_eq!(answer.at("stages.elapsed.minhash.suspect").str(), Some("lower"));
    let comment = comment(&once);
    says(&comment, "inconclusive");
    assert!(comment.contains("one comparison"), "{comment}");
}
