//! Settings that make a task more regular on this machine: tried in blocks in turns, proven, and put back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use jitterlab_analysis::causes::TaskWhy;
use jitterlab_analysis::compensation_trial::Disturbance;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::purposes::Purpose;
use jitterlab_analysis::summary::{P99, P99_9, Percentile};
use jitterlab_analysis::tune::{
    ApplicableKnob, BLOCK_OVERHEAD_NS, BlockFigures, KnobResult, LeftOut, PILOTS, PersistenceSupport, Pilot,
    RemediedCauses, SettingVerdict, SettingsProof, TuneNote, TunePlan, TuneResult, USUAL, UntriedKnob,
    compare_usefulness, remedied_causes, summarise_blocks,
};
use jitterlab_model::units::Exact;
use jitterlab_model::{Error, Knob, Known, LoadSpec, SystemFacts, TaskSpec, Warning};

use super::engine::Experiment;
use crate::changes::cpus_isolated_by_others;
use crate::facts::{self, Root};
use crate::knob;
use crate::measure::{Measurement, Request};
use crate::prepare;
use crate::record::record;

mod boots;
mod progress;
mod running;
mod with_settings;

pub use boots::{CurrentBoot, KeptBoots, current_boot_id};
use progress::{BlockSource, TimedBlock, TuneProgress};
pub use running::RunningThread;
use with_settings::TunedMachine;
pub use with_settings::{Recording, record_with_settings};

/// Case of an error: the budget does not allow to try even one setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetTooShort;

/// Blocks of fewer due times are judged by a percentile less far out.
const FEWEST_FOR_P99_9: i64 = 2_000;

/// Share of a block that the host of a virtual machine may take: a block with more is measured again, since it says nothing
/// of the settings.
const MAX_STOLEN_SHARE: f64 = 0.005;
/// Measurements of a block at most.
const MAX_TRIES: usize = 3;
/// Discarded measurements beyond the number of good ones, after which none is discarded: such a host always takes part.
const MAX_DISCARDED: usize = 4;

/// A task to tune, and the settings to try.
#[derive(Debug, Clone)]
pub struct TuneRequest {
    /// The task, where none that runs is watched.
    pub task: TaskSpec,
    /// The name of a thread that runs already, to be watched in the task's place.
    pub watch: Option<String>,
    /// Thread to watch, where it was found already.
    pub running: Option<RunningThread>,
    /// Loads that run next to it in every block.
    pub loads: Vec<LoadSpec>,
    /// The knobs to try.
    pub wanted: Vec<Knob>,
    /// True if the user named these knobs: then each is tried, whatever the causes are.
    pub named: bool,
    /// Causes of lateness, where they were found: knobs that remedy one of them are tried, and the usual first steps.
    pub why: Option<TaskWhy>,
    /// The time that everything may take.
    pub budget_ns: i64,
    /// Purpose that blocks are judged for, if any.
    pub purpose: Option<&'static Purpose>,
}

/// An experiment that is prepared: nothing is changed yet.
pub struct Tuning {
    request: TuneRequest,
    machine: TunedMachine,
    /// The task with nothing left open.
    task: TaskSpec,
    /// The thread that runs already, if one is tuned.
    running: Option<RunningThread>,
    tail: Percentile,
    offered: Vec<ApplicableKnob>,
    left: Vec<UntriedKnob>,
    progress: TuneProgress,
    /// Length of a block.
    block_ns: i64,
    notes: Vec<TuneNote>,
    /// Measurements that were discarded, and those that were not.
    discarded: usize,
    good: usize,
    /// Begin of the preparation.
    begun: Instant,
}

