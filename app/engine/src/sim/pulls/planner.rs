//! Who makes plans in the simulated world, and the folder as comments read it.

use domain::ids::{CommitSha, Digest, RunId};
use domain::plan::Plan;
use domain::ports::forge::Repo;
use domain::ports::{Desk, How, Manners, NoPlan, Planner};
use domain::pull::{Asked, Compared, FromPull};
use domain::view::{Answer, Ending, Kind, Span, State, Treatment, View};
use evidence::spent::TrialCpu;

use super::desk::SimDesk;
use super::habit::Habit;
use super::hub::{SUITES, Town};
use crate::service::Archive;
use crate::sim::chance::about;
use crate::sim::records::SimRecords;
use crate::sim::script::plan_of;

#[derive(Clone, Debug)]
pub(super) struct SimPlanner {
    pub(super) town: Town,
    pub(super) desk: SimDesk,
}

fn never<T>(how: Ending, why: &str) -> Result<T, NoPlan> {
    Err(NoPlan::Never { how, why: why.to_owned() })
}

impl SimPlanner {
    fn reached(&self) -> Result<(), NoPlan> {
        let mut hub = self.town.hub();
        let flaky = hub.flaky;
        if !hub.installed {
            return never(Ending::Failed, "the app is not installed");
        }
        if hub.chance.happens(flaky) {
            return Err(NoPlan::NotNow("the repository does not answer".to_owned()));
        }
        Ok(())
    }

    /// What must hold of everything that is planned.
    fn check(&self, asked: &Asked) {
        let (number, head) = (asked.pull.number, &asked.head);
        let mut hub = self.town.hub();
        let mut broken = Vec::new();
        if asked.fork && !hub.approved.contains(&(number, head.clone())) {
            broken.push(format!("the head {head} of a fork is planned and nobody approved it"));
        }
        if asked.cause == domain::pull::Cause::Push {
            let since = hub.since.get(&number).cloned().unwrap_or_default();
            let newest = hub.pulls.get(&number).is_some_and(|pull| pull.head == *head);
            if asked.fork {
                broken.push("a push to a fork is measured".to_owned());
            }
            if newest && !since.ready {
                broken.push("a push to a draft is measured".to_owned());
            }
        }
        if asked.cause == domain::pull::Cause::Command && hub.refused.contains(&asked.comment) {
            broken.push(format!("comment {} started a run by somebody who may not", asked.comment));
        }
        for other in asked.continues.iter().chain(&asked.retries) {
            if hub.planned.get(other).is_none_or(|other| other.head != *head || other.base_ref != asked.base_ref) {
                broken.push(format!("{} takes measurements of another head over", asked.run));
            }
        }
        hub.planned.insert(asked.run.clone(), asked.clone());
        drop(hub);
        self.town.all_violated(broken);
    }

    async fn made(&self, asked: &Asked) -> Result<Plan, NoPlan> {
        let (hopeless, costly, scope) = {
            let hub = self.town.hub();
            let Some(commit) = hub.commits.get(&asked.head) else { return never(Ending::Refused, "no such commit") };
            let moved = hub.pulls.get(&asked.pull.number).is_some_and(|pull| pull.head != asked.head);
            if asked.fork && moved {
                return never(Ending::HeadMoved, "another commit was approved, and nothing else is run");
            }
            (commit.hopeless, commit.costly, commit.scope)
        };
        if let Some(how) = hopeless {
            return never(how, "this commit cannot be planned");
        }
        let impossible = |error: &dyn std::fmt::Display| NoPlan::Never { how: Ending::Failed, why: error.to_string() };
        let suite = asked.suite.parse().map_err(|error| impossible(&error))?;
        let mut chance = about(self.town.seed, asked.run.as_str());
        let mut plan = plan_of(chance.next(), &asked.run, &suite, &asked.head).map_err(|error| impossible(&error))?;
        plan.origin.pull = Some(FromPull { repo: asked.pull.repo.id, number: asked.pull.number });
        plan.ledger = Digest::of(format!("{} {} {scope}", asked.pull.key(), asked.suite).as_bytes());
        let looked = self.desk.last_episode(&plan.ledger).await.map_err(|why| NoPlan::NotNow(why.to_string()))?;
        plan.episode = looked + 1;
        plan.confirm = costly.then(|| "it costs something".to_owned());
        if self.town.habit == Habit::KeepsControls {
            let hub = self.town.hub();
            let before = hub.planned.values().find(|of| of.suite == asked.suite && of.head != asked.head);
            plan.continues = before.map(|of| of.run.clone());
        }
        Ok(plan)
    }
}

