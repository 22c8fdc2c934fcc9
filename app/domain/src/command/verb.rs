//! The table of verbs.

/// What every command line begins with.
pub const PREFIX: &str = "/ab-test";

/// What a command wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerbKind {
    /// A comparison.
    Run,
    /// What a comparison would be; nothing starts.
    Plan,
    /// A plan that waits may start.
    Confirm,
    /// How far things are.
    Status,
    /// No further.
    Cancel,
    /// Once more what the infrastructure spoilt.
    Retry,
    /// Runs of the same code, into the calibration.
    Calibrate,
    /// Runs of the same code, as a comparison.
    Aa,
    /// Jobs that ran already.
    Compare,
    /// How a number came to be.
    Explain,
    /// No benchmark is needed.
    Skip,
    /// The verdict is accepted.
    Accept,
    /// Whether pushes run it again.
    Auto,
    /// How to ask.
    Help,
}

/// Who may ask for it, at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Whoever may comment.
    Anyone,
    /// Whoever may read the repository.
    Read,
    /// Whoever may push to it.
    Write,
    /// Whoever asked for what is going on, or may push.
    RequesterOrWrite,
}

impl Who {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Anyone => "anyone",
            Self::Read => "read access",
            Self::Write => "write access",
            Self::RequesterOrWrite => "the requester, or write access",
        }
    }
}

/// What follows the verb that is no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positional {
    /// Nothing.
    None,
    /// The digest of a plan, or nothing.
    Digest,
    /// A reason: the rest of the line.
    Reason,
    /// The name of a row: the rest of the line.
    Row,
    /// `on` or `off`.
    State,
}

impl Positional {
    /// How it is written in the form of the command.
    #[must_use]
    pub fn form(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Digest => " [plan digest]",
            Self::Reason => " <reason>",
            Self::Row => " <row>",
            Self::State => " on|off",
        }
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Digest => "digest",
            Self::Reason => "reason",
            Self::Row => "row",
            Self::State => "state",
        }
    }
}

/// Which pairs follow the verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// None.
    None,
    /// Those of a request: [`KEYS`](crate::request::KEYS) and the suite's parameters.
    Request,
    /// `control=` and `treatment=` with jobs.
    Jobs,
}

/// A verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verb {
    /// What it wants.
    pub kind: VerbKind,
    /// The word.
    pub name: &'static str,
    /// What follows it that is no pair.
    pub positional: Positional,
    /// Which pairs follow it.
    pub pairs: Pairs,
    /// Whether it is about a suite; otherwise it may stand where the suite stands.
    pub needs_suite: bool,
    /// Who may ask for it.
    pub who: Who,
    /// What it does, in a few words.
    pub meaning: &'static str,
    /// A whole line as somebody may type it.
    pub example: &'static str,
    /// Whether there is more to it than its name: a verb that is not built is understood, and refused by name.
    pub built: bool,
}

/// What most verbs are like.
const PLAIN: Verb = Verb {
    kind: VerbKind::Run,
    name: "",
    positional: Positional::None,
    pairs: Pairs::None,
    needs_suite: true,
    who: Who::Write,
    meaning: "",
    example: "",
    built: false,
};

/// Every verb; the first is meant where none is said.
pub const VERBS: &[Verb] = &[
    Verb {
        kind: VerbKind::Run,
        name: "run",
        pairs: Pairs::Request,
        meaning: "compare the head with the merge base; the verb may be left out",
        example: "/ab-test zephyr preset=light",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Status,
        name: "status",
        needs_suite: false,
        who: Who::Read,
        meaning: "how far the runs of this pull request are",
        example: "/ab-test status",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Cancel,
        name: "cancel",
        who: Who::RequesterOrWrite,
        meaning: "stop the run and its jobs",
        example: "/ab-test zephyr cancel",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Plan,
        name: "plan",
        pairs: Pairs::Request,
        who: Who::Read,
        meaning: "what would be run, at which cost; nothing starts",
        example: "/ab-test zephyr plan preset=full",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Confirm,
        name: "confirm",
        positional: Positional::Digest,
        meaning: "start the plan that waits",
        example: "/ab-test zephyr confirm 4f2a9c1b",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Retry,
        name: "retry",
        meaning: "after a failure of the infrastructure: collect again, and run what is missing",
        example: "/ab-test zephyr retry",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Calibrate,
        name: "calibrate",
        pairs: Pairs::Request,
        meaning: "run the merge base many times, to learn the noise",
        example: "/ab-test zephyr calibrate preset=light",
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Aa,
        name: "aa",
        pairs: Pairs::Request,
        meaning: "compare the merge base with itself",
        example: "/ab-test zephyr aa preset=light",
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Compare,
        name: "compare",
        pairs: Pairs::Jobs,
        meaning: "judge jobs that already ran",
        example: "/ab-test zephyr compare control=/me/job-a treatment=head@/me/job-b",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Explain,
        name: "explain",
        positional: Positional::Row,
        who: Who::Read,
        meaning: "how the number of a row came to be",
        example: "/ab-test zephyr explain minhash",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Skip,
        name: "skip",
        positional: Positional::Reason,
        meaning: "record that no benchmark is needed, and why",
        example: "/ab-test zephyr skip only documentation",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Accept,
        name: "accept",
        positional: Positional::Reason,
        meaning: "accept a regression, and record why",
        example: "/ab-test zephyr accept the old hash was wrong",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Auto,
        name: "auto",
        positional: Positional::State,
        meaning: "whether pushes to this pull request run it again",
        example: "/ab-test zephyr auto off",
        built: true,
        ..PLAIN
    },
    Verb {
        kind: VerbKind::Help,
        name: "help",
        needs_suite: false,
        who: Who::Anyone,
        meaning: "this list, with all suites",
        example: "/ab-test help",
        built: true,
        ..PLAIN
    },
];

impl Verb {
    /// The verb where none is said.
    pub const DEFAULT: &'static Self = &VERBS[0];

    /// The verb of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<&'static Self> {
        VERBS.iter().find(|verb| verb.name == word)
    }

    /// Those that are built.
    pub fn built() -> impl Iterator<Item = &'static Self> {
        VERBS.iter().filter(|verb| verb.built)
    }

    /// The form of its line, such as `/ab-test <suite> [run] [key=value ...]`.
    #[must_use]
    pub fn form(&self) -> String {
        let suite = if self.needs_suite { "<suite>" } else { "[suite]" };
        let name = if self.kind == Self::DEFAULT.kind { format!("[{}]", self.name) } else { self.name.to_owned() };
        let pairs = match self.pairs {
            Pairs::None => "",
            Pairs::Request => " [key=value ...]",
            Pairs::Jobs => " control=<jobs> treatment=<name>@<jobs>",
        };
        format!("{PREFIX} {suite} {name}{}{pairs}", self.positional.form())
    }
}