impl Tuning {
    /// Reads the machine, and tries for a moment which knobs can be set.
    pub fn prepare(request: TuneRequest, interrupted: &AtomicBool) -> Result<Self, Error> {
        let begun = Instant::now();
        let root = Root::system();
        let facts = facts::read(&root);
        let found = request.running.clone().map(Ok);
        let find = || request.watch.as_deref().map(|name| RunningThread::find(name, interrupted));
        let running = found.or_else(find).transpose()?;
        let (task, cpus, warnings) = match &running {
            Some(running) => (running.task.clone(), running.cpus.clone(), Vec::new()),
            None => {
                let tasks = vec![request.task.clone()];
                let prepared = prepare::prepare_tasks(&facts, tasks, None, &cpus_isolated_by_others(&root))?;
                let task = prepared.tasks.into_iter().next().unwrap_or_default();
                (task, prepared.measured, prepared.warnings)
            }
        };
        // Of a program that runs already nothing is moved away.
        let spared: Vec<u32> = running.iter().map(|running| running.watched.process.unsigned_abs()).collect();
        let machine = TunedMachine { root, facts, cpus, spared };
        // A thread that runs already is its program's.
        let of_program = |knob: &Knob| running.is_some() && knob.is_task_setting();
        let wanted: Vec<Knob> = request.wanted.iter().copied().filter(|knob| !of_program(knob)).collect();
        let process = running.as_ref().map_or("self".into(), |running| running.watched.process.to_string());
        let of_task = (&task, process.as_str());
        let (offered, mut left) =
            knob::applicable_knobs(&machine.root, &machine.facts, &machine.cpus, of_task, &wanted);
        let foreign = request.wanted.iter().copied().filter(of_program);
        left.extend(foreign.map(|knob| UntriedKnob { knob, why: LeftOut::OfProgram }));
        let remedied = |knob: Knob| request.why.as_ref().and_then(|why| remedied_causes(knob, why));
        let mut able = Vec::new();
        for offered in offered {
            if !request.named && !USUAL.contains(&offered.knob) && remedied(offered.knob).is_none() {
                left.push(UntriedKnob { knob: offered.knob, why: LeftOut::NoCause });
                continue;
            }
            let tried = knob::try_task_settings(&offered, &task);
            match tried.and_then(|()| machine.try_knob(&offered)) {
                Ok(()) => able.push(offered),
                Err(error) => left.push(UntriedKnob { knob: offered.knob, why: LeftOut::Refused { error } }),
            }
        }
        able.sort_by(|a: &ApplicableKnob, b| {
            compare_usefulness((a.knob, remedied(a.knob).as_ref()), (b.knob, remedied(b.knob).as_ref()))
        });
        if !allows_one_knob(request.budget_ns, task.period_ns) && !able.is_empty() {
            let least_ns = shortest_budget_ns(request.budget_ns, task.period_ns);
            return Err(Error::bad_use(format!(
                "--budget {} is too short to try one setting and prove it: give {} or more",
                Exact(request.budget_ns),
                Exact(least_ns)
            ))
            .case(BudgetTooShort));
        }
        let mut notes: Vec<TuneNote> =
            warnings.into_iter().map(|warning| TuneNote::Machine { warning }).collect();
        let others = &machine.facts.measuring;
        if !others.is_empty() {
            notes.push(TuneNote::OthersMeasure { programs: facts::program_names(others) });
        }
        Ok(Tuning {
            request,
            machine,
            task,
            running,
            tail: P99,
            offered: able,
            left,
            progress: TuneProgress::default(),
            block_ns: 0,
            notes,
            discarded: 0,
            good: 0,
            begun,
        })
    }

    /// Plans the blocks from pilots, measured unless an earlier call did; leaves out knobs beyond the budget.
    pub fn plan(&mut self, experiment: &mut Experiment<'_>) -> Result<(), Error> {
        if self.offered.is_empty() {
            return Ok(());
        }
        let interrupted = experiment.interrupted();
        let Some(progress) = experiment.next_part(|| self.measure_pilots_and_plan(interrupted))? else {
            return Ok(());
        };
        self.progress = progress;
        let plan = self.progress.plan();
        let beyond = self.offered.split_off(plan.map_or(0, |plan| plan.knobs).min(self.offered.len()));
        self.left
            .extend(beyond.into_iter().map(|over| UntriedKnob { knob: over.knob, why: LeftOut::NoTime }));
        self.block_ns = plan.map_or(0, |plan| plan.block_ns);
        self.tail = if self.progress.uses_p99_9 { P99_9 } else { P99 };
        Ok(())
    }

