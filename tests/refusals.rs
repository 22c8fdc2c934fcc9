//! What the program refuses: exit code 2, one line on stderr, nothing on stdout.

use std::fmt::Write;

use crate::support::json::{Json, num, object};
use crate::support::program::run;

const TRIAL: &str = r#"{"stages":{"map":{"cpu_time_total":100,"elapsed":60,"items":10,"bytes_processed":1000,"mem_peak_bytes_max":1000}}}"#;

/// A case of one round with other fields before it.
fn with(fields: &str) -> String {
    format!(r#"{{{fields}"rounds":[{{"control":{TRIAL},"treatment":{TRIAL}}}]}}"#)
}

/// A case of one round with something instead of a piece of it.
fn instead(of: &str, other: &str) -> String {
    let case = with("");
    assert!(case.contains(of), "{of}");
    case.replacen(of, other, 1)
}

/// Inputs that are refused for what they say.
fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let texts = [
        ("empty", String::new()),
        ("blank", " \n\t".to_owned()),
        ("truncated", with("")[..150].to_owned()),
        ("trailing text", with("") + "}"),
        ("not an object", "[1, 2]".to_owned()),
        ("a number", "7".to_owned()),
        ("nothing in it", "{}".to_owned()),
        ("NaN", instead("100", "NaN")),
        ("Infinity", instead("100", "-Infinity")),
        ("hexadecimal", instead("100", "0x64")),
        ("a comment", instead("100", "100 // seconds")),
        ("single quotes", "{'rounds': []}".to_owned()),
        ("a lone surrogate", instead("\"map\"", "\"\\ud800\"")),
        ("unknown field", with("\"colour\":1,")),
        ("misspelt field", instead("\"rounds\"", "\"round\"")),
        ("misspelt setting", with("\"config\":{\"normalise\":\"none\"},")),
        ("misspelt metric of a setting", with("\"config\":{\"margin\":{\"cpus\":0.1}},")),
        ("misspelt column", instead("\"elapsed\"", "\"elapsd\"")),
        ("misspelt event", instead("{\"stages\"", "{\"events\":{\"ooms\":1},\"stages\"")),
        ("misspelt flag", with("\"confirmd\":true,")),
        ("duplicate field", with("\"config\":{},\"config\":{},")),
        ("duplicate row", with("").replacen("{\"map\"", "{\"map\":{},\"map\"", 1)),
        ("rounds of a wrong type", "{\"rounds\":{}}".to_owned()),
        ("rounds null", "{\"rounds\":null}".to_owned()),
        ("a round of a wrong type", "{\"rounds\":[1]}".to_owned()),
        ("a round without treatment", format!("{{\"rounds\":[{{\"control\":{TRIAL}}}]}}")),
        ("a control index beyond the list", format!("{{\"rounds\":[{{\"control\":3,\"treatment\":{TRIAL}}}]}}")),
        ("a control index that is no index", format!("{{\"rounds\":[{{\"control\":-1,\"treatment\":{TRIAL}}}]}}")),
        ("stages of a wrong type", "{\"rounds\":[{\"control\":{\"stages\":[]},\"treatment\":{}}]}".to_owned()),
        ("status of a wrong type", instead("\"elapsed\"", "\"status\":1,\"elapsed\"")),
        ("a row named TOTAL", instead("\"map\"", "\"TOTAL\"")),
        ("executions of a fraction", instead("{\"stages\"", "{\"executions\":1.5,\"stages\"")),
        ("a count beyond the range", instead("{\"stages\"", "{\"events\":{\"oom\":1000000001},\"stages\"")),
        ("a grade", with("\"calibration\":{\"grade\":\"A+\"},")),
        ("a log ratio", with("\"calibration\":{\"cpu\":{\"map\":[0.1,11]}},")),
        ("a residual without df", with("\"calibration\":{\"residual\":{\"cpu\":{\"map\":{\"ss\":1}}}},")),
        ("an alpha", with("\"config\":{\"alpha_eq\":0.6},")),
        ("a negative margin", with("\"config\":{\"margin\":{\"cpu\":-0.01}},")),
        ("looks without an index", with("\"config\":{\"looks\":[1,2]},")),
        ("a look index beyond the looks", with("\"config\":{\"looks\":[1,2],\"look_index\":2},")),
        ("looks that do not increase", with("\"config\":{\"looks\":[2,2],\"look_index\":0},")),
        ("a word for a setting", with("\"config\":{\"normalize\":\"items\"},")),
        ("paired of a wrong type", with("\"config\":{\"paired\":1},")),
        ("rounds of unpaired trials", with("\"config\":{\"paired\":false},")),
        ("trials of paired rounds", with("\"trials\":[],")),
        ("rounds beside treatments", with("\"treatments\":{\"a\":{\"rounds\":[]}},")),
        ("no treatment", "{\"treatments\":{}}".to_owned()),
        ("a treatment named control", "{\"treatments\":{\"control\":{\"rounds\":[]}}}".to_owned()),
        ("an engine reason", with("\"blocked\":\"CAPACITIES\",")),
        ("a reason that no engine finds", with("\"blocked\":\"CPU_HIGHER\",")),
        ("decided against its class", with("\"decided\":{\"verdict\":\"pass\",\"reason\":\"CPU_HIGHER\"},")),
        ("a name that tries to be two lines", with("\"two\\nlines\\u001b[31m\\u202e\":1,")),
        ("a name of 10,000 characters", with(&format!("\"{}\":1,", "x".repeat(10_000)))),
        ("nesting of 100,000 levels", "[".repeat(100_000)),
        (
            "nesting where a table should be",
            with(&format!("\"config\":{}{},", "[".repeat(100_000), "]".repeat(100_000))),
        ),
        ("nested objects", "{\"rounds\":".repeat(100_000)),
    ];
    let mut all: Vec<(&str, Vec<u8>)> = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    all.push(("not UTF-8", b"{\"rounds\": [\xff]}".to_vec()));
    all.push(("a byte order mark of UTF-16", b"\xff\xfe{\0}\0".to_vec()));
    all
}

