//! The published vectors: every verdict, and every number whose function the procedure or a compared method uses.

use std::collections::{BTreeMap, BTreeSet};

use stats::calibration::{Setting, calibrate, grade, helmert};
use stats::classic::{bootstrap_ratio_ci, mann_whitney, mwu_min_two_sided_p, welch_t};
use stats::config::Metric;
use stats::family::holm;
use stats::sample::{Sample, moments};
use stats::simulate::goals::binomial_limit;
use stats::special::{t_quantile, t_sf, trigamma_inverse};
use stats::spending::{alpha_spend, default_looks, episode_alpha};
use stats::variance::{q80_scale, squeeze};
use stats::{Config, Grade, Reason};

use crate::reference::unequal;
use crate::support::json::{Json, num, object, text};
use crate::support::root;

/// Functions of the reference that neither the procedure nor a compared method uses.
const ASIDE: &[&str] = &[
    "hodges_lehmann_paired",
    "hodges_lehmann_two",
    "median_ci",
    "fieller",
    "benjamini_hochberg",
    "tost_paired",
    "paired_t_log",
];

fn vectors(kind: &str) -> Vec<Json> {
    let file = std::fs::read_to_string(root().join("tests/stats/vectors.json")).expect("the vectors");
    Json::read(&file).at("vectors").items().iter().filter(|v| v.at("kind").str() == Some(kind)).cloned().collect()
}

fn f(value: &Json) -> f64 {
    value.number().unwrap_or_else(|| panic!("a number: {value}"))
}

fn list(value: &Json) -> Vec<f64> {
    value.items().iter().map(f).collect()
}

fn whole(value: &Json) -> u64 {
    value.to_string().parse().unwrap_or_else(|_| panic!("a count: {value}"))
}

fn names(value: &Json) -> Vec<&str> {
    value.items().iter().map(|v| v.str().expect("text")).collect()
}

fn numbers(values: &[f64]) -> Json {
    Json::List(values.iter().map(|v| num(*v)).collect())
}

/// `ours` says what `expected` says; numbers within the vector's own tolerance, absolute where the value is 0.
fn agrees(id: &str, ours: &Json, expected: &Json, tol: f64) {
    match (ours, expected) {
        (Json::Num(_), Json::Num(_)) => {
            let (a, b) = (f(ours), f(expected));
            let allowed = if b == 0.0 { tol.max(f64::MIN_POSITIVE) } else { tol * b.abs() };
            assert!((a - b).abs() <= allowed, "{id}: {a} against {b}");
        }
        (Json::List(a), Json::List(b)) => {
            assert_eq!(a.len(), b.len(), "{id}");
            a.iter().zip(b).for_each(|(a, b)| agrees(id, a, b, tol));
        }
        (Json::Object(_), Json::Object(fields)) => {
            for (key, b) in fields {
                agrees(&format!("{id}.{key}"), ours.at(key), b, tol);
            }
        }
        _ => assert_eq!(ours, expected, "{id}"),
    }
}

