//! Every kind of error, with file, line and key.

use suite::{Suite, SuiteError};

use crate::{LOCAL, SCRIPTS, ZEPHYR};

fn parse(text: &str) -> Result<Suite, SuiteError> {
    Suite::parse_beside("s.toml", text, SCRIPTS)
}

/// The error without the text between two others.
fn without(text: &str, from: &str, to: &str) -> String {
    let (start, end) = (text.find(from).expect(from), text.find(to).expect(to));
    let error = parse(&format!("{}{}", &text[..start], &text[end..])).map(drop).expect_err(from);
    format!("without {from:?}\n    {error}")
}

/// The error after replacing one text by another.
fn after(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from:?} is not in the file");
    let error = parse(&text.replacen(from, to, 1)).map(drop).expect_err(to);
    format!("{from:?} -> {to:?}\n    {error}")
}

fn all(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().map(|(from, to)| after(text, from, to)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_text_is_no_toml() {
    insta::assert_snapshot!(all(
        LOCAL,
        &[
            ("[parameters]", "[parameters"),
            ("name    = \"words\"", "name    = "),
            ("title   =", "name   ="),
            ("\"high\"", "\"high"),
            ("[presets.large]", "[presets.small]"),
        ]
    ));
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(all(
        LOCAL,
        &[
            ("title   =", "titel   ="),
            ("[judging]", "[jugding]"),
            ("range = [1, 1000]", "rnage = [1, 1000]"),
            ("help =", "\"he lp\\n\" ="),
            ("set     = { size = 5 }", "set     = { sise = 5 }"),
            ("parallel = true", "paralel = true"),
            ("total_cpu", "totalcpu"),
            ("[[steps]]", "[[generations]]\nid = 1\n[[steps]]"),
            ("looks   = { A =", "looks   = { D ="),
        ]
    ));
}

#[test]
fn sections_and_keys_that_are_missing() {
    insta::assert_snapshot!(
        [
            without(LOCAL, "[[steps]]", "[judging]"),
            without(LOCAL, "[parameters]", "[presets.small]"),
            without(ZEPHYR, "[presets.light]", "# ---- 3."),
            without(ZEPHYR, "[[localities]]", "# ---- 4."),
            without(ZEPHYR, "[launcher]\n", "# ---- 5."),
            without(ZEPHYR, "[[generations]]", "[harness]"),
            without(ZEPHYR, "[metrics]", "[rows]"),
            without(ZEPHYR, "[rows]", "# ---- 7."),
            all(
                LOCAL,
                &[
                    ("schema  = 1\n", ""),
                    ("name    = \"words\"\n", ""),
                    ("backend = \"local\"\n", ""),
                    ("kind = \"int\", ", ""),
                    ("name  = \"make\"\n", ""),
                    ("limit   = { wall = \"1h 30min\" }", "limit = {}"),
                    (", default = \"1GiB\" }", " }"),
                ]
            ),
            all(ZEPHYR, &[("cluster     = \"marin\"", ""), ("log_line   =", "#"),]),
        ]
        .join("\n")
    );
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(all(
        LOCAL,
        &[
            ("schema  = 1", "schema  = \"1\""),
            ("title   = \"Words A/B test\"", "title = 3"),
            ("size   = { kind", "size   = 3 # { kind"),
            ("range = [1, 1000]", "range = 3"),
            ("range = [1, 1000]", "range = [1, 1000.5]"),
            ("default = true", "default = \"yes\""),
            ("argv  = [[\"make\", \"-j2\"]", "argv  = [\"make -j2\""),
            ("\"8%\"", "8"),
            ("\"0.5s\"", "0.5"),
            ("set     = { size = 5 }", "set     = { size = 1979-05-27 }"),
        ]
    ));
}

#[test]
fn values_that_are_not_allowed() {
    insta::assert_snapshot!(all(
        LOCAL,
        &[
            ("schema  = 1", "schema  = 2"),
            ("\"words\"", "\"Words\""),
            ("\"Words A/B test\"", "\"\""),
            ("backend = \"local\"", "backend = \"locl\""),
            ("kind = \"int\"", "kind = \"integer\""),
            ("range = [1, 1000]", "range = [1000, 1]"),
            ("range = [1, 1000]", "range = [1]"),
            ("default = 10", "default = 0"),
            ("default = 10", "default = 99999999999999999999"),
            ("default = \"1GiB\"", "default = \"1 gib\""),
            ("default = \"1GiB\"", "default = \"1KiB\""),
            ("default = [\"a.txt\", \"b.txt\"]", "default = [\"a.txt\", \"a.txt\"]"),
            ("set     = { size = 500, level = \"high\" }", "set     = { size = 500, level = \"hihg\" }"),
            ("A = [2, 4]", "A = [4, 2]"),
            ("C = [6]", "C = [2]"),
            ("\"1h 30min\"", "\"30min 1h\""),
            ("name  = \"make\"", "name  = \"../make\""),
            ("\"8%\"", "\"8\""),
            ("\"8%\"", "\"-8%\""),
            ("\"8%\"", "\"800%\""),
            ("\"5%\"", "\"9%\""),
            ("\"0.5s\"", "\"0.5\""),
            ("memory_limit = \"memory\"", "memory_limit = \"memmory\""),
            ("\"2*scale\"", "\"2*scael\""),
            ("\"uncounted-ok\"", "\"uncounted\""),
            ("[\"MALLOC_ARENA_MAX\"]", "[\"A B\"]"),
            ("SCALE =", "\"S C\" ="),
        ]
    ));
    insta::assert_snapshot!(
        "of_a_cluster",
        all(
            ZEPHYR,
            &[
                ("excludes = [\"source_fraction\"]", "excludes = [\"source_fractoin\"]"),
                ("prefix = \"gs://marin-eu-west4/\"", "prefix = \"gs://marin-eu-west4\""),
                ("region = \"europe-west4\"", "region = \"europe-west4\"\ntarget_cluster = \"x\""),
                ("priority    = \"batch\"", "priority    = \"bach\""),
                ("chars = \"a-z0-9\"", "chars = \"a-Z\""),
                ("length = 12", "length = 3"),
                ("[\"setup/uv-sync.sh\"]", "[\"../uv-sync.sh\"]"),
                ("[\"setup/uv-sync.sh\"]", "[\"setup/uv-snyc.sh\"]"),
                ("[\"setup/uv-sync.sh\"]", "[\"setup/uv-sync.sh\", \"setup/uv-sync.sh\"]"),
                ("scripts = [", "script = ["),
                ("{ scripts = [\"setup/uv-sync.sh\"], ", "{ "),
                ("[\"setup/uv-sync.sh\"], commands", "\"setup/uv-sync.sh\", commands"),
                ("file = \"experiments/datakit/zephyr_benchmark.py\"", "file = \"/etc/passwd\""),
                ("\"exact..exact\" =", "\"exact\" ="),
                ("cannot = [\"source_fraction\", \"cc_iterations\"]", "cannot = [\"source_fraction\"]"),
                ("cannot = [\"source_fraction\", ", "cannot = [\"source_fractions\", "),
                ("(?P<id>", "(?P<id"),
                ("(?P<step>", "(?P<stop>"),
                ("\"docs/**\"", "\"docs/{**\""),
                ("stages = \"tokenize..tokenize\"", "stages = \"tokenise\""),
                ("policy  = \"control\"", "policy  = \"treatment\""),
                ("on_push  = \"auto\"", "on_push  = \"automatic\""),
                ("max_lost_attempts = \"2%\"", "max_lost_attempts = \"2\""),
                ("per_repository   =", "per_repositry    ="),
                ("{ cpu_hours_per_day = 2000 }", "{ cpu_hours_a_day = 2000 }"),
                ("workers = \"pool_workers\"", "workers = \"pool_wrkers\""),
                ("shards = \"parallelism\"", "shards = \"sample\""),
            ]
        )
    );
}

#[test]
fn command_lines_that_make_no_sense() {
    insta::assert_snapshot!(
        [
            all(
                LOCAL,
                &[
                    ("SIZE={size}", "SIZE={sise}"),
                    ("SIZE={size}", "SIZE={size"),
                    ("SIZE={size}", "SIZE={size:shrt}"),
                    ("SIZE={size}", "SIZE={size:short}"),
                    ("SIZE={size}", "SIZE=3"),
                    ("{files:comma}", "{files}"),
                    ("\"{level}\", \"?\"", "\"x\", \"?\""),
                    ("[[\"make\", \"-j2\"]", "[[\"make\", \"{level}\", \"?\"]"),
                    ("[[\"make\", \"-j2\"]", "[[]"),
                    ("{scale}", "{scal}"),
                ]
            ),
            all(
                ZEPHYR,
                &[
                    ("[\"--run-tag\", \"{run_tag}\"],", ""),
                    ("map.stages =", "map.pool_cpu ="),
                    ("\"{stages:map}\"", "\"{stages:first}\""),
                ]
            ),
        ]
        .join("\n")
    );
}

#[test]
fn what_stands_twice() {
    insta::assert_snapshot!(
        [
            all(
                LOCAL,
                &[
                    ("name     = \"read\"", "name     = \"make\""),
                    ("[presets.large]", "[presets.large]\ndefault = true"),
                    ("[\"MALLOC_ARENA_MAX\"]", "[\"A\", \"A\"]"),
                    ("size   =", "rounds ="),
                    ("size   =", "steps ="),
                    ("limit = \"90s\"", "parallel = true"),
                ]
            ),
            all(
                ZEPHYR,
                &[
                    ("id   = \"range\"", "id   = \"target\""),
                    ("gs://marin-us-central1/", "gs://marin-eu-west4/"),
                    ("alias = \"target\"", "alias = \"sample\""),
                    ("optional = true, help = \"share", "optional = true, default = 0.5, help = \"share"),
                    ("source_fraction = 0.1,", "source_fraction = 0.1, sources = [\"a\"],"),
                ]
            ),
        ]
        .join("\n")
    );
}
