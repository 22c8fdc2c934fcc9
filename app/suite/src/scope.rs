//! How much of the benchmark a change needs, from the paths that it changes.

use domain::scope::{Class, ScopeOf};
use globset::{GlobBuilder, GlobMatcher};

use crate::error::SuiteError;
use crate::error::quoted;
use crate::node::{Node, Table};
use crate::parameter::{Kind, Parameter, Steps, Value};
use crate::preset::{Preset, ranked};

/// The rules.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    ignore: Vec<GlobMatcher>,
    rules: Vec<Rule>,
    steps: Option<(String, Steps)>,
    /// Names of the presets, the smallest first.
    order: Vec<String>,
    /// The parameter whose items are the sources.
    pub sources: Option<String>,
    /// The parameter that says how many pipelines run at once.
    pub concurrency: Option<String>,
}

/// What a change of some paths needs.
#[derive(Clone, Debug)]
pub struct Rule {
    paths: Vec<GlobMatcher>,
    /// What kind of change it is.
    pub class: Class,
    /// Places of the first and the last step.
    span: Option<(usize, usize)>,
    /// The smallest preset.
    pub min_preset: Option<String>,
    /// Fewest sources.
    pub min_sources: Option<u32>,
    /// Fewest pipelines at once.
    pub min_concurrency: Option<u32>,
    /// Why, for people.
    pub why: Option<String>,
}

/// Something that rules want.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted<T> {
    /// What they want.
    pub value: T,
    /// The kinds of change that want it, with the reasons.
    pub of: ScopeOf,
}

/// What a change needs: the union of what the rules want that fit its paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needed {
    /// The kinds of change, in the order of the rules. Those that cannot alter anything are among them.
    pub classes: ScopeOf,
    /// The steps that all rules together ask for; `None` where none fits. A value of the suite's span.
    pub stages: Option<Wanted<Value>>,
    /// The largest of the smallest presets.
    pub preset: Option<Wanted<String>>,
    /// Fewest sources.
    pub sources: Option<Wanted<u32>>,
    /// Fewest pipelines at once.
    pub concurrency: Option<Wanted<u32>>,
    /// Changed paths that no rule names: they need what the preset has.
    pub unmatched: u64,
    /// Changed paths that do not matter.
    pub ignored: u64,
}

impl Needed {
    /// Nothing that matters was changed.
    #[must_use]
    pub fn is_trivial(&self) -> bool {
        self.unmatched == 0 && self.classes.classes.iter().all(|one| one.class == Class::Trivial)
    }

    /// Why the suite says that paths do not matter, where it says so.
    #[must_use]
    pub fn why_trivial(&self) -> Option<String> {
        let trivial = self.classes.classes.iter().find(|one| one.class == Class::Trivial)?;
        Some(trivial.why.join("; ")).filter(|why| !why.is_empty())
    }
}

/// Takes a rule's wish into what is wanted: the larger one, and whoever wants as much.
fn want<T: Clone>(wanted: &mut Option<Wanted<T>>, rule: &Rule, value: &T, rank: impl Fn(&T) -> usize) {
    let mut of = ScopeOf::default();
    match wanted {
        Some(before) if rank(&before.value) > rank(value) => return,
        Some(before) if rank(&before.value) == rank(value) => of = before.of.clone(),
        _ => {}
    }
    of.add(rule.class, rule.why.as_deref());
    *wanted = Some(Wanted { value: value.clone(), of });
}

/// `*` stays inside a name, `**` does not, `{a,b}` is either.
fn globs(node: &Node<'_>) -> Result<Vec<GlobMatcher>, SuiteError> {
    node.list("a list of paths with *, ** and {a,b}")?
        .iter()
        .map(|node| {
            let text = node.line()?;
            let glob = GlobBuilder::new(&text).literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher())
                .map_err(|error| node.unfit(format!("{} is not a pattern of paths: {}", quoted(&text), error.kind())))
        })
        .collect()
}

const CLASSES: [(&str, Class); 5] = {
    let mut words = [("", Class::Trivial); 5];
    let mut at = 0;
    while at < words.len() {
        words[at] = (Class::ALL[at].word(), Class::ALL[at]);
        at += 1;
    }
    words
};
const KEYS: [&str; 7] = ["paths", "class", "stages", "min_preset", "min_sources", "min_concurrency", "why"];
/// Most rules of a suite and a repository together, and most patterns to be ignored.
const MOST_RULES: usize = 200;
/// What a rule asks for.
const WISHES: [&str; 4] = ["stages", "min_preset", "min_sources", "min_concurrency"];

