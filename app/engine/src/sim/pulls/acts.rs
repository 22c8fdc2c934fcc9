//! What the scheduler may pick: an act each, whole in itself, so that acts can be left out one by one.

use domain::ports::forge::CheckState;
use domain::time::{DAY, HOUR, MINUTE, SECOND};

use crate::sim::chance::Chance;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Run,
    /// With the head of the moment named in full.
    RunNamed,
    More,
    Plan,
    Cancel,
    Confirm,
    Retry,
    Skip,
    Accept,
    AutoOn,
    AutoOff,
}

/// The rules of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knob {
    Auto,
    AtOnce,
    Supersede,
    Finish,
    Off,
    Checked,
}

/// A push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// Files that matter differ.
    Matters,
    /// They do not.
    SameFiles,
    /// Back to an earlier head, by force.
    Back,
}

/// A part of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Inbox,
    Pulls,
    Runs,
    Herald,
    Outbox,
    Retell,
    Reconcile,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Push {
        pull: u64,
        what: Pushed,
    },
    Draft {
        pull: u64,
        on: bool,
    },
    Close {
        pull: u64,
    },
    Reopen {
        pull: u64,
    },
    Merge {
        pull: u64,
    },
    Retarget {
        pull: u64,
    },
    Comment {
        pull: u64,
        who: usize,
        suite: usize,
        verb: Verb,
    },
    /// A button of one of our checks, counted back from the newest.
    Press {
        who: usize,
        back: usize,
        button: &'static str,
    },
    /// A person deletes our newest comment.
    Delete {
        pull: u64,
    },
    /// A person's comment begins with a line of ours.
    Paste {
        pull: u64,
    },
    /// A right is given or taken.
    Rights {
        who: usize,
    },
    Manners {
        suite: usize,
        knob: Knob,
    },
    /// The check that some suites need turns, at the newest head.
    Needed {
        pull: u64,
        state: CheckState,
    },
    /// The app is removed.
    Remove,
    /// One of the open deliveries arrives, in any order; perhaps twice.
    Deliver {
        nth: usize,
        twice: bool,
    },
    Work {
        replica: usize,
        part: Part,
    },
    /// Everything that is due is done, a few times.
    Bustle {
        rounds: u64,
    },
    Pass {
        ms: u64,
    },
    /// Until something is due.
    Due,
    /// The process of a replica dies.
    Crash {
        replica: usize,
    },
    /// The next thing that the service does dies at a point, or is held up there.
    Arm {
        after: u64,
        dies: bool,
    },
    /// What was held up goes on.
    Wake {
        nth: usize,
    },
    /// The forge wants to be left alone.
    Limit {
        ms: u64,
    },
    /// The backend is silent, or the source of measurements.
    Silence {
        ms: u64,
        source: bool,
    },
}

fn verb(chance: &mut Chance) -> Verb {
    match chance.below(100) {
        0..28 => Verb::Run,
        28..44 => Verb::RunNamed,
        44..50 => Verb::More,
        50..54 => Verb::Plan,
        54..64 => Verb::Cancel,
        64..72 => Verb::Confirm,
        72..80 => Verb::Retry,
        80..85 => Verb::Skip,
        85..89 => Verb::Accept,
        89..96 => Verb::AutoOn,
        _ => Verb::AutoOff,
    }
}

fn pass(chance: &mut Chance) -> u64 {
    match chance.below(20) {
        0 => chance.below(3 * DAY),
        1 | 2 => chance.below(5 * HOUR),
        3..8 => chance.below(15 * MINUTE),
        _ => chance.below(30 * SECOND),
    }
}

fn part(chance: &mut Chance) -> Part {
    match chance.below(100) {
        0..20 => Part::Inbox,
        20..45 => Part::Pulls,
        45..65 => Part::Runs,
        65..80 => Part::Herald,
        80..95 => Part::Outbox,
        95..98 => Part::Retell,
        _ => Part::Reconcile,
    }
}

