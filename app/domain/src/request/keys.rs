//! The table of keys.

/// A key that every suite has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What stands behind the `=`.
    pub form: &'static str,
    /// What it does, in a few words.
    pub meaning: &'static str,
    /// A pair as somebody may type it.
    pub example: &'static str,
    /// Whether it may stand more than once.
    pub repeatable: bool,
    /// Whether a comment may have it already; where it is not built it is refused by name.
    pub built: bool,
}

/// Every key that is no parameter of a suite.
pub const KEYS: &[Key] = &[
    Key {
        name: "preset",
        form: "<name>",
        meaning: "the named point of the suite's parameters to start from",
        example: "preset=light",
        repeatable: false,
        built: true,
    },
    Key {
        name: "rounds",
        form: "<n> | +<n>",
        meaning: "exactly so many rounds, judged once after the last; or so many more than there are",
        example: "rounds=5",
        repeatable: false,
        built: true,
    },
    Key {
        name: "priority",
        form: "production | interactive | batch",
        meaning: "the priority that jobs ask for, in every arm",
        example: "priority=interactive",
        repeatable: false,
        built: true,
    },
    Key {
        name: "normalize",
        form: "auto | none | item | byte",
        meaning: "what times are divided by before they are compared",
        example: "normalize=item",
        repeatable: false,
        built: true,
    },
    Key {
        name: "harness",
        form: "control | head | refuse",
        meaning: "whose benchmark runs where the change alters it: the control's in both arms, each its own, or none",
        example: "harness=control",
        repeatable: false,
        built: true,
    },
    Key {
        name: "sha",
        form: "<commit>",
        meaning: "the head that is meant; needed where the head comes from a fork",
        example: "sha=4f2a9c1",
        repeatable: false,
        built: true,
    },
    Key {
        name: "control",
        form: "<commit>",
        meaning: "the control's commit, in place of the merge base",
        example: "control=4f2a9c1",
        repeatable: false,
        built: true,
    },
    Key {
        name: "treatment",
        form: "<name>@<commit|head>[,key=value...][,env.NAME=value...]",
        meaning: "a treatment and what it declares to do differently; in place of the head as it is",
        example: "treatment=wide@head,pool_workers=96",
        repeatable: true,
        built: true,
    },
];

impl Key {
    /// The key of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}
