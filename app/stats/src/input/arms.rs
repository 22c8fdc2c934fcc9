//! Treatments, rounds, trials and rows.

use serde_json::Value;
use serde_json::value::RawValue;

use super::node::{Fields, Place, boolean, count, is_null, list, object, one_of, reading, text};
use super::{UsageError, optional_count};
use crate::case::{Arm, Confirmation, Control, Event, Events, Round, SOLE_TREATMENT, Stage, Trial};
use crate::output::TOTAL;
use crate::reason::{Origin, Reason, Verdict};

/// The fields of an arm.
pub(crate) const FIELDS: [&str; 9] = [
    "rounds",
    "trials",
    "fingerprint_mismatch",
    "declared",
    "topology",
    "confirmed",
    "confirmations",
    "blocked",
    "decided",
];

/// The treatments of a case, by name.
pub(crate) fn parse<'a>(
    raw: &'a RawValue,
    top: &Fields<'a>,
    paired: bool,
    controls: usize,
) -> Result<Vec<(String, Arm)>, UsageError> {
    let root = Place::ROOT;
    let Some(treatments) = top.get("treatments") else {
        return Ok(vec![(SOLE_TREATMENT.to_owned(), arm(top, &root, paired, controls)?)]);
    };
    debug_assert!(raw.get().starts_with('{'));
    if let Some(field) = FIELDS.iter().find(|f| top.get(f).is_some()) {
        return Err(root.field(field).expected("rounds and their flags inside treatments"));
    }
    let place = root.field("treatments");
    let named = object(treatments, &place, None)?;
    if named.is_empty() {
        return Err(place.expected("at least one treatment"));
    }
    named
        .iter()
        .map(|(name, raw)| {
            let at = place.field(name);
            if name == "control" {
                return Err(at.expected("no treatment named control"));
            }
            Ok((name.to_owned(), arm(&object(raw, &at, Some(&FIELDS))?, &at, paired, controls)?))
        })
        .collect()
}

fn arm(fields: &Fields<'_>, place: &Place<'_>, paired: bool, controls: usize) -> Result<Arm, UsageError> {
    let (key, other) = if paired { ("rounds", "trials") } else { ("trials", "rounds") };
    if fields.get(other).is_some() {
        return Err(place.field(other).expected(format!("{key}, because paired is {paired}")));
    }
    let at = place.field(key);
    let mut arm = Arm::default();
    match fields.get(key) {
        None if fields.get("decided").is_none() => return Err(at.expected("a list")),
        None => {}
        Some(raw) => {
            for (i, raw) in list(raw, &at, "a list")?.into_iter().enumerate() {
                if paired {
                    arm.rounds.push(round(raw, &at.index(i), controls)?);
                } else {
                    arm.trials.push(trial(raw, &at.index(i))?);
                }
            }
        }
    }
    if let Some(raw) = fields.get("fingerprint_mismatch") {
        arm.fingerprint_mismatch = mismatch(raw, &place.field("fingerprint_mismatch"))?;
    }
    if let Some(raw) = fields.get("declared") {
        let at = place.field("declared");
        for (name, raw) in object(raw, &at, None)?.iter() {
            arm.declared.push((name.to_owned(), any(raw, &at.field(name))?));
        }
    }
    for (name, flag) in [("topology", &mut arm.topology), ("confirmed", &mut arm.confirmed)] {
        if let Some(raw) = fields.get(name) {
            *flag = boolean(raw, &place.field(name))?;
        }
    }
    if let Some(raw) = fields.get("confirmations") {
        let at = place.field("confirmations");
        for (i, raw) in list(raw, &at, "a list")?.into_iter().enumerate() {
            let at = at.index(i);
            let fields = object(raw, &at, Some(&["control", "treatment"]))?;
            let part = |name| fields.get(name).map(|raw| trial(raw, &at.field(name))).transpose();
            arm.confirmations.push(Confirmation { control: part("control")?, treatment: part("treatment")? });
        }
    }
    if let Some(raw) = fields.get("blocked").filter(|raw| !is_null(raw)) {
        arm.blocked = Some(engine_reason(raw, &place.field("blocked"))?);
    }
    if let Some(raw) = fields.get("decided") {
        arm.decided = Some(decided(raw, &place.field("decided"))?);
    }
    Ok(arm)
}

fn mismatch(raw: &RawValue, place: &Place<'_>) -> Result<Option<Vec<Value>>, UsageError> {
    let what = "true, false or a list of differences";
    if raw.get().starts_with('[') {
        let differences = list(raw, place, what)?
            .into_iter()
            .enumerate()
            .map(|(i, raw)| any(raw, &place.index(i)))
            .collect::<Result<Vec<Value>, _>>()?;
        return Ok((!differences.is_empty()).then_some(differences));
    }
    match raw.get() {
        "true" => Ok(Some(Vec::new())),
        "false" => Ok(None),
        _ => Err(place.expected(what)),
    }
}

