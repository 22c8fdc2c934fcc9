//! How much of the benchmark a change needs, from the paths that it changes.

use globset::{GlobBuilder, GlobMatcher};

use crate::error::{SuiteError, quoted};
use crate::node::Node;
use crate::parameter::{Kind, Parameter, Steps, Value};

/// The rules.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    ignore: Vec<GlobMatcher>,
    rules: Vec<Rule>,
    steps: Option<(String, Steps)>,
}

/// What a change of some paths needs.
#[derive(Clone, Debug)]
pub struct Rule {
    paths: Vec<GlobMatcher>,
    /// What kind of change it is.
    pub class: String,
    /// Places of the first and the last step.
    span: (usize, usize),
    /// Fewest pipelines at once.
    pub min_concurrency: Option<u32>,
    /// Why, for people.
    pub why: Option<String>,
}

/// What a change needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needed {
    /// Kinds of change, in the order of the rules, each with its reason.
    pub classes: Vec<(String, Option<String>)>,
    /// The steps that all rules together ask for; `None` where none fits. A value of the parameter `parameter`.
    pub stages: Option<Value>,
    /// The parameter of `stages`.
    pub parameter: Option<String>,
    /// Fewest pipelines at once.
    pub min_concurrency: Option<u32>,
    /// Changed paths that no rule names: they need the default preset.
    pub unmatched: u64,
    /// Changed paths that do not matter.
    pub ignored: u64,
}

impl Needed {
    /// Nothing that matters was changed.
    #[must_use]
    pub fn is_trivial(&self) -> bool {
        self.classes.is_empty() && self.unmatched == 0
    }
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

impl Scope {
    pub(crate) fn read(node: &Node<'_>, parameters: &[Parameter]) -> Result<Self, SuiteError> {
        let table = node.table(&["ignore", "rules", "otherwise"])?;
        let ignore = table.read("ignore", globs)?.unwrap_or_default();
        table.read("otherwise", |n| n.choice(&[("default", ())]))?;
        let steps = parameters.iter().find_map(|p| match &p.kind {
            Kind::Span(steps) => Some((p.name.clone(), steps.clone())),
            _ => None,
        });
        let mut rules = Vec::new();
        if let Some(node) = table.get("rules") {
            for node in node.list("a list of tables")? {
                let table = node.table(&["paths", "class", "stages", "min_concurrency", "why"])?;
                let stages = table.need("stages", "the steps that such a change needs")?;
                let Some((name, known)) = &steps else {
                    return Err(stages.unfit("rules need a parameter of the kind span"));
                };
                let (first, last) = match parameters.iter().find(|p| p.name == *name).map(|p| p.of_node(stages)) {
                    Some(Ok(Value::Span { first, last })) => (first, last),
                    Some(Err(error)) => return Err(error),
                    _ => return Err(stages.unfit("rules need a parameter of the kind span")),
                };
                let place = |step: &str| known.of.iter().position(|s| s == step).unwrap_or(0);
                rules.push(Rule {
                    paths: globs(table.need("paths", "which paths the rule is for")?)?,
                    class: table.need("class", "what kind of change it is")?.line()?,
                    span: (place(&first), place(&last)),
                    min_concurrency: table.read("min_concurrency", |n| n.count(1, 100_000))?,
                    why: table.read("why", Node::line)?,
                });
            }
        }
        Ok(Self { ignore, rules, steps })
    }

    /// What a change of these paths needs. A path that the suite ignores counts for nothing; else the first rule that
    /// fits it counts; the spans of all paths are joined.
    #[must_use]
    pub fn of<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Needed {
        let mut needed = Needed::default();
        let mut span: Option<(usize, usize)> = None;
        let mut hit = vec![false; self.rules.len()];
        for path in paths {
            if self.ignore.iter().any(|glob| glob.is_match(path)) {
                needed.ignored += 1;
                continue;
            }
            let rule = self.rules.iter().position(|rule| rule.paths.iter().any(|glob| glob.is_match(path)));
            match rule {
                Some(at) => hit[at] = true,
                None => needed.unmatched += 1,
            }
        }
        for (rule, _) in self.rules.iter().zip(hit).filter(|(_, hit)| *hit) {
            span = Some(span.map_or(rule.span, |(first, last)| (first.min(rule.span.0), last.max(rule.span.1))));
            needed.min_concurrency = needed.min_concurrency.max(rule.min_concurrency);
            let class = (rule.class.clone(), rule.why.clone());
            if !needed.classes.contains(&class) {
                needed.classes.push(class);
            }
        }
        if let (Some((first, last)), Some((name, steps))) = (span, &self.steps) {
            needed.stages = steps.of.get(first).zip(steps.of.get(last)).and_then(|(f, l)| steps.span(f, l).ok());
            needed.parameter = Some(name.clone());
        }
        needed
    }
}
