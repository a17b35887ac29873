//! Which settings make a task more regular on this machine: tried in blocks in turns, proven, and put back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use jitterlab_analysis::causes::TaskWhy;
use jitterlab_analysis::purposes::Purpose;
use jitterlab_analysis::summary::{P99, P99_9, Percentile};
use jitterlab_analysis::trial::TrialStep;
use jitterlab_analysis::tune::design::Row;
use jitterlab_analysis::tune::{
    BLOCK_OVERHEAD_NS, BlockFigures, Change, Experiment, Figure, Judgement, KnobFound, KnobLeft, LeftOut,
    Offered, Proven, TuneNote, TunePlan, TuneResult, bears_on, is_worth_trying, median_of,
};
use jitterlab_model::units::Exact;
use jitterlab_model::{CpuSet, Knob, Known, LoadSpec, SystemFacts, TaskSpec, Warning};
use jitterlab_trace::Parts;
use serde::{Deserialize, Serialize};

use super::facts::{self, Root};
use super::isolate::{self, Alteration};
use super::knob;
use super::measure::{Measurement, Request};
use super::prepare;
use super::record::record;
use super::session::SessionProgress;
use super::watch::WatchError;

mod applied;
mod error;
mod running;
mod starts;

use applied::Machine;
pub use applied::{Recording, record_with};
pub use error::TuneError;
pub use running::Running;
pub use starts::{Kept, ThisStart};

/// Blocks of fewer due times are judged by a percentile less far out.
const FEWEST_FOR_P99_9: i64 = 2_000;

/// What is to be tuned.
#[derive(Debug, Clone)]
pub struct TuneRequest {
    /// The task, where none that runs is watched.
    pub task: TaskSpec,
    /// The name of a thread that runs already, to be watched in the task's place.
    pub watch: Option<String>,
    /// The same where it was found already.
    pub running: Option<Running>,
    /// What runs beside it in every block.
    pub loads: Vec<LoadSpec>,
    /// The knobs to try.
    pub wanted: Vec<Knob>,
    /// What made the task late, where that was found out: only knobs that bear on it are tried.
    pub why: Option<TaskWhy>,
    /// The time that everything may take.
    pub budget_ns: i64,
    /// What blocks are judged for, if anything.
    pub purpose: Option<&'static Purpose>,
}

/// An experiment that is prepared: nothing is changed yet.
pub struct Tuning {
    request: TuneRequest,
    root: Root,
    facts: SystemFacts,
    /// The task with nothing left open.
    task: TaskSpec,
    /// The thread that runs already, if one is tuned.
    running: Option<Running>,
    cpus: CpuSet,
    tail: Percentile,
    offered: Vec<Offered>,
    left: Vec<KnobLeft>,
    plan: Option<TunePlan>,
    /// How long a block is.
    block_ns: i64,
    notes: Vec<TuneNote>,
    blocks: usize,
    /// How long these took, in all calls together.
    spent_ns: i64,
}

/// A block as it is kept for another call.
#[derive(Serialize, Deserialize)]
struct KeptBlock {
    figures: BlockFigures,
    took_ns: i64,
}