    fn measure_pilots_and_plan(&mut self, interrupted: &AtomicBool) -> Result<TuneProgress, Error> {
        let ([near, uses_p99_9], overhead_ns) = self.measure_pilot_blocks(interrupted)?;
        // Until now time went by as well.
        let left_ns = self.request.budget_ns - elapsed_ns(self.begun);
        let period_ns = self.task.period_ns;
        let plan = |pilot, knobs, budget_ns, overhead_ns| {
            let plan = TunePlan::new(knobs, budget_ns, period_ns, overhead_ns, pilot)?;
            Some((TunePlan { budget_ns: left_ns, ..plan }, overhead_ns))
        };
        let planned = |pilot| {
            // On a machine too slow for the usual number of blocks, a single knob is tried with fewer.
            let least = || plan(pilot, 1, self.request.budget_ns, BLOCK_OVERHEAD_NS);
            plan(pilot, self.offered.len(), left_ns, overhead_ns).or_else(least)
        };
        let near = planned(near);
        // The percentile farther out, where the time decides by it as much.
        let knobs = near.map_or(0, |(plan, _)| plan.knobs);
        let is_as_good = |(plan, _): &(TunePlan, i64)| {
            plan.knobs == knobs
                && plan.detects_large_changes()
                && plan.block_ns / period_ns >= FEWEST_FOR_P99_9
        };
        let uses_p99_9 = planned(uses_p99_9).filter(is_as_good);
        let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        Ok(TuneProgress::new(uses_p99_9.or(near), seed, uses_p99_9.is_some()))
    }

    /// Measures pilots, judged by p99 and by p99.9, and the average overhead of a block in ns, knobs set. For
    /// this time two blocks have a knob set: the first and the last knob to try.
    fn measure_pilot_blocks(&mut self, interrupted: &AtomicBool) -> Result<([Pilot; 2], i64), Error> {
        let shortest_ns = TunePlan::shortest_block_ns(self.task.period_ns);
        // As long as a block will be, as far as that is known before.
        let usual = TunePlan::new(
            self.offered.len(),
            self.request.budget_ns,
            self.task.period_ns,
            BLOCK_OVERHEAD_NS,
            UNMEASURED_PILOT,
        );
        self.block_ns = usual.map_or(shortest_ns, |plan| plan.block_ns).max(shortest_ns);
        let (mut start, mut overheads) = (Vec::new(), Vec::new());
        for _ in 0..PILOTS {
            let begin = Instant::now();
            start.push(self.measure_unstolen_block(&[], interrupted)?.0);
            overheads.push(elapsed_ns(begin) - self.block_ns);
        }
        let pilots = [P99, P99_9].map(|tail| {
            let blocks: Vec<BlockFigures> =
                start.iter().map(|block| self.block_figures(block, tail)).collect();
            Pilot::from_blocks(&blocks)
        });
        let last = self.offered.len() - 1;
        self.block_ns = shortest_ns;
        for set in [0, last] {
            let on: Vec<bool> = (0..=last).map(|knob| knob == set).collect();
            overheads.push(self.measure_timed_block(&on, interrupted)?.1 - shortest_ns);
        }
        let mean = |of: &[i64]| of.iter().map(|ns| (*ns).max(0)).sum::<i64>() / of.len().max(1) as i64;
        let (without, with) = overheads.split_at(PILOTS);
        Ok((pilots, mean(without).max(mean(with))))
    }

    /// The plan of the time; `None` before it is planned, and where nothing can be tried.
    pub fn plan_in_use(&self) -> Option<TunePlan> {
        self.progress.plan()
    }

    /// Name of the percentile of a block that is compared.
    pub fn percentile_name(&self) -> &str {
        self.tail.name
    }

    /// Knobs that will be tried; before the time is planned, those that can be set.
    pub fn knobs_to_try(&self) -> &[ApplicableKnob] {
        &self.offered
    }

