//! Views to render: of the vectors of the procedure, with a reason forced on them, and with everything known.

use std::sync::LazyLock;

use domain::view::{
    ArmFacts, Average, Busy, Calibrated, Cell, Difference, Earlier, Fingerprint, Happening, Infrastructure, Job,
    Judgement, Moment, Ordered, Output, PerMetric, Provenance, Reason, Surface, TableRow, Texts, Trouble, Verdict,
    View, Why,
};
use report::Renderer;
use serde_json::Value;

/// The vectors that carry a case, by id.
pub(crate) fn vectors() -> &'static [(String, Value)] {
    static ALL: LazyLock<Vec<(String, Value)>> = LazyLock::new(read);
    &ALL
}

fn read() -> Vec<(String, Value)> {
    let all: Value = serde_json::from_str(include_str!("../../../../tests/stats/vectors.json")).unwrap();
    let list = all.as_array().or_else(|| all["vectors"].as_array()).unwrap().clone();
    list.into_iter()
        .filter(|v| v["kind"] == "verdict" && v["expected"]["usage_error"] != Value::Bool(true))
        .map(|v| (v["id"].as_str().unwrap().to_owned(), v))
        .collect()
}

/// The input of a vector, to be changed and judged.
pub(crate) fn input(id: &str) -> Value {
    vectors().iter().find(|(name, _)| name == id).unwrap().1.clone()
}

/// The view of a case.
pub(crate) fn judged(input: &Value) -> View {
    let case = stats::input::parse(&input.to_string()).unwrap();
    View::of_case(&case, &stats::judge(&case), Texts::default())
}

/// The view of a vector.
pub(crate) fn vector(id: &str) -> View {
    judged(&input(id))
}

/// A view whose only treatment got `reason`, found before any statistics.
pub(crate) fn blocked(reason: Reason) -> View {
    let mut view = vector("v01_aa_n3");
    for treatment in &mut view.treatments {
        let judgement = treatment.judgement.as_mut().unwrap();
        judgement.reason = reason;
        judgement.verdict = reason.verdict();
        judgement.rows = None;
        judgement.stages = PerMetric::default();
        for (_, row) in &mut judgement.table.0 {
            for cell in [&mut row.cpu, &mut row.elapsed] {
                (cell.lo, cell.hi, cell.interval, cell.judged, cell.why) =
                    (None, None, None, false, Some(Why::Reason(reason)));
            }
        }
    }
    view
}

/// A judgement of `rows` that nothing was decided on.
pub(crate) fn unjudged(rows: Vec<(String, f64, f64)>) -> Judgement {
    let cell = |control: f64, treatment: f64| Cell {
        control: Some(control),
        treatment: Some(treatment),
        n_control: 1,
        n_treatment: 1,
        ratio: Some(treatment / control),
        lo: None,
        hi: None,
        interval: None,
        judged: false,
        why: Some(Why::Reason(Reason::NoCalibration)),
    };
    let row = |(name, control, treatment): (String, f64, f64)| {
        let both = Some([Some(1000.0), Some(1000.0)]);
        let row = TableRow {
            cpu: cell(control, treatment),
            elapsed: cell(control, treatment),
            items: both,
            bytes_processed: both,
            total_shards: both,
            mem_peak: [Some(6e9), Some(6e9)],
        };
        (name, row)
    };
    Judgement {
        verdict: Verdict::Inconclusive,
        reason: Reason::NoCalibration,
        rows: None,
        stages: PerMetric::default(),
        notes: Ordered::default(),
        table: Ordered(rows.into_iter().map(row).collect()),
        grade: None,
        declared: Vec::new(),
        topology: false,
        decided: false,
    }
}