impl Tuning {
    /// Reads the machine, tries for a moment which knobs can be set, and plans.
    ///
    /// # Errors
    /// A task that cannot be measured here, and a budget that is too short for one knob.
    pub fn prepare(request: TuneRequest, interrupted: &AtomicBool) -> Result<Self, TuneError> {
        let root = Root::system();
        let facts = facts::read(&root);
        let found = request.running.clone().map(Ok);
        let find = || request.watch.as_deref().map(|name| Running::find(name, interrupted));
        let running = found.or_else(find).transpose()?;
        let (task, cpus, warnings) = match &running {
            Some(running) => (running.task.clone(), running.cpus.clone(), Vec::new()),
            None => {
                let tasks = vec![request.task.clone()];
                let prepared = prepare::tasks(&facts, tasks, None, &isolate::taken(&root))?;
                let task = prepared.tasks.into_iter().next().unwrap_or_default();
                (task, prepared.measured, prepared.warnings)
            }
        };
        let spared = spared(running.as_ref());
        // A thread that runs already is its program's.
        let of_program = |knob: &Knob| running.is_some() && knob.is_of_task();
        let wanted: Vec<Knob> = request.wanted.iter().copied().filter(|knob| !of_program(knob)).collect();
        let (offered, mut left) = knob::offers(&root, &facts, &cpus, &task, &wanted);
        let foreign = request.wanted.iter().copied().filter(of_program);
        left.extend(foreign.map(|knob| KnobLeft { knob, why: LeftOut::OfProgram }));
        let mut able = Vec::new();
        for offered in offered {
            if request.why.as_ref().is_some_and(|why| !is_worth_trying(offered.knob, why)) {
                left.push(KnobLeft { knob: offered.knob, why: LeftOut::NoCause });
                continue;
            }
            let tried = knob::try_task(&offered, &task);
            match tried.and_then(|()| try_out(&root, &facts, &cpus, &spared, &offered)) {
                Ok(()) => able.push(offered),
                Err(error) => left.push(KnobLeft { knob: offered.knob, why: LeftOut::Refused { error } }),
            }
        }
        if let Some(why) = &request.why {
            // What bears on most of it comes first; of equals, what helps most often.
            able.sort_by(|a: &Offered, b| bears_on(b.knob, why).total_cmp(&bears_on(a.knob, why)));
        }
        let plan = TunePlan::of(able.len(), request.budget_ns, task.period_ns);
        if let (None, false) = (plan, able.is_empty()) {
            let least_ns = least_ns(request.budget_ns, task.period_ns);
            return Err(TuneError::Budget { budget_ns: request.budget_ns, least_ns });
        }
        let beyond = able.split_off(plan.map_or(0, |plan| plan.knobs));
        left.extend(beyond.into_iter().map(|over| KnobLeft { knob: over.knob, why: LeftOut::NoTime }));
        let block_ns = plan.map_or(0, |plan| plan.block_ns);
        let task_period_ns = task.period_ns;
        let notes = warnings.into_iter().map(|warning| TuneNote::Machine { warning }).collect();
        Ok(Tuning {
            request,
            root,
            facts,
            task,
            running,
            cpus,
            tail: tail(block_ns, task_period_ns),
            offered: able,
            left,
            plan,
            block_ns,
            notes,
            blocks: 0,
            spent_ns: 0,
        })
    }

    /// How the time will be spent; `None` where nothing can be tried.
    #[must_use]
    pub fn plan(&self) -> Option<&TunePlan> {
        self.plan.as_ref()
    }