/// What a seed is inclined to: some acts are rare in some schedules, so that long quiet stretches happen, too.
#[allow(clippy::struct_excessive_bools)] // Each is drawn and asked for apart.
struct Bent {
    closes: bool,
    retargets: bool,
    drafts: bool,
    people: bool,
    rules: bool,
    dies: bool,
}

fn act(chance: &mut Chance, bent: &Bent) -> Act {
    let pull = if chance.happens(700) { 1 } else { 2 };
    let suite = usize::from(chance.happens(200));
    // Most is done by somebody who may.
    let who = usize::try_from([0, 0, 0, 1, 1, 2, 3][usize::try_from(chance.below(7)).unwrap_or(0)]).unwrap_or(0);
    let replica = usize::from(chance.happens(300));
    let knob = chance.pick([Knob::Auto, Knob::AtOnce, Knob::Supersede, Knob::Finish, Knob::Off, Knob::Checked]);
    match chance.below(1000) {
        0..110 => {
            let what = chance.pick([Pushed::Matters, Pushed::Matters, Pushed::SameFiles, Pushed::Back]);
            Act::Push { pull, what }
        }
        110..125 if bent.drafts => Act::Draft { pull, on: chance.happens(500) },
        125..133 if bent.closes => Act::Close { pull },
        133..148 if bent.closes => Act::Reopen { pull },
        148..151 if bent.closes => Act::Merge { pull },
        151..165 if bent.retargets => Act::Retarget { pull },
        165..215 => Act::Comment { pull, who, suite, verb: Verb::Run },
        215..290 if bent.people => Act::Comment { pull, who, suite, verb: verb(chance) },
        290..310 if bent.people => {
            let button = chance.pick(["cancel", "rerun", "approve", "approve"]);
            Act::Press { who, back: usize::try_from(chance.below(3)).unwrap_or(0), button }
        }
        310..314 => Act::Delete { pull },
        314..317 => Act::Paste { pull },
        317..320 => Act::Rights { who },
        320..340 if bent.rules => Act::Manners { suite, knob },
        340..360 => {
            let state = chance.pick([CheckState::Green, CheckState::Green, CheckState::Pending, CheckState::Red]);
            Act::Needed { pull, state }
        }
        360..361 => Act::Remove,
        361..420 => Act::Deliver { nth: usize::try_from(chance.below(4)).unwrap_or(0), twice: chance.happens(150) },
        420..680 => Act::Work { replica, part: part(chance) },
        680..800 => Act::Bustle { rounds: 1 + chance.below(12) },
        800..870 => Act::Pass { ms: pass(chance) },
        870..910 => Act::Due,
        910..916 if bent.dies => Act::Crash { replica },
        916..950 if bent.dies => Act::Arm { after: 1 + chance.below(12), dies: chance.happens(500) },
        950..970 => Act::Wake { nth: usize::try_from(chance.below(3)).unwrap_or(0) },
        970..973 => Act::Limit { ms: chance.below(20 * MINUTE) },
        973..980 => Act::Silence { ms: chance.below(20 * MINUTE), source: chance.happens(500) },
        _ => Act::Bustle { rounds: 2 },
    }
}

/// The acts of a seed.
pub(super) fn acts(chance: &mut Chance) -> Vec<Act> {
    let bent = Bent {
        closes: chance.happens(350),
        retargets: chance.happens(350),
        drafts: chance.happens(350),
        people: chance.happens(700),
        rules: chance.happens(600),
        dies: chance.happens(600),
    };
    let count = 20 + chance.below(160);
    let mut acts = Vec::new();
    for suite in 0..2 {
        let knob = chance.pick([Knob::Auto, Knob::AtOnce, Knob::Supersede, Knob::Finish, Knob::Off, Knob::Checked]);
        acts.push(Act::Manners { suite, knob });
    }
    acts.extend((0..count).map(|_| act(chance, &bent)));
    acts
}