#[allow(clippy::too_many_lines)] // one arm for each function
fn answer(function: &str, input: &Json) -> Option<Json> {
    let at = |key: &str| input.at(key);
    Some(match function {
        "t_quantile" => {
            let df = f(at("df"));
            numbers(&list(at("p")).into_iter().map(|p| t_quantile(p, df)).collect::<Vec<_>>())
        }
        "t_sf" => {
            numbers(&list(at("t")).into_iter().zip(list(at("df"))).map(|(t, df)| t_sf(t, df)).collect::<Vec<_>>())
        }
        "trigamma_inverse" => numbers(&list(at("x")).into_iter().map(trigamma_inverse).collect::<Vec<_>>()),
        "squeeze_var" => {
            let s2 = list(at("s2"));
            let out = squeeze(&s2, &list(at("df")), f(at("floor")), f(at("d0_cap")), &vec![true; s2.len()]);
            let s02 = if out.s02.is_finite() { num(out.s02) } else { Json::Null };
            object([("d0", num(out.d0)), ("s02", s02), ("post_var", numbers(&out.post)), ("post_df", numbers(&out.df))])
        }
        "holm" => {
            let p = list(at("p"));
            let adjusted = holm(&p, p.len());
            let reject = adjusted.iter().map(|p| Json::Bool(*p <= f(at("alpha")))).collect();
            object([("adjusted", numbers(&adjusted)), ("reject", Json::List(reject))])
        }
        "holm_family" => numbers(&holm(&list(at("p")), usize::try_from(whole(at("family"))).expect("small"))),
        "q80_scale" => num(q80_scale(&mut list(at("x")))),
        "alpha_spend" => {
            let looks: Vec<u64> = at("looks").items().iter().map(whole).collect();
            numbers(&alpha_spend(&looks, f(at("alpha")), i32::try_from(whole(at("rho"))).expect("small")))
        }
        "episode_alpha" => {
            let episodes = at("episode").items().iter().map(whole);
            numbers(&episodes.map(|j| episode_alpha(f(at("alpha")), j, f(at("share")))).collect::<Vec<_>>())
        }
        "alphas" => {
            let mut config = Config { alpha_eq: f(at("alpha_eq")), episode: whole(at("episode")), ..Config::default() };
            config.alpha_reg.cpu = f(at("alpha_reg"));
            config.looks = Some(at("looks").items().iter().map(whole).collect());
            config.look_index = Some(whole(at("look_index")));
            let (regression, equivalence) = config.alphas(Metric::Cpu);
            object([("alpha_reg", num(regression)), ("alpha_eq", num(equivalence))])
        }
        "helmert" => numbers(&helmert(&list(at("y")))),
        "calibrate" => {
            let trials: Vec<BTreeMap<String, f64>> = at("trials")
                .items()
                .iter()
                .map(|trial| trial.fields().iter().map(|(row, v)| (row.clone(), f(v))).collect())
                .collect();
            let ratios = calibrate(&trials, &names(at("rows")));
            Json::Object(ratios.into_iter().map(|(row, ratios)| (row, numbers(&ratios))).collect())
        }
        "grade" => {
            let mut setting = Setting::default();
            for (key, value) in input.fields() {
                let yes = *value == Json::Bool(true);
                match key.as_str() {
                    "k" => {}
                    "age_days" => setting.age_days = f(value),
                    "same_sample" => setting.same_sample = yes,
                    "same_image" => setting.same_image = yes,
                    "same_pool" => setting.same_pool = yes,
                    "same_host" => setting.same_host = yes,
                    other => panic!("{other}"),
                }
            }
            text(grade(usize::try_from(whole(at("k"))).expect("small"), setting).word())
        }
        "default_looks" => Json::List(
            at("cases")
                .items()
                .iter()
                .map(|case| {
                    let word = case.at("0").str().expect("a grade");
                    let grade = [Grade::A, Grade::A5, Grade::B, Grade::C].into_iter().find(|g| g.word() == word);
                    let rows = usize::try_from(whole(case.at("1"))).expect("small");
                    let looks = default_looks(grade.expect("a grade"), rows);
                    Json::List(looks.iter().map(|n| Json::Num(n.to_string())).collect())
                })
                .collect(),
        ),
        "binomial_limit" => {
            let limit = |case: &Json| binomial_limit(whole(case.at("0")), f(case.at("1")), f(at("q")));
            Json::List(at("cases").items().iter().map(|case| Json::Num(limit(case).to_string())).collect())
        }
        "reason_classes" => {
            Json::Object(Reason::ALL.iter().map(|r| (r.code().to_owned(), text(r.verdict().word()))).collect())
        }
        "unpaired_moments" => {
            let m =
                moments(&Sample::Unpaired { control: list(at("control_log")), treatment: list(at("treatment_log")) });
            object([
                ("est", num(m.est)),
                ("ss_pair", num(m.ss)),
                ("df", Json::Num(m.nu.to_string())),
                ("inv_n", num(m.inv)),
                ("rest_higher", num(m.rest[0])),
                ("rest_lower", num(m.rest[1])),
            ])
        }
        "welch_t" => {
            let w = welch_t(&list(at("control")), &list(at("treatment")), f(at("conf"))).expect("two arms that vary");
            object([
                ("t", num(w.t)),
                ("df", num(w.df)),
                ("p_two_sided", num(w.p_two_sided)),
                ("diff_lo", num(w.diff_lo)),
                ("diff_hi", num(w.diff_hi)),
            ])
        }
        "mwu_exact" | "mwu_asymptotic" => {
            let m = mann_whitney(&list(at("control")), &list(at("treatment"))).expect("two arms");
            assert_eq!(m.exact, function == "mwu_exact");
            object([
                ("u_treatment", num(m.u_treatment)),
                ("p_two_sided", num(m.p_two_sided)),
                ("p_greater", num(m.p_greater)),
            ])
        }
        "mwu_min_two_sided_p" => {
            let p = |n: &Json| mwu_min_two_sided_p(u32::try_from(whole(n)).expect("small"));
            numbers(&at("n").items().iter().map(p).collect::<Vec<_>>())
        }
        _ => return None,
    })
}