    /// What will be tried.
    #[must_use]
    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// Measures, judges and proves; blocks that `parts` hold are taken from there. When `interrupted`, what was measured in
    /// whole rounds until then is judged.
    ///
    /// # Errors
    /// A block that cannot be measured, a knob that is refused all at once. The machine is as it was in any case.
    pub fn measure(
        mut self,
        parts: &mut Parts,
        tell: &mut dyn FnMut(SessionProgress),
        interrupted: &AtomicBool,
    ) -> Result<TuneResult, TuneError> {
        let seed = self.seed(parts)?;
        let plan = self.plan;
        let mut screening = Experiment::new(self.offered.len(), plan.map_or(0, |plan| plan.rounds), seed);
        while let (Some(plan), Some(round)) = (plan, screening.next_round()) {
            if !self.has_time(round.rows.len(), plan.screen_ns()) {
                break;
            }
            let step = TrialStep::KnobRound { round: screening.rounds() + 1, of: plan.rounds };
            tell(SessionProgress::Begins(step));
            let Some(blocks) = self.round(&round.rows, |row| row.on.clone(), parts, tell, interrupted)?
            else {
                break;
            };
            screening.add(round, blocks);
        }
        screening.conclude();
        let found = screening.found();
        let helps: Vec<bool> = found.iter().map(|(judgement, _)| *judgement == Judgement::Helps).collect();
        let proof = match plan.filter(|_| helps.contains(&true) && !interrupted.load(Ordering::Relaxed)) {
            Some(plan) => Some(self.prove(&helps, plan.pairs, seed, parts, tell, interrupted)?),
            None => None,
        };
        if interrupted.load(Ordering::Relaxed) {
            self.notes.push(TuneNote::Interrupted);
        }
        let starts = screening.blocks(false);
        let mut knobs: Vec<KnobFound> = self
            .offered
            .iter()
            .zip(found)
            .map(|(offered, (judgement, effects))| KnobFound { offered: offered.clone(), judgement, effects })
            .collect();
        let rank = |found: &KnobFound| found.effect(Figure::Tail).map_or(1.0, |effect| effect.change);
        knobs.sort_by(|a, b| a.judgement.cmp(&b.judgement).then(rank(a).total_cmp(&rank(b))));
        Ok(TuneResult {
            task: self.described(),
            watched: self.running.map(|running| running.watched),
            cpu: self.task.cpu,
            loads: self.request.loads.iter().map(ToString::to_string).collect(),
            purpose: self.request.purpose.map(|purpose| purpose.name.to_owned()),
            tail: self.tail.name.into(),
            plan,
            rounds: screening.rounds(),
            blocks: self.blocks,
            scatter: screening.scatter(),
            why: self.request.why,
            start: median_of(&starts),
            knobs,
            left: self.left,
            restart: starts::restarts(&self.facts, &self.cpus),
            proven: proof.flatten(),
            notes: self.notes,
        })
    }

    /// The task as `--task` takes it.
    fn described(&self) -> String {
        match &self.running {
            // How a program waits and works is its own, and not told.
            Some(_) => format!("name={},period={}", self.task.name, Exact(self.task.period_ns)),
            None => self.task.to_string(),
        }
    }

    /// What order the blocks are drawn with: that of the call that is gone on with, or a new one.
    fn seed(&self, parts: &mut Parts) -> Result<u64, TuneError> {
        if let Some((seed, _)) = parts.next_kept::<u64>() {
            return Ok(seed);
        }
        let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        parts.keep(&seed, &[])?;
        Ok(seed)
    }

    /// Everything that helped against the start, in fresh blocks; `None` where not a pair of them was measured.
    fn prove(
        &mut self,
        helps: &[bool],
        pairs: usize,
        seed: u64,
        parts: &mut Parts,
        tell: &mut dyn FnMut(SessionProgress),
        interrupted: &AtomicBool,
    ) -> Result<Option<Proven>, TuneError> {
        let knobs: Vec<Knob> =
            self.offered.iter().zip(helps).filter(|(_, helps)| **helps).map(|(o, _)| o.knob).collect();
        tell(SessionProgress::Begins(TrialStep::KnobProof { knobs: knobs.len() }));
        let mut proof = Experiment::new(1, pairs, seed.wrapping_add(1));
        while let Some(round) = proof.next_round() {
            if !self.has_time(round.rows.len(), self.request.budget_ns) {
                break;
            }
            let settings = |row: &Row| match row.on[0] {
                true => helps.to_vec(),
                false => vec![false; helps.len()],
            };
            let Some(blocks) = self.round(&round.rows, settings, parts, tell, interrupted)? else { break };
            proof.add(round, blocks);
        }
        proof.conclude();
        let (start, tuned) = (proof.blocks(false), proof.blocks(true));
        let (Some(of_start), Some(of_tuned)) = (median_of(&start), median_of(&tuned)) else {
            return Ok(None);
        };
        let found = proof.found();
        let effect = |figure: Figure| {
            found
                .first()
                .and_then(|(_, effects)| effects.iter().find(|effect| effect.figure == figure))
                .copied()
        };
        let seen = |of: &BlockFigures, figure: Figure| match figure {
            Figure::Tail => of.tail_ns as f64,
            Figure::Maximum => of.max_ns as f64,
            Figure::Missed => of.value(Figure::Missed),
        };
        let change = |figure| Change {
            figure,
            start: seen(&of_start, figure),
            tuned: seen(&of_tuned, figure),
            effect: effect(figure),
        };
        Ok(Some(Proven {
            knobs,
            pairs: proof.rounds(),
            changes: Figure::ALL.map(change).into(),
            holds: found.first().is_some_and(|(judgement, _)| *judgement == Judgement::Helps),
            start_verdict: of_start.verdict,
            tuned_verdict: of_tuned.verdict,
        }))
    }