/// The one line of a refusal.
fn refused(name: &str, args: &[&str], stdin: &[u8]) -> String {
    let ran = run(args, stdin);
    assert_eq!(ran.code, Some(2), "{name}: {}{}", ran.stderr, ran.stdout);
    assert_eq!(ran.stdout, "", "{name}");
    let line = ran.stderr.strip_suffix('\n').unwrap_or_else(|| panic!("{name}: {:?}", ran.stderr));
    assert!(!line.is_empty() && !line.chars().any(char::is_control), "{name}: {line:?}");
    assert!(line.chars().count() < 2000, "{name}: {line}");
    assert!(line.contains(": expected "), "{name}: {line}");
    line.to_owned()
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let mut lines = String::new();
    for (name, input) in inputs() {
        let line = refused(name, &["judge", "--input", "-"], &input);
        writeln!(lines, "{name}\n    {line}").expect("a string");
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn the_nearest_match_is_named() {
    let near = [
        ("\"zzzzzzzz\":1,", None),
        ("\"confg\":{},", Some("config")),
        ("\"config\":{\"margn\":{}},", Some("margin")),
        ("\"calibration\":{\"grades\":\"A\"},", Some("grade")),
        ("\"blocked\":\"CAPACTY\",", Some("CAPACITY")),
    ];
    for (fields, name) in near {
        let line = refused(fields, &["judge", "--input", "-"], with(fields).as_bytes());
        if let Some(name) = name {
            assert!(line.contains(&format!("nearest: {name}")), "{line}");
        } else {
            assert!(!line.contains("nearest"), "{line}");
        }
    }
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (absent, whole) = (path("absent.json"), path("case.json"));
    std::fs::write(&whole, with("")).expect("a file");
    let size = with("").len();
    let (fits, short) = (size.to_string(), (size - 1).to_string());
    let mut lines = String::new();
    for (name, args) in [
        ("missing file", vec!["judge", "--input", &absent]),
        ("a folder", vec!["judge", "--input", folder.path().to_str().expect("UTF-8")]),
        ("too large", vec!["judge", "--input", &whole, "--max-input", &short]),
    ] {
        let line = refused(name, &args, b"").replace(folder.path().to_str().expect("UTF-8"), "FOLDER");
        writeln!(lines, "{name}\n    {}", line.replace(&short, "LIMIT")).expect("a string");
    }
    let line = refused("too large", &["judge", "--input", "-", "--max-input", &short], with("").as_bytes());
    writeln!(lines, "too large on standard input\n    {}", line.replace(&short, "LIMIT")).expect("a string");
    insta::assert_snapshot!(lines);
    let ran = run(&["judge", "--input", &whole, "--max-input", &fits], b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "exactly the limit is not above it");
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let case = with("");
    for args in [
        &["judge"][..],
        &["judge", "--input"],
        &["judge", "--input", "-", "--format", "yaml"],
        &["judge", "--input", "-", "--max-input", "0"],
        &["judge", "--input", "-", "--max-input", "many"],
        &["judge", "--input", "-", "--colour"],
        &["judge", "--input", "-", "--treatment", "nobody"],
        &["jugde"],
    ] {
        let ran = run(args, case.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_number_that_nothing_can_hold_is_a_bad_value() {
    for number in ["1e400", "-1e400", "1e-400", "123456789012345678901234567890"] {
        let ran = run(&["judge", "--input", "-"], instead("100", number).as_bytes());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{number}");
        let answer = Json::read(&ran.stdout);
        // 1e-400 is 0 in every arithmetic there is here: no time at all, and never a fast time.
        let expected = if number == "1e-400" { "ZERO_ONE_SIDED" } else { "BAD_VALUE" };
        let reason = answer.at("reason").str().expect("a code");
        assert!(reason == expected || (number == "1e-400" && reason == "CACHED"), "{number}: {reason}");
    }
}

#[test]
fn what_is_ignored_may_be_anything() {
    let deep = format!("\"context\":{}{},", "[".repeat(100_000), "]".repeat(100_000));
    for fields in [deep.as_str(), "\"context\":1e999,", "\"expected\":{\"a\":1},\"id\":null,"] {
        let ran = run(&["judge", "--input", "-"], with(fields).as_bytes());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn no_rounds_are_no_data_and_no_error() {
    let empty = object([("stages", object([]))]);
    let round = object([("control", empty.clone()), ("treatment", empty)]);
    for rounds in [Json::List(Vec::new()), Json::List(vec![round])] {
        let case = object([("config", object([("mem_limit", num(1e9))])), ("rounds", rounds)]);
        let ran = run(&["judge", "--input", "-"], case.to_string().as_bytes());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert_eq!(Json::read(&ran.stdout).at("reason").str(), Some("NO_DATA"));
    }
}
