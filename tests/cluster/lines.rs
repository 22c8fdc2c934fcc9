//! Arms of different generations: other options, ids without a step in them, and ids of somebody else in the log. Looked at in
//! the run of a pull request.

use super::rig::{Folder, Rig, argv, option};

/// An id that nobody ran.
const INVENTED: &str = "minhash-web-20261130-000000-0badcafe";

/// The benchmark with the command line and the ids of another time, which besides names executions that are not its own.
fn older(text: &str, foreign: &str) -> String {
    let mut text = text.to_owned();
    let mut change = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    };
    change(
        "    parser.add_argument(\"--first-stage\", choices=STAGES, default=\"exact\")\n    \
         parser.add_argument(\"--last-stage\", choices=STAGES, default=\"fuzzy\")\n",
        "    parser.add_argument(\"--target\", choices=(\"all\", *STAGES), default=\"all\")\n",
    );
    change(
        "    first, last = STAGES.index(args.first_stage), STAGES.index(args.last_stage)\n    if last < first:\n        \
         parser.error(\"--last-stage must not precede --first-stage\")\n",
        "    first, last = (0, 3) if args.target == \"all\" else (STAGES.index(args.target),) * 2\n",
    );
    change("named = os.environ.get(\"BENCH_NAMED_EXECUTIONS\", \"1\") == \"1\"", "named = False");
    let print = |id: &str| {
        let line = format!("I20261130 00:00:00 1 zephyr.context Starting shared Zephyr pipeline {id}");
        format!("    print({line:?}, file=__import__(\"sys\").stderr)\n")
    };
    change(
        "    started = time.monotonic()\n",
        &format!("    started = time.monotonic()\n{}{}", print(foreign), print(INVENTED)),
    );
    text
}

/// Makes the branch `older`; returns the id of an execution of another job, which its log names.
pub(super) fn older_branch(rig: &Rig) -> String {
    let first = rig.first.get().expect("the first run");
    let foreign = first.folder.answer("control-1.0-1", "executions.json")["rows"][0][1].clone();
    let foreign = foreign.as_str().expect("an id").to_owned();
    rig.branch("older", "main", |text| older(&text, &foreign));
    foreign
}

/// `main` against the branch `older`, each by its own benchmark.
pub(super) fn of_several_generations(folder: &Folder, foreign: &str) {
    // The same workload in the words of each commit.
    let (control, treatment) = (argv(folder, "control-1.0-1"), argv(folder, "head-1.0-2"));
    let said = |argv: &[String]| {
        ["--first-stage", "--last-stage", "--target"].map(|name| option(argv, name).map(str::to_owned))
    };
    assert_eq!(said(&control), [Some("exact".to_owned()), Some("fuzzy".to_owned()), None]);
    assert_eq!(said(&treatment), [None, None, Some("all".to_owned())]);

    // Only one arm has steps in its ids, so that both are told apart by what they planned.
    assert_eq!(folder.rows("control"), folder.rows("treatment"));
    assert_eq!(folder.rows("control").len(), 5, "minhash and tokenize are alike: {:?}", folder.rows("control"));
    let executions = |arm: &str| {
        let stages = folder.rounds()[0][arm]["stages"].as_object().expect("rows");
        stages.values().map(|row| row["row_executions"].as_u64().expect("a number")).sum::<u64>()
    };
    // Two sources; exact and fuzzy have two stages, tokenize and minhash one.
    assert_eq!((executions("control"), executions("treatment")), (12, 12), "the strangers are not among them");

    let comment = folder.comment();
    let remarks = [
        format!("the log names {foreign}, which another job ran: not counted"),
        format!("the log names {INVENTED}, which the table of executions does not know: not counted"),
    ];
    for remark in remarks {
        assert!(comment.contains(&remark), "{remark}\n{comment}");
    }
    assert!(comment.contains("harness"), "the benchmark is a declared difference\n{comment}");
}