#[test]
fn stat_vectors() {
    let (mut used, mut aside) = (BTreeSet::new(), BTreeSet::new());
    for vector in vectors("stat") {
        let function = vector.at("fn").str().expect("a name").to_owned();
        let (input, expected, id) = (vector.at("input"), vector.at("expected"), vector.at("id").str().expect("an id"));
        if ASIDE.contains(&function.as_str()) {
            aside.insert(function);
            continue;
        }
        if function == "bootstrap_ratio_ci" {
            bootstrap_keeps_its_properties(input, expected);
        } else if id == "holm_nan" {
            assert!(expected.str().is_some_and(|text| text.starts_with("error")), "{expected}");
            a_missing_p_value_stays_missing();
        } else if id == "squeeze_var_floor" {
            the_floor_comes_before_the_prior(input, expected);
        } else {
            let ours = answer(&function, input).unwrap_or_else(|| panic!("nobody answers {function}"));
            agrees(id, &ours, expected, f(vector.at("tol")));
            if let Json::Object(fields) = expected
                && matches!(function.as_str(), "reason_classes" | "calibrate")
            {
                assert_eq!(ours.fields().len(), fields.len(), "{id}: neither more nor fewer");
            }
        }
        used.insert(function);
    }
    println!("functions tested: {used:?}\nkept aside: {aside:?}");
    assert_eq!(used.len() + aside.len(), 29, "every function of the vectors is either used or kept aside");
}

/// Here the vector and the reference differ, and the reference is the procedure. The vector holds each variance at the
/// floor; the reference raises the variances to the floor first and learns the prior from what is then there, so that
/// they end a little above it. Identical repeats never give zero noise in either.
fn the_floor_comes_before_the_prior(input: &Json, expected: &Json) {
    assert_eq!(list(expected.at("post_var")), [4e-6; 4]);
    let reference = 4.362_821_512_162_593e-6;
    let ours = answer("squeeze_var", input).expect("answered");
    agrees("squeeze_var_floor", ours.at("post_var"), &numbers(&[reference; 4]), 1e-9);
    agrees("squeeze_var_floor", ours.at("post_df"), expected.at("post_df"), 1e-9);
}

/// It is neither 0 nor 1 nor anything between, and the others are adjusted as if it were the largest.
fn a_missing_p_value_stays_missing() {
    let adjusted = holm(&[0.001, f64::NAN, 0.04], 3);
    assert!(adjusted[1].is_nan(), "{adjusted:?}");
    assert_eq!([adjusted[0], adjusted[2]], [0.003, 0.08]);
}

