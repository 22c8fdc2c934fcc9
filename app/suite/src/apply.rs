//! What the rules of a suite want, put into a request where that says nothing itself. The request's own keys win; then it
//! is said what the rules wanted. What comes out is a request like any other: all arms run it, and workload, fingerprint
//! and ledger follow from it.

use domain::request::Options;
use domain::scope::ScopeOf;

use crate::parameter::{Steps, Value};
use crate::preset::names_all;
use crate::resolve::{ResolveError, Resolved, resolve};
use crate::scope::{Needed, Wanted};
use crate::suite::Suite;
use crate::values::{excludes, parameter_of};

/// A request with what the rules want.
#[derive(Clone, Debug)]
pub struct Applied {
    /// What every arm runs.
    pub resolved: Resolved,
    /// The request as it was completed.
    pub options: Options,
    /// What was taken from the rules, and what they wanted where the request says less.
    pub notes: Vec<String>,
}

impl Applied {
    /// Whether the rules changed anything about what is run.
    #[must_use]
    pub fn differs(&self, request: &Options) -> bool {
        self.options != *request
    }
}

/// Completes a request by what a change needs.
///
/// # Errors
/// The request alone makes no sense for the suite. What the rules want and what does not go with the request is left out
/// and said.
pub fn apply(suite: &Suite, request: &Options, needed: &Needed) -> Result<Applied, ResolveError> {
    let plain = resolve(suite, request)?;
    let mut wishes = Wishes { suite, request, needed, asked: request.clone(), taken: Vec::new(), notes: Vec::new() };
    match wishes.fulfil(&plain) {
        Ok(None) => Ok(Applied { resolved: plain, options: request.clone(), notes: wishes.notes }),
        Ok(Some(resolved)) => {
            let mut notes = wishes.taken;
            notes.append(&mut wishes.notes);
            Ok(Applied { resolved, options: wishes.asked, notes })
        }
        Err(error) => {
            let mut notes = wishes.notes;
            let taken = wishes.taken.join("; ");
            notes.push(format!("not taken, since it does not go with the request ({error}): {taken}"));
            Ok(Applied { resolved: plain, options: request.clone(), notes })
        }
    }
}

/// The kinds of change with their reasons: `shuffle (spill and merge need skewed data), topology`.
fn kinds(of: &ScopeOf) -> String {
    let kind = |one: &domain::scope::Classified| match one.why.join("; ") {
        why if why.is_empty() => one.class.to_string(),
        why => format!("{} ({why})", one.class),
    };
    of.classes.iter().map(kind).collect::<Vec<_>>().join(", ")
}

struct Wishes<'a> {
    suite: &'a Suite,
    request: &'a Options,
    needed: &'a Needed,
    asked: Options,
    taken: Vec<String>,
    notes: Vec<String>,
}