/// What rules are read with.
struct Known<'k> {
    parameters: &'k [Parameter],
    presets: &'k [Preset],
    steps: Option<&'k (String, Steps)>,
    sources: Option<&'k Parameter>,
    concurrency: Option<&'k Parameter>,
}

impl Scope {
    pub(crate) fn read(node: &Node<'_>, parameters: &[Parameter], presets: &[Preset]) -> Result<Self, SuiteError> {
        let table = node.table(&["ignore", "rules", "otherwise", "sources", "concurrency"])?;
        let ignore = table.read("ignore", globs)?.unwrap_or_default();
        table.read("otherwise", |n| n.choice(&[("default", ())]))?;
        let steps = steps(parameters);
        let is_list = |kind: &Kind| matches!(kind, Kind::List { .. });
        let is_int = |kind: &Kind| matches!(kind, Kind::Int { .. });
        let sources = table.read("sources", |n| parameter(n, parameters, is_list))?;
        let concurrency = table.read("concurrency", |n| parameter(n, parameters, is_int))?;
        let known = Known { parameters, presets, steps: steps.as_ref(), sources, concurrency };
        let rules = table.read("rules", |node| rules(node, &known))?.unwrap_or_default();
        let named = |parameter: Option<&Parameter>| parameter.map(|p| p.name.clone());
        let (sources, concurrency) = (named(sources), named(concurrency));
        let order = ranked(presets).into_iter().map(|preset| preset.name.clone()).collect();
        Ok(Self { ignore, rules, steps, order, sources, concurrency })
    }

    /// The same with what a repository adds: its rules go before these, or instead of them. `presets` are those that
    /// there are now.
    pub(crate) fn extended(
        &self,
        node: Option<&Node<'_>>,
        parameters: &[Parameter],
        presets: &[Preset],
    ) -> Result<Self, SuiteError> {
        let order = ranked(presets).into_iter().map(|preset| preset.name.clone()).collect();
        let mut scope = Self { order, ..self.clone() };
        let Some(node) = node else { return Ok(scope) };
        let table = crate::repository::listed(node.map()?, &["ignore", "rules", "suite_rules"])?;
        if scope.steps.is_none() {
            scope.steps = steps(parameters);
        }
        let named = |name: &Option<String>| parameters.iter().find(|p| Some(&p.name) == name.as_ref());
        let (sources, concurrency) = (named(&scope.sources), named(&scope.concurrency));
        let steps = scope.steps.clone();
        let known = Known { parameters, presets, steps: steps.as_ref(), sources, concurrency };
        scope.ignore.extend(table.read("ignore", globs)?.unwrap_or_default());
        let mut rules = table.read("rules", |node| rules(node, &known))?.unwrap_or_default();
        if table.read("suite_rules", |n| n.choice(&[("after", true), ("none", false)]))?.unwrap_or(true) {
            rules.append(&mut scope.rules);
        }
        if rules.len() > MOST_RULES || scope.ignore.len() > MOST_RULES {
            return Err(node.unfit(format!("there are more than {MOST_RULES} rules, or patterns to be ignored")));
        }
        scope.rules = rules;
        Ok(scope)
    }

    /// A preset that a rule names and that is not among these.
    pub(crate) fn lacks(&self, presets: &[Preset]) -> Option<&str> {
        let named = self.rules.iter().filter_map(|rule| rule.min_preset.as_deref());
        named.into_iter().find(|name| !presets.iter().any(|preset| preset.name == *name))
    }

    /// The parameter of the steps, where the suite has one.
    #[must_use]
    pub fn stages(&self) -> Option<(&str, &Steps)> {
        self.steps.as_ref().map(|(name, steps)| (name.as_str(), steps))
    }

    /// The place of a preset among all, the smallest first.
    #[must_use]
    pub fn rank(&self, preset: &str) -> usize {
        self.order.iter().position(|name| name == preset).unwrap_or(0)
    }