fn bootstrap_keeps_its_properties(input: &Json, expected: &Json) {
    assert_eq!(expected.at("properties").items().len(), 6, "the properties below");
    let (control, treatment) = (list(input.at("control")), list(input.at("treatment")));
    let conf = f(input.at("conf"));
    for seed in 0..50 {
        let (lo, hi) = bootstrap_ratio_ci(&control, &treatment, conf, 500, seed).expect("three values per arm");
        assert_eq!(bootstrap_ratio_ci(&control, &treatment, conf, 500, seed), Some((lo, hi)));
        let most = |x: &[f64]| x.iter().copied().fold(f64::MIN, f64::max);
        let least = |x: &[f64]| x.iter().copied().fold(f64::MAX, f64::min);
        assert!(least(&treatment) / most(&control) <= lo && lo <= hi && hi <= most(&treatment) / least(&control));
        let by_seven = |x: &[f64]| x.iter().map(|v| v * 7.0).collect::<Vec<_>>();
        let scaled = bootstrap_ratio_ci(&by_seven(&control), &by_seven(&treatment), conf, 500, seed).expect("the same");
        assert!((scaled.0 - lo).abs() < 1e-12 && (scaled.1 - hi).abs() < 1e-12);
        assert_eq!(bootstrap_ratio_ci(&[3.0; 4], &[3.0; 4], conf, 100, seed), Some((1.0, 1.0)));
        assert_eq!(bootstrap_ratio_ci(&[3.0], &treatment, conf, 100, seed), None);
        assert_eq!(bootstrap_ratio_ci(&control, &[3.0], conf, 100, seed), None);
    }
}

/// Every field that is expected is there and equal.
fn includes(place: &str, ours: &Json, expected: &Json) {
    if let Json::Object(fields) = expected {
        for (key, wanted) in fields {
            includes(&format!("{place}.{key}"), ours.at(key), wanted);
        }
        return;
    }
    let found = unequal(ours, expected, place);
    assert!(found.is_none(), "{}", found.expect("just seen"));
}

/// The answer for one treatment has everything that is expected of it.
fn judged_as(id: &str, ours: &Json, expected: &Json) {
    for key in ["verdict", "reason", "rows"] {
        let Some(wanted) = expected.get(key) else { continue };
        // A treatment that was decided earlier has no rows of its own.
        let found = unequal(ours.get(key).unwrap_or(&Json::Null), wanted, key);
        assert!(found.is_none(), "{id}: {}", found.expect("just seen"));
    }
    let keys = |value: &Json| value.fields().iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    if let Some(table) = expected.get("table") {
        assert_eq!(keys(ours.at("table")), keys(table), "{id}");
        includes(id, ours.at("table"), table);
    }
    let Some(directions) = expected.get("directions") else { return };
    let none = object([]);
    let stages = ours.get("stages").unwrap_or(&none);
    assert_eq!(keys(stages), keys(directions), "{id}");
    for (metric, rows) in directions.fields() {
        assert_eq!(keys(stages.at(metric)), keys(rows), "{id} {metric}");
        for (row, fields) in rows.fields() {
            includes(&format!("{id} {metric}.{row}"), stages.at(metric).at(row), fields);
        }
    }
}

#[test]
fn verdict_vectors() {
    let vectors = vectors("verdict");
    for vector in &vectors {
        let id = vector.at("id").str().expect("an id");
        let expected = vector.at("expected");
        let case = match stats::input::parse(&vector.to_string()) {
            Ok(case) => case,
            Err(error) => {
                assert_eq!(expected.get("usage_error"), Some(&Json::Bool(true)), "{id}: {error}");
                continue;
            }
        };
        assert_eq!(expected.get("usage_error"), None, "{id} must be refused");
        let ours = Json::of(&stats::judge(&case));
        judged_as(id, &ours, expected);
        for key in ["headline", "reason", "verdict"] {
            assert_eq!(ours.get(key).filter(|_| expected.get(key).is_some()), expected.get(key), "{id} {key}");
        }
        for (name, wanted) in expected.get("treatments").map_or(&[][..], Json::fields) {
            judged_as(&format!("{id} {name}"), ours.at("treatments").at(name), wanted);
        }
    }
    assert_eq!(vectors.len(), 37);
}