impl Planner for SimPlanner {
    async fn plan(&self, asked: &Asked) -> Result<Plan, NoPlan> {
        self.town.world.point("before a plan").await;
        self.check(asked);
        let plan = match self.reached() {
            Ok(()) => self.made(asked).await,
            Err(no) => Err(no),
        };
        self.town.log(&format!("plan {} of {}: {}", asked.run, asked.head.short(), plan.is_ok()));
        self.town.world.point("after a plan").await;
        plan
    }

    async fn preview(&self, asked: &Asked) -> Result<Answer, NoPlan> {
        self.reached()?;
        let title = vec![Span::Words(format!("a plan of {}", asked.head.short()))];
        Ok(Answer { kind: Kind::Status, title, blocks: Vec::new() })
    }

    async fn weigh(&self, asked: &Asked, before: &Plan, head: &CommitSha) -> Result<Compared, NoPlan> {
        self.town.world.point("before a push is weighed").await;
        if let Err(no) = self.reached() {
            if let Some(since) = self.town.hub().since.get_mut(&asked.pull.number) {
                since.unknown = true;
            }
            return Err(no);
        }
        let was = before.arms.treatments().first().map(|treatment| treatment.commit.clone());
        let same = {
            let mut hub = self.town.hub();
            let same = was.is_some_and(|was| hub.is_same(&was, head)) || self.town.habit == Habit::CarriesEverything;
            if same && self.town.habit != Habit::CarriesEverything {
                hub.same.insert((before.run.clone(), head.clone()));
            }
            same
        };
        self.town.world.point("after a push is weighed").await;
        let why = if same { "the files that matter are the same" } else { "files that matter differ" };
        let why = why.to_owned();
        Ok(if same { Compared::Same { why } } else { Compared::Changed { why } })
    }

    async fn manners(&self, _: &Repo, suite: &str) -> Result<Manners, NoPlan> {
        if let Err(no) = self.reached() {
            self.town.hub().since.values_mut().for_each(|since| since.unknown = true);
            return Err(no);
        }
        let known = SUITES.into_iter().find(|known| *known == suite);
        let hub = self.town.hub();
        known.and_then(|suite| hub.manners.get(suite)).cloned().map_or_else(|| never(Ending::Refused, "no suite"), Ok)
    }

    fn title(&self, suite: &str) -> String {
        format!("Simulated {suite}")
    }
}

fn view(plan: &Plan, state: State) -> View {
    let mut view = View::new(plan.suite.to_string(), plan.title.clone(), state);
    for arm in plan.arms.treatments() {
        let mut treatment = Treatment::new(arm.name.to_string());
        treatment.sha = Some(arm.commit.to_string());
        view.treatments.push(treatment);
    }
    view.provenance.run = Some(plan.run.to_string());
    view.provenance.head = plan.arms.treatments().first().map(|arm| arm.commit.to_string());
    view
}

impl Archive for SimRecords {
    fn cpu(&self, _: &RunId) -> Result<Vec<TrialCpu>, String> {
        Ok(Vec::new())
    }

    fn live(&self, run: &RunId, state: State) -> Result<View, String> {
        let mut world = self.0.lock();
        let plan = world.folder(run).plan.clone().ok_or("no folder yet")?;
        Ok(view(&plan, state))
    }

    fn sealed(&self, run: &RunId) -> Result<View, String> {
        let mut world = self.0.lock();
        let folder = world.folder(run);
        let plan = folder.plan.clone().ok_or("no folder")?;
        let (ending, _) = folder.sealed.clone().ok_or("not sealed")?;
        let state = match ending.how {
            How::Judged { .. } => State::Done,
            How::Ended { how, why } => State::Ended { how, why, alive: Vec::new() },
        };
        Ok(view(&plan, state))
    }
}
