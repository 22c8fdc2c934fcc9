//! Seeded cases of every kind. Most get deep into the statistics; each oddity has a small probability of its own.

pub(crate) mod dice;
mod knobs;
mod mutate;
mod settings;
mod world;

use crate::support::json::{Json, int, object, text};
pub(crate) use dice::Dice;
pub(crate) use mutate::{mutate, spoil};
use world::World;

/// A case before it is put together.
pub(crate) struct Draft {
    pub(crate) config: Json,
    pub(crate) calibration: Json,
    pub(crate) control: Vec<Json>,
    pub(crate) arms: Vec<(String, Json)>,
    pub(crate) paired: bool,
    pub(crate) several: bool,
}

impl Draft {
    fn assemble(self) -> Json {
        let mut case = object([]);
        if !self.config.fields().is_empty() {
            case.set("config", self.config);
        }
        if !self.calibration.fields().is_empty() {
            case.set("calibration", self.calibration);
        }
        if !self.control.is_empty() {
            case.set("control", Json::List(self.control));
        }
        if self.several {
            case.set("treatments", Json::Object(self.arms));
        } else {
            let sole = self.arms.into_iter().next().expect("an arm").1;
            case.fields_mut().extend(sole.fields().to_vec());
        }
        case
    }

    /// Every trial of one side, confirmations left out.
    pub(crate) fn trials(&mut self, treatment: bool) -> Vec<&mut Json> {
        let mut out: Vec<&mut Json> = if treatment { Vec::new() } else { self.control.iter_mut().collect() };
        for (_, arm) in &mut self.arms {
            for (key, list) in arm.fields_mut() {
                let Json::List(list) = list else { continue };
                match key.as_str() {
                    "rounds" => {
                        let side = if treatment { "treatment" } else { "control" };
                        let own = list.iter_mut().filter_map(|round| round.get_mut(side));
                        out.extend(own.filter(|trial| matches!(trial, Json::Object(_))));
                    }
                    "trials" if treatment => out.extend(list.iter_mut()),
                    _ => {}
                }
            }
        }
        out
    }

    /// Every trial of both sides.
    pub(crate) fn every_trial(&mut self, mut f: impl FnMut(&mut Json)) {
        for treatment in [false, true] {
            self.trials(treatment).into_iter().for_each(&mut f);
        }
    }

    /// The row names, in the order of their first appearance.
    pub(crate) fn rows(&mut self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        self.every_trial(|trial| {
            for (name, _) in trial.get("stages").map_or(&[][..], Json::fields) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        });
        names
    }
}

/// A case of any kind, refused ones among them.
pub(crate) fn case(seed: u64) -> Json {
    let mut dice = Dice::new(seed);
    let mut draft = draft(&mut dice);
    settings::turn(&mut draft, &mut dice);
    knobs::turn(&mut draft, &mut dice);
    let mut case = draft.assemble();
    if dice.chance(0.08) {
        mutate(&mut case, &mut dice, 0.75);
    }
    case
}

/// A case without any oddity, of one treatment in rounds: effects, noise, calibration.
pub(crate) fn plain_rounds(seed: u64) -> Json {
    let mut dice = Dice::new(seed);
    let world = World::draw(&mut dice);
    sole(&world, &mut dice).assemble()
}

fn draft(dice: &mut Dice) -> Draft {
    let world = World::draw(dice);
    match dice.weighted(&[0.72, 0.14, 0.09, 0.05]) {
        0 => sole(&world, dice),
        1 => shared(&world, dice),
        2 => unpaired(&world, dice, 1),
        _ => unpaired(&world, dice, 2),
    }
}

fn sole(world: &World, dice: &mut Dice) -> Draft {
    let effects = world.effects(dice);
    let rounds = (0..world.rounds)
        .map(|i| {
            let control = world.trial(dice, None, 2 * i);
            object([("control", control), ("treatment", world.trial(dice, Some(&effects), 2 * i + 1))])
        })
        .collect();
    Draft {
        config: object([]),
        calibration: world.calibration(dice),
        control: Vec::new(),
        arms: vec![("treatment".to_owned(), object([("rounds", Json::List(rounds))]))],
        paired: true,
        several: false,
    }
}

fn names(dice: &mut Dice, count: usize) -> Vec<String> {
    let mut names: Vec<String> =
        ["left", "right", "b<c>|`d`", "größer"].into_iter().take(count).map(str::to_owned).collect();
    if dice.chance(0.5) {
        names.reverse();
    }
    names
}

fn shared(world: &World, dice: &mut Dice) -> Draft {
    let own = dice.chance(0.2);
    let count = 1 + dice.below(3);
    let control: Vec<Json> = (0..world.rounds).map(|i| world.trial(dice, None, 2 * i)).collect();
    let arms = names(dice, count)
        .into_iter()
        .map(|name| {
            let effects = world.effects(dice);
            let rounds = (0..world.rounds)
                .map(|i| {
                    let reference = if own && dice.chance(0.5) {
                        world.trial(dice, None, 2 * i)
                    } else {
                        int(u64::try_from(i).expect("small"))
                    };
                    object([("control", reference), ("treatment", world.trial(dice, Some(&effects), 2 * i + 1))])
                })
                .collect();
            let mut arm = object([("rounds", Json::List(rounds))]);
            if dice.chance(0.12) {
                if dice.chance(0.5) {
                    arm.remove("rounds");
                }
                arm.set("decided", decided(dice));
            }
            (name, arm)
        })
        .collect();
    Draft { config: object([]), calibration: world.calibration(dice), control, arms, paired: true, several: true }
}

fn decided(dice: &mut Dice) -> Json {
    let reason = *dice.pick(stats::Reason::ALL);
    object([("verdict", text(reason.verdict().word())), ("reason", text(reason.code()))])
}

fn unpaired(world: &World, dice: &mut Dice, count: usize) -> Draft {
    let controls = 1 + dice.below(7);
    let control = (0..controls).map(|i| world.trial(dice, None, i)).collect();
    let arms = names(dice, count)
        .into_iter()
        .map(|name| {
            let effects = world.effects(dice);
            let trials = (0..world.rounds).map(|i| world.trial(dice, Some(&effects), i)).collect();
            (name, object([("trials", Json::List(trials))]))
        })
        .collect();
    let config = object([("paired", Json::Bool(false))]);
    Draft { config, calibration: world.calibration(dice), control, arms, paired: false, several: count > 1 }
}