    /// Whether so many more blocks fit into a time, as long as blocks took so far: on a busy machine that is longer than
    /// planned.
    fn has_time(&self, blocks: usize, until_ns: i64) -> bool {
        let planned_ns = self.plan.map_or(0, |plan| plan.block_ns + BLOCK_OVERHEAD_NS);
        let each_ns = if self.blocks > 0 { self.spent_ns / self.blocks as i64 } else { planned_ns };
        self.spent_ns + each_ns * blocks as i64 <= until_ns
    }

    /// The blocks of a round; `None` if it was interrupted.
    fn round<R>(
        &mut self,
        rows: &[R],
        settings: impl Fn(&R) -> Vec<bool>,
        parts: &mut Parts,
        tell: &mut dyn FnMut(SessionProgress),
        interrupted: &AtomicBool,
    ) -> Result<Option<Vec<BlockFigures>>, TuneError> {
        let mut blocks = Vec::with_capacity(rows.len());
        for row in rows {
            let kept: KeptBlock = match parts.next_kept() {
                Some((kept, _)) => kept,
                None => {
                    let begin = Instant::now();
                    let figures = match self.block(&settings(row), interrupted) {
                        Err(TuneError::Watch(WatchError::Interrupted)) => return Ok(None),
                        figures => figures?,
                    };
                    if interrupted.load(Ordering::Relaxed) {
                        return Ok(None);
                    }
                    let took_ns = i64::try_from(begin.elapsed().as_nanos()).unwrap_or(i64::MAX);
                    let kept = KeptBlock { figures, took_ns };
                    parts.keep(&kept, &[])?;
                    kept
                }
            };
            self.blocks += 1;
            self.spent_ns += kept.took_ns;
            tell(SessionProgress::Took(kept.took_ns));
            blocks.push(kept.figures);
        }
        Ok(Some(blocks))
    }