    /// Measures and judges each knob, and proves those that help, as planned. Interrupted, it judges the
    /// whole rounds until then.
    ///
    /// # Errors
    /// A block that cannot be measured, a knob that is refused all at once. The machine is as it was in any case.
    pub fn measure(mut self, experiment: &mut Experiment<'_>) -> Result<TuneResult, Error> {
        let knobs = self.offered.len();
        let mut progress = self.progress;
        experiment.set_total_time(progress.plan().map_or(0, |plan| plan.budget_ns));
        let interrupted = experiment.interrupted();
        let mut block = |on: &[bool]| self.measure_timed_block(on, interrupted);
        let mut source = BlockSource { experiment, block: &mut block };
        let screening = progress.screen(knobs, &mut source)?;
        let found = screening.results();
        let kept: Vec<bool> = found.iter().map(|of| of.judgement() == SettingVerdict::Helps).collect();
        let wanted = kept.contains(&true) && !source.experiment.is_interrupted();
        let proof = if wanted { progress.prove(&kept, &mut source)? } else { None };
        let blocks = proof
            .iter()
            .chain([&screening])
            .flat_map(|of| of.blocks(true).into_iter().chain(of.blocks(false)));
        let repeated = blocks.map(|block| block.repeated).sum();
        self.notes.extend((repeated > 0).then_some(TuneNote::HostTook { repeated }));
        let set = self.offered.iter().zip(&kept).filter(|(_, kept)| **kept);
        let set = set.map(|(offered, _)| offered.knob).collect();
        self.notes.extend(progress.slower_note());
        if interrupted.load(Ordering::Relaxed) {
            self.notes.push(TuneNote::Interrupted);
        }
        let starts = screening.blocks(false);
        let mut knobs: Vec<KnobResult> = self
            .offered
            .iter()
            .zip(found)
            .map(|(offered, of)| KnobResult {
                offered: offered.clone(),
                remedies: self.causes_remedied_by(offered.knob),
                judgement: of.judgement(),
                effects: of.effects.clone(),
                beside: of.beside.iter().map(|at| self.offered[*at].knob).collect(),
            })
            .collect();
        let rank = |found: &KnobResult| found.effects.first().map_or(1.0, |effect| effect.change);
        knobs.sort_by(|a, b| a.judgement.cmp(&b.judgement).then(rank(a).total_cmp(&rank(b))));
        Ok(TuneResult {
            task: self.task_option_text(),
            watched: self.running.map(|running| running.watched),
            cpu: self.task.cpu,
            loads: self.request.loads.iter().map(ToString::to_string).collect(),
            purpose: self.request.purpose.map(|purpose| purpose.name.to_owned()),
            tail: self.tail.name.into(),
            plan: progress.plan(),
            rounds: screening.rounds(),
            blocks: progress.measured_blocks(),
            scatter: screening.scatter(),
            why: self.request.why,
            start: summarise_blocks(&starts),
            knobs,
            left: self.left,
            keeping: persistence_support(&self.machine.facts),
            restart: boots::restart_proposals(&self.machine.facts, &self.machine.cpus),
            proven: proof.and_then(|proof| SettingsProof::new(set, &proof)),
            notes: self.notes,
        })
    }

    /// Causes, of those found, that a knob remedies; `None` if it remedies none or none were looked for.
    fn causes_remedied_by(&self, knob: Knob) -> Option<RemediedCauses> {
        self.request.why.as_ref().and_then(|why| remedied_causes(knob, why))
    }

    /// The task as `--task` takes it.
    fn task_option_text(&self) -> String {
        match &self.running {
            // A running program's own wait and work are unknown.
            Some(_) => format!("name={},period={}", self.task.name, Exact(self.task.period_ns)),
            None => self.task.to_string(),
        }
    }

    /// A block, and its time with everything around it, in ns.
    fn measure_timed_block(&mut self, on: &[bool], interrupted: &AtomicBool) -> Result<TimedBlock, Error> {
        let begin = Instant::now();
        let (measured, repeated) = self.measure_unstolen_block(on, interrupted)?;
        Ok((BlockFigures { repeated, ..self.block_figures(&measured, self.tail) }, elapsed_ns(begin)))
    }

    /// Measures a block with these knobs, again if the host took the CPU; also returns the number discarded.
    fn measure_unstolen_block(
        &mut self,
        on: &[bool],
        interrupted: &AtomicBool,
    ) -> Result<(MeasuredRun, usize), Error> {
        let mut repeated = 0;
        loop {
            let measured = self.measure_block_once(on, interrupted)?;
            let may_repeat = repeated + 1 < MAX_TRIES && self.discarded < self.good + MAX_DISCARDED;
            if !may_repeat || !self.is_stolen(&measured) || interrupted.load(Ordering::Relaxed) {
                self.good += 1;
                return Ok((measured, repeated));
            }
            self.discarded += 1;
            repeated += 1;
        }
    }

    /// True if the host took more than a small share of the task's CPU time.
    fn is_stolen(&self, measured: &MeasuredRun) -> bool {
        let facts = measured.run.facts_before.as_ref().zip(measured.run.facts_after.as_ref());
        let cpu = self.task.cpu.or_else(|| self.machine.cpus.first());
        let stolen = facts.and_then(|(before, after)| Disturbance::between(before, after, cpu).steal);
        stolen.is_some_and(|share| share > MAX_STOLEN_SHARE)
    }