    /// What a change of these paths needs. A path that the suite ignores counts for nothing; else the first rule that
    /// fits it counts. Of several rules the spans are joined and the largest of each other wish is taken.
    #[must_use]
    pub fn of<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Needed {
        let mut needed = Needed::default();
        let mut hit = vec![false; self.rules.len()];
        for path in paths {
            if self.ignore.iter().any(|glob| glob.is_match(path)) {
                needed.ignored += 1;
                continue;
            }
            match self.rules.iter().position(|rule| rule.paths.iter().any(|glob| glob.is_match(path))) {
                Some(at) => {
                    hit[at] = true;
                    needed.ignored += u64::from(self.rules[at].class == Class::Trivial);
                }
                None => needed.unmatched += 1,
            }
        }
        let mut span: Option<((usize, usize), ScopeOf)> = None;
        for (rule, _) in self.rules.iter().zip(hit).filter(|(_, hit)| *hit) {
            needed.classes.add(rule.class, rule.why.as_deref());
            if let Some(own) = rule.span {
                let (joined, of) = span.get_or_insert_with(|| (own, ScopeOf::default()));
                *joined = (joined.0.min(own.0), joined.1.max(own.1));
                of.add(rule.class, rule.why.as_deref());
            }
            if let Some(preset) = &rule.min_preset {
                want(&mut needed.preset, rule, preset, |name| self.rank(name));
            }
            if let Some(sources) = &rule.min_sources {
                want(&mut needed.sources, rule, sources, |n| *n as usize);
            }
            if let Some(concurrency) = &rule.min_concurrency {
                want(&mut needed.concurrency, rule, concurrency, |n| *n as usize);
            }
        }
        if let (Some(((first, last), of)), Some((_, steps))) = (span, &self.steps) {
            let value = steps.of.get(first).zip(steps.of.get(last)).and_then(|(f, l)| steps.span(f, l).ok());
            needed.stages = value.map(|value| Wanted { value, of });
        }
        needed
    }
}

fn rules(node: &Node<'_>, known: &Known<'_>) -> Result<Vec<Rule>, SuiteError> {
    node.list("a list of tables")?.iter().map(|node| Rule::read(&node.table(&KEYS)?, known)).collect()
}

/// The parameter of the steps.
fn steps(parameters: &[Parameter]) -> Option<(String, Steps)> {
    parameters.iter().find_map(|p| match &p.kind {
        Kind::Span(steps) => Some((p.name.clone(), steps.clone())),
        _ => None,
    })
}

/// The parameter that a key names.
fn parameter<'p>(
    node: &Node<'_>,
    parameters: &'p [Parameter],
    fits: impl Fn(&Kind) -> bool,
) -> Result<&'p Parameter, SuiteError> {
    let name = node.text()?;
    let names: Vec<&str> = parameters.iter().filter(|p| fits(&p.kind)).map(|p| p.name.as_str()).collect();
    parameters.iter().find(|p| p.name == name && fits(&p.kind)).ok_or_else(|| node.no_word(name, &names))
}

impl Rule {
    fn read(table: &Table<'_>, known: &Known<'_>) -> Result<Self, SuiteError> {
        let class = table.need("class", "what kind of change it is")?.choice(&CLASSES)?;
        if class == Class::Trivial
            && let Some(node) = WISHES.iter().find_map(|key| table.get(key))
        {
            return Err(node.unfit("a trivial change needs nothing"));
        }
        let span = match table.get("stages") {
            Some(node) => Some(span(node, known)?),
            None if class != Class::Trivial && known.steps.is_some() => {
                table.need("stages", "the steps that such a change needs")?;
                None
            }
            None => None,
        };
        let min_preset = table.read("min_preset", |node| {
            let name = node.text()?;
            let names: Vec<&str> = known.presets.iter().map(|preset| preset.name.as_str()).collect();
            if names.contains(&name) { Ok(name.to_owned()) } else { Err(node.no_word(name, &names)) }
        })?;
        let min_sources = table.read("min_sources", |node| {
            let most = node.count(1, 100_000)?;
            if known.sources.is_none() {
                return Err(node.unfit("which parameter has the sources is to be said: sources = \"...\" in [scope]"));
            }
            if !known.presets.iter().any(|preset| preset.sources(known.sources) >= Some(most)) {
                return Err(node.unfit("no preset is known to have so many sources"));
            }
            Ok(most)
        })?;
        let min_concurrency = table.read("min_concurrency", |node| {
            let least = node.count(1, 100_000)?;
            let Some(parameter) = known.concurrency else {
                return Err(node.unfit(
                    "which parameter says how many pipelines run at once is to be said: concurrency = \"...\" in [scope]",
                ));
            };
            parameter.of_node(node)?;
            Ok(least)
        })?;
        Ok(Self {
            paths: globs(table.need("paths", "which paths the rule is for")?)?,
            class,
            span,
            min_preset,
            min_sources,
            min_concurrency,
            why: table.read("why", Node::line)?,
        })
    }
}

/// Places of the first and the last step of a span.
fn span(node: &Node<'_>, known: &Known<'_>) -> Result<(usize, usize), SuiteError> {
    let unfit = || node.unfit("rules need a parameter of the kind span");
    let (name, steps) = known.steps.ok_or_else(unfit)?;
    let parameter = known.parameters.iter().find(|p| p.name == *name).ok_or_else(unfit)?;
    let Value::Span { first, last } = parameter.of_node(node)? else { return Err(unfit()) };
    let place = |step: &str| steps.of.iter().position(|s| s == step).unwrap_or(0);
    Ok((place(&first), place(&last)))
}