/// Everything that can be known beside the measurements.
pub(crate) fn complete(mut view: View) -> View {
    let text = |s: &str| s.to_owned();
    let job = |id: &str| Job { id: text(id), url: Some(format!("https://iris.example/job{id}")) };
    view.workload =
        ["sample gs://bucket/sample_1", "stages exact..fuzzy", "48 workers × 2 CPU, 16 GiB"].map(text).to_vec();
    view.control.sha = Some(text("8ae7a94f0c21d3b4a5968778695a4b3c2d1e0f99"));
    view.control.base_ref = Some(text("main"));
    view.control.behind = Some(3);
    view.control.jobs = vec![job("/ab/zephyr-ab-k7m2-1-control")];
    for treatment in &mut view.treatments {
        treatment.sha = Some(text("c0ffee1234567890c0ffee1234567890c0ffee12"));
        treatment.jobs = vec![job("/ab/zephyr-ab-k7m2-1-head")];
        treatment.declared =
            vec![Difference { field: text("pool_ram"), control: Some(text("16GiB")), treatment: Some(text("24GiB")) }];
        treatment.outputs = vec![Output { name: text("dedup"), digest: text("sha256:aa") }];
    }
    view.control.outputs = vec![Output { name: text("dedup"), digest: text("sha256:aa") }];
    view.calibration =
        view.calibration.map(|c| Calibrated { age_days: Some(9), frozen: Some(text("2026-11-20")), ..c });
    view.rounds.planned = Some(5);
    view.infrastructure = Some(Infrastructure {
        arms: vec![
            ArmFacts {
                arm: text("control"),
                happened: Vec::new(),
                host_classes: vec![text("n2-standard-8")],
                ..ArmFacts::default()
            },
            ArmFacts {
                arm: text("treatment"),
                happened: vec![(Happening::Preemption, 1), (Happening::Retry, 2)],
                host_classes: vec![text("n2-standard-8")],
                ..ArmFacts::default()
            },
        ],
        replaced_rounds: Some(1),
        priority: Some(text("batch, not preemptible")),
        busy: Some(Busy { load: 4.83, cores: 2 }),
        remarks: Vec::new(),
    });
    view.fingerprint = Some(Fingerprint {
        digest: text("sha256:1b4f0e98"),
        fields: vec![(text("pool_workers"), text("48")), (text("sample"), text("gs://bucket/sample_1"))],
        differences: Vec::new(),
    });
    view.context =
        vec![Difference { field: text("python"), control: Some(text("3.12.1")), treatment: Some(text("3.12.2")) }];
    view.averages =
        vec![Average { arm: text("control"), row: text("minhash"), cpu_pct: Some(93.4), mem_bytes: Some(2.4e9) }];
    view.timeline = vec![Moment {
        what: text("round 1, control: launcher job"),
        began: Some(text("2026-11-29 11:02 UTC")),
        seconds: Some(123_456.0),
        job: None,
    }];
    view.reproduce = vec![text("zephyr-ab run zephyr preset=light --repo . --base 8ae7a94f0c --head c0ffee1234")];
    view.queries =
        vec![text("SELECT execution_id FROM \"zephyr.stage\" WHERE execution_id IN ('20261129-110203-0a1b2c3d')")];
    view.history = vec![Earlier {
        head: text("deadbeef00112233"),
        verdict: Verdict::Inconclusive,
        said: Some(text("noise not known")),
        at: Some(text("2026-11-28")),
        url: Some(text("https://ab.example/run/k7m1")),
    }];
    view.provenance = Provenance {
        repository: Some(text("owner/name")),
        head: Some(text("c0ffee1234567890c0ffee1234567890c0ffee12")),
        merge_base: Some(text("8ae7a94f0c21d3b4a5968778695a4b3c2d1e0f99")),
        run: Some(text("zephyr-412-k7m2")),
        evidence: Some(text("sha256:9f86d081884c7d659a2f")),
        page: Some(text("https://ab.example/run/zephyr-412-k7m2")),
    };
    view.offers = vec![text("/ab-test zephyr explain <row>"), text("/ab-test zephyr rounds=+2")];
    view
}

/// What is known of a run of this machine on the command line: the control failed twice, the treatment never ran.
pub(crate) fn on_the_command_line(mut view: View) -> View {
    let text = |s: &str| s.to_owned();
    view.surface = Surface::CommandLine;
    view.control.jobs = Vec::new();
    for treatment in &mut view.treatments {
        treatment.jobs = Vec::new();
        treatment.started = Some(true);
    }
    for moment in &mut view.timeline {
        moment.job = Some(Job { id: text("/local/zab-20261129T202850Z-8d10c1b5-r1.0-1"), url: None });
    }
    view.offers = Vec::new();
    view.troubles = vec![Trouble {
        arm: text("control"),
        what: text("step guide exited with 1"),
        times: 2,
        said: vec![text("usage: bench.py"), text("name one step: `start`, @team | x")],
    }];
    view.control.errors = vec![text("round 1: step guide exited with 1"), text("  usage: bench.py")];
    view
}

/// The renderer with the built-in templates.
pub(crate) fn renderer() -> &'static Renderer {
    static BUILT_IN: LazyLock<Renderer> = LazyLock::new(|| Renderer::new().unwrap());
    &BUILT_IN
}

/// The comment of a view.
pub(crate) fn comment(view: &View) -> String {
    renderer().comment(view).unwrap().body
}