    /// Sets the knobs, measures, and puts them back.
    fn measure_block_once(&mut self, on: &[bool], interrupted: &AtomicBool) -> Result<MeasuredRun, Error> {
        let set: Vec<&ApplicableKnob> =
            self.offered.iter().zip(on).filter(|(_, on)| **on).map(|(offered, _)| offered).collect();
        let block_ns = self.block_ns;
        let (measured, problems) = match &self.running {
            Some(running) => self.machine.watch_with_settings(&set, running, block_ns, interrupted)?,
            None => {
                let request = Request {
                    duration_ns: Some(block_ns),
                    loads: self.request.loads.clone(),
                    ..Request::for_tasks(vec![self.task.clone()])
                };
                let recording = Recording { writer: &mut |_| None, watch: &mut |_| (), interrupted };
                self.machine.record_with_settings(&set, request, recording)?
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
        Ok(measured)
    }

    fn block_figures(&self, measured: &MeasuredRun, tail: Percentile) -> BlockFigures {
        let summary = measured.summaries().next();
        let latency = summary.map(|summary| summary.corrected_latency);
        let max_ns = latency.and_then(|latency| latency.max_ns);
        // A task that never ran was late by the whole block.
        let max_ns = max_ns.unwrap_or(self.block_ns);
        let tail_ns = latency.and_then(|latency| latency.at(tail).exactly()).unwrap_or(max_ns);
        let known = |count: Option<Known<u64>>| count.and_then(|n| n.exactly()).unwrap_or(0);
        let missed = known(summary.map(|summary| summary.missed));
        let due = missed + known(summary.map(|summary| summary.executed));
        let verdict = self.request.purpose.and_then(|purpose| {
            let verdict = measured.clone().with_verdict_for(Some(purpose)).verdict?;
            verdict.purposes.into_iter().next()
        });
        BlockFigures { tail_ns, max_ns, missed, due, verdict, repeated: 0 }
    }
}

/// Ways to keep settings over a restart here: systemd, and a command line that is not the host's.
fn persistence_support(facts: &SystemFacts) -> PersistenceSupport {
    let systemd = facts.kernel.init.as_deref() == Some("systemd");
    PersistenceSupport { systemd, command_line: !facts.is_kernel_of_host() }
}

/// Time since then, in ns.
fn elapsed_ns(begin: Instant) -> i64 {
    i64::try_from(begin.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

/// Highest percentile that a block of this length has enough values for.
fn percentile_for_blocks(block_ns: i64, period_ns: i64) -> Percentile {
    if block_ns / period_ns >= FEWEST_FOR_P99_9 { P99_9 } else { P99 }
}

/// Before anything was measured.
const UNMEASURED_PILOT: Pilot =
    Pilot { figure: jitterlab_analysis::tune::Figure::Tail, spread: 0.0, blocks: PILOTS };

/// True if a time budget is enough to try one knob.
fn allows_one_knob(budget_ns: i64, period_ns: i64) -> bool {
    TunePlan::new(1, budget_ns, period_ns, BLOCK_OVERHEAD_NS, UNMEASURED_PILOT).is_some()
}

/// Time for finding the causes of lateness: a twentieth of all, and between these.
const CAUSES_NS: [i64; 2] = [2_000_000_000, 30_000_000_000];

/// Finds the causes of late starts, out of the time budget; `None` if not permitted or without a result.
pub fn find_causes(request: &mut TuneRequest, interrupted: &AtomicBool) -> Result<Option<TaskWhy>, Error> {
    let begin = Instant::now();
    let length_ns = (request.budget_ns / 20).clamp(CAUSES_NS[0], CAUSES_NS[1]);
    if let Some(name) = &request.watch {
        let running = RunningThread::find(name, interrupted)?;
        let measured = running.measure(length_ns, interrupted)?;
        request.running = Some(running);
        request.budget_ns -= elapsed_ns(begin);
        return Ok(measured.why.into_iter().next().filter(|why| why.explained > 0));
    }
    let measured = Request {
        duration_ns: Some(length_ns),
        loads: request.loads.clone(),
        why: true,
        ..Request::for_tasks(vec![request.task.clone()])
    };
    let measurement = Measurement::prepare(measured)?;
    if !measurement.records_events() {
        return Ok(None);
    }
    let measured = record(measurement, None, &mut |_| (), interrupted)?.require_complete()?;
    request.budget_ns -= elapsed_ns(begin);
    Ok(measured.why.into_iter().next().filter(|why| why.explained > 0))
}

/// Shortest time budget above `budget_ns` that is enough to try one knob.
fn shortest_budget_ns(budget_ns: i64, period_ns: i64) -> i64 {
    const STEP_NS: i64 = 10_000_000_000;
    let longer = (1..).map(|n| (budget_ns / STEP_NS + n) * STEP_NS);
    longer.take(100_000).find(|ns| allows_one_knob(*ns, period_ns)).unwrap_or(i64::MAX)
}