/// A value that is kept as it is.
fn any(raw: &RawValue, place: &Place<'_>) -> Result<Value, UsageError> {
    serde_json::from_str(raw.get()).map_err(|_| place.expected("a value of moderate size and nesting"))
}

fn engine_reason(raw: &RawValue, place: &Place<'_>) -> Result<Reason, UsageError> {
    let codes: Vec<&str> = Reason::ALL.iter().filter(|r| r.origin() != Origin::Procedure).map(|r| r.code()).collect();
    let code = text(raw, place, &format!("a reason of the engine: {}", one_of(&codes, None)))?;
    Reason::from_code(&code)
        .filter(|r| r.origin() != Origin::Procedure)
        .ok_or_else(|| place.expected(format!("a reason of the engine: {}", one_of(&codes, Some(&code)))))
}

fn decided(raw: &RawValue, place: &Place<'_>) -> Result<(Verdict, Reason), UsageError> {
    let what = "a verdict and a reason of its class";
    let fields = object(raw, place, Some(&["verdict", "reason"]))?;
    let part = |name| fields.get(name).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let (Some(verdict), Some(reason)) = (part("verdict"), part("reason")) else { return Err(place.expected(what)) };
    Reason::from_code(&reason)
        .filter(|r| r.verdict().word() == verdict)
        .map(|r| (r.verdict(), r))
        .ok_or_else(|| place.expected(what))
}

fn round(raw: &RawValue, place: &Place<'_>, controls: usize) -> Result<Round, UsageError> {
    let fields = object(raw, place, Some(&["control", "treatment"]))?;
    let (Some(control), Some(treatment)) = (fields.get("control"), fields.get("treatment")) else {
        return Err(place.expected("both control and treatment"));
    };
    let at = place.field("control");
    let control = if let Ok(index) = control.get().parse::<i64>() {
        let index = usize::try_from(index).ok().filter(|i| *i < controls);
        Control::Shared(index.ok_or_else(|| at.expected(format!("an index into control, which has {controls}")))?)
    } else {
        Control::Own(trial(control, &at)?)
    };
    Ok(Round { control, treatment: trial(treatment, &place.field("treatment"))? })
}

/// One trial.
pub(crate) fn trial(raw: &RawValue, place: &Place<'_>) -> Result<Trial, UsageError> {
    let fields = object(raw, place, Some(&["stages", "executions", "events"]))?;
    let mut trial = Trial::default();
    if let Some(raw) = fields.get("stages") {
        let at = place.field("stages");
        let rows = object(raw, &at, None)?;
        trial.stages.reserve(rows.iter().count());
        for (name, raw) in rows.iter() {
            if name == TOTAL {
                return Err(at.field(name).expected("no row named TOTAL"));
            }
            trial.stages.push((name.to_owned(), stage(raw, &at.field(name))?));
        }
    }
    trial.executions = optional_count(fields.get("executions"), &place.field("executions"))?;
    if let Some(raw) = fields.get("events") {
        trial.events = events(raw, &place.field("events"))?;
    }
    Ok(trial)
}

fn events(raw: &RawValue, place: &Place<'_>) -> Result<Events, UsageError> {
    let keys = Event::ALL.map(Event::key);
    let fields = object(raw, place, Some(&keys))?;
    let mut events = Events::default();
    for event in Event::ALL {
        if let Some(raw) = fields.get(event.key()) {
            events.set(event, count(raw, &place.field(event.key()), "a whole number of 0 to 1e9")?);
        }
    }
    Ok(events)
}

const STAGE: [&str; 8] = [
    "cpu_time_total",
    "elapsed",
    "items",
    "bytes_processed",
    "mem_peak_bytes_max",
    "total_shards",
    "row_executions",
    "status",
];

fn stage(raw: &RawValue, place: &Place<'_>) -> Result<Stage, UsageError> {
    let fields = object(raw, place, Some(&STAGE))?;
    let status = match fields.get("status") {
        None => None,
        Some(raw) => Some(text(raw, &place.field("status"), "text")?).filter(|s| s != "END"),
    };
    let metric = |name| reading(fields.get(name));
    Ok(Stage {
        cpu_time_total: metric("cpu_time_total"),
        elapsed: metric("elapsed"),
        items: metric("items"),
        bytes_processed: metric("bytes_processed"),
        mem_peak_bytes_max: metric("mem_peak_bytes_max"),
        total_shards: metric("total_shards"),
        row_executions: metric("row_executions"),
        not_ended: status,
    })
}