    /// Sets the knobs, measures, and puts them back.
    fn block(&mut self, on: &[bool], interrupted: &AtomicBool) -> Result<BlockFigures, TuneError> {
        let set: Vec<&Offered> =
            self.offered.iter().zip(on).filter(|(_, on)| **on).map(|(offered, _)| offered).collect();
        let block_ns = self.block_ns;
        let spared = spared(self.running.as_ref());
        let machine = Machine { root: &self.root, facts: &self.facts, cpus: &self.cpus, spared: &spared };
        let (measured, problems) = match &self.running {
            Some(running) => machine.watch_with(&set, running, block_ns, interrupted)?,
            None => {
                let request = Request {
                    duration_ns: Some(block_ns),
                    loads: self.request.loads.clone(),
                    ..Request::of(vec![self.task.clone()])
                };
                let recording = Recording { writer: &mut |_| None, watch: &mut |_| (), interrupted };
                machine.record_with(&set, request, recording)?
            }
        };
        self.notes.extend(problems.into_iter().map(|what| TuneNote::NotRestored { what }));
        for warning in
            measured.run.warnings.iter().filter(|warning| matches!(warning, Warning::LoadFailed { .. }))
        {
            let note = TuneNote::Machine { warning: warning.clone() };
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let summary = measured.summaries().next();
        let latency = summary.map(|summary| summary.corrected_latency);
        let max_ns = latency.and_then(|latency| latency.max_ns);
        // A task that never ran was late by the whole block.
        let max_ns = max_ns.unwrap_or(block_ns);
        let tail_ns = latency.and_then(|latency| latency.at(self.tail).exactly()).unwrap_or(max_ns);
        let known = |count: Option<Known<u64>>| count.and_then(|n| n.exactly()).unwrap_or(0);
        let missed = known(summary.map(|summary| summary.missed));
        let due = missed + known(summary.map(|summary| summary.executed));
        let verdict = self.request.purpose.and_then(|purpose| {
            let verdict = measured.clone().judged_for(Some(purpose)).verdict?;
            verdict.purposes.into_iter().next()
        });
        Ok(BlockFigures { tail_ns, max_ns, missed, due, verdict })
    }
}

/// As far out as a block has values for.
fn tail(block_ns: i64, period_ns: i64) -> Percentile {
    if block_ns / period_ns >= FEWEST_FOR_P99_9 { P99_9 } else { P99 }
}

/// How long it is found out what makes the task late: a twentieth of the time, and between these.
const CAUSES_NS: [i64; 2] = [2_000_000_000, 30_000_000_000];

/// Finds out what makes the task late, before anything is set; takes its time from the budget. `None` where that is not
/// permitted, or nothing came of it.
///
/// # Errors
/// A task that cannot be measured here.
pub fn find_causes(
    request: &mut TuneRequest,
    interrupted: &AtomicBool,
) -> Result<Option<TaskWhy>, TuneError> {
    let length_ns = (request.budget_ns / 20).clamp(CAUSES_NS[0], CAUSES_NS[1]);
    if let Some(name) = &request.watch {
        let running = Running::find(name, interrupted)?;
        let measured = running.measure(length_ns, interrupted)?;
        request.running = Some(running);
        request.budget_ns -= length_ns;
        return Ok(measured.why.into_iter().next().filter(|why| why.explained > 0));
    }
    let measured = Request {
        duration_ns: Some(length_ns),
        loads: request.loads.clone(),
        why: true,
        ..Request::of(vec![request.task.clone()])
    };
    let measurement = Measurement::prepare(measured)?;
    if !measurement.explains() {
        return Ok(None);
    }
    request.budget_ns -= length_ns;
    let measured = record(measurement, None, &mut |_| (), interrupted)?;
    Ok(measured.why.into_iter().next().filter(|why| why.explained > 0))
}

/// Whether a knob can be set: sets it and puts it back.
fn try_out(
    root: &Root,
    facts: &SystemFacts,
    cpus: &CpuSet,
    spared: &[u32],
    offered: &Offered,
) -> Result<(), String> {
    if !knob::touches_machine(offered) {
        return Ok(());
    }
    let begun = Alteration::begin(root, cpus, &facts.usable(), spared);
    let mut machine = begun.map_err(|error| error.to_string())?;
    let outcome = knob::set(offered, &mut machine).map_err(|error| error.to_string());
    match machine.end().into_iter().next() {
        Some(problem) => Err(problem),
        None => outcome,
    }
}

/// Processes of which nothing is moved away.
fn spared(running: Option<&Running>) -> Vec<u32> {
    running.map(|running| running.watched.process.unsigned_abs()).into_iter().collect()
}

/// The shortest budget for one knob.
fn least_ns(budget_ns: i64, period_ns: i64) -> i64 {
    const STEP_NS: i64 = 10_000_000_000;
    let longer = (1..).map(|n| (budget_ns / STEP_NS + n) * STEP_NS);
    longer.take(100_000).find(|ns| TunePlan::of(1, *ns, period_ns).is_some()).unwrap_or(i64::MAX)
}