impl Wishes<'_> {
    /// Whether the request or one of its treatments says something about a parameter, or about one that excludes it.
    fn says(&self, name: &str) -> bool {
        let parameters = &self.suite.parameters;
        let declared = self.request.treatments.iter().flat_map(|treatment| treatment.declared.parameters());
        let keys = self.request.parameters.iter().chain(declared).map(|(key, _)| key);
        keys.filter_map(|key| parameter_of(parameters, key))
            .any(|parameter| parameter.name == name || excludes(parameters, &parameter.name, name))
    }

    fn take(&mut self, what: &str, of: &ScopeOf) {
        self.taken.push(format!("{what} by the rules for {}", kinds(of)));
    }

    fn wanted(&mut self, what: &str, of: &ScopeOf, instead: &str) {
        self.notes.push(format!("the rules want {what} for {}; the request says {instead}", kinds(of)));
    }

    /// What the arms run with what the rules want; nothing where that is what they run anyhow.
    fn fulfil(&mut self, plain: &Resolved) -> Result<Option<Resolved>, ResolveError> {
        let needed = self.needed;
        if let Some(wanted) = &needed.preset {
            self.preset(plain, wanted);
        }
        if let Some(wanted) = &needed.sources {
            self.sources(plain, wanted);
        }
        let larger = if self.asked == *self.request { None } else { Some(resolve(self.suite, &self.asked)?) };
        let base = larger.as_ref().unwrap_or(plain);
        if let (Some(wanted), Some((name, steps))) = (&needed.stages, self.suite.scope.stages()) {
            self.stages(base, wanted, name, steps);
        }
        if let (Some(wanted), Some(name)) = (&needed.concurrency, &self.suite.scope.concurrency) {
            self.concurrency(base, wanted, name);
        }
        if self.asked == *self.request { Ok(None) } else { resolve(self.suite, &self.asked).map(Some) }
    }

    fn preset(&mut self, plain: &Resolved, wanted: &Wanted<String>) {
        let scope = &self.suite.scope;
        let Some(now) = &plain.preset else { return };
        if scope.rank(now) >= scope.rank(&wanted.value) {
            return;
        }
        let what = format!("preset {}", wanted.value);
        if self.request.preset.is_some() {
            return self.wanted(&what, &wanted.of, now);
        }
        self.asked.preset = Some(wanted.value.clone());
        self.take(&what, &wanted.of);
    }

    /// Sources have names that no rule knows: more of them come with a larger preset.
    fn sources(&mut self, plain: &Resolved, wanted: &Wanted<u32>) {
        let (suite, least) = (self.suite, wanted.value);
        let Some(name) = &suite.scope.sources else { return };
        let parameter = suite.parameters.iter().find(|p| p.name == *name);
        let what = format!("{least} sources at least");
        if self.says(name) {
            match plain.control.values.get(name) {
                Some(Value::List(items)) if names_all(items) || items.len() >= least as usize => {}
                Some(Value::List(items)) => self.wanted(&what, &wanted.of, &items.len().to_string()),
                _ => self.wanted(&what, &wanted.of, "otherwise"),
            }
            return;
        }
        let now = self.asked.preset.as_ref().or(plain.preset.as_ref()).and_then(|name| suite.preset(name));
        let Some(now) = now else { return };
        if now.sources(parameter) >= Some(least) {
            return;
        }
        if self.request.preset.is_some() {
            return self.wanted(&what, &wanted.of, &format!("preset {}", now.name));
        }
        let rank = |name: &str| suite.scope.rank(name);
        let larger = suite.presets.iter().filter(|preset| rank(&preset.name) > rank(&now.name));
        let fit = larger.filter(|preset| preset.sources(parameter) >= Some(least)).min_by_key(|p| rank(&p.name));
        let Some(fit) = fit else { return self.wanted(&what, &wanted.of, "nothing, and no larger preset has them") };
        self.asked.preset = Some(fit.name.clone());
        self.take(&format!("preset {}, which has {what},", fit.name), &wanted.of);
    }

    fn stages(&mut self, base: &Resolved, wanted: &Wanted<Value>, name: &str, steps: &Steps) {
        let places = |value: &Value| match value {
            Value::Span { first, last } => {
                let place = |step: &String| steps.of.iter().position(|known| known == step);
                place(first).zip(place(last))
            }
            _ => None,
        };
        let (now, all) = (base.control.values.get(name), steps.of.len().saturating_sub(1));
        let (now, Some(mut want)) = (now.and_then(places).unwrap_or((0, all)), places(&wanted.value)) else { return };
        let span = |(first, last): (usize, usize)| steps.span(steps.of.get(first)?, steps.of.get(last)?).ok();
        let label = name.replace('_', " ");
        if self.says(name) {
            if (now.0 > want.0 || now.1 < want.1)
                && let Some(now) = span(now)
            {
                self.wanted(&format!("{label} {}", wanted.value), &wanted.of, &now.to_string());
            }
            return;
        }
        // Paths that no rule knows may matter to any of the steps that the preset has.
        if self.needed.unmatched > 0 {
            want = (want.0.min(now.0), want.1.max(now.1));
        }
        if want != now
            && let Some(value) = span(want)
        {
            self.asked.parameters.push((name.to_owned(), value.to_string()));
            self.take(&format!("{label} {value}"), &wanted.of);
        }
    }

    fn concurrency(&mut self, base: &Resolved, wanted: &Wanted<u32>, name: &str) {
        let now = base.control.values.get(name);
        if now.and_then(Value::number) >= Some(f64::from(wanted.value)) {
            return;
        }
        let (label, least) = (name.replace('_', " "), wanted.value);
        if self.says(name) {
            let now = now.map_or_else(|| "otherwise".to_owned(), ToString::to_string);
            return self.wanted(&format!("{label} {least} at least"), &wanted.of, &now);
        }
        self.asked.parameters.push((name.to_owned(), least.to_string()));
        self.take(&format!("{label} {least}"), &wanted.of);
    }
}
