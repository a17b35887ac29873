//! This machine made ready for one task, which is measured in many short blocks, in turns.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::wakeup::BlockView;
use jitterlab_model::warning::CpuPlacement;
use jitterlab_model::{
    Activation, Compensation, Distribution, Error, Flags, Granted, Overload, Policy, Refusal, RunInfo,
    StopReason, SystemFacts, TaskResult, TaskRun, TaskSpec, Warning,
};
use jitterlab_rt::{
    Linux, LoopEnd, System, TaskThread, ThreadOptions, ThreadSetup, spare_processor, thread_panic_error,
};
use jitterlab_trace::RunWriter;
use serde::{Deserialize, Serialize};

use super::engine::Experiment;
use crate::changes::cpus_isolated_by_others;
use crate::dma_latency::{DmaLatency, HeldDmaLatency};
use crate::error::{dma_latency_refusal, stopped_too_early};
use crate::facts::{self, Root};
use crate::prepare::{self, MovedThread};
use crate::pulse;

/// This machine, made ready to measure one task again and again.
pub struct TaskMeasurer<'e, 'a> {
    /// The task with all settings chosen.
    pub spec: TaskSpec,
    /// Order, resumption and progress of the blocks.
    pub experiment: &'e mut Experiment<'a>,
    facts: SystemFacts,
    placement: CpuPlacement,
    warnings: Vec<Warning>,
    refused: Vec<Refusal>,
    /// The common grid of all blocks, those of an earlier call included.
    grid_ns: i64,
    _latency: Option<HeldDmaLatency>,
    _moved: MovedThread,
}

/// One uninterrupted measurement of a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Block {
    /// Policy, CPUs and memory lock that the thread was given.
    pub granted: Granted,
    /// Requests that the system refused.
    pub refused: Vec<Refusal>,
    /// Counters of the thread.
    pub result: TaskResult,
    /// Overload for which the task was stopped, if it was.
    pub overload: Option<Overload>,
    #[serde(skip)]
    pub activations: Vec<Activation>,
}

/// A block as it is kept, next to its activations.
#[derive(Serialize, Deserialize)]
struct KeptBlock {
    grid_ns: i64,
    block: Block,
}

impl Block {
    /// Counters and activations of the block, as the analysis takes them.
    pub fn view(&self, period_ns: i64) -> BlockView<'_> {
        BlockView { period_ns, result: &self.result, activations: &self.activations }
    }

    /// Blocks as the analysis sees them.
    pub fn views(period_ns: i64, blocks: &[Block]) -> Vec<BlockView<'_>> {
        blocks.iter().map(|block| block.view(period_ns)).collect()
    }
}

/// From the last preparation of a block to its first due time.
const LEAD_NS: i64 = 2_000_000;
const WATCH_EVERY: Duration = Duration::from_millis(10);
/// Largest number of a block's records. They stay in the ring until the block is over, so that no collector
/// runs next to it.
const MAX_ACTIVATIONS: u64 = 1 << 20;

impl<'e, 'a> TaskMeasurer<'e, 'a> {
    /// Reads the machine's facts, chooses open settings, and moves the calling thread off the task's CPU.
    pub fn prepare(
        spec: TaskSpec,
        dma_latency: DmaLatency,
        experiment: &'e mut Experiment<'a>,
    ) -> Result<Self, Error> {
        let mut refused = Vec::new();
        let latency =
            dma_latency.hold().map_err(|error| refused.push(dma_latency_refusal(dma_latency, &error)));
        let facts = facts::read(&Root::system());
        let mut prepared =
            prepare::prepare_tasks(&facts, vec![spec], None, &cpus_isolated_by_others(&Root::system()))?;
        let moved = MovedThread::to(&prepared.housekeeping);
        let spec = prepared.tasks.pop().ok_or_else(|| {
            Error::bad_use("there is no task to measure").remedy("describe one with --task period=1ms")
        })?;
        Ok(TaskMeasurer {
            spec,
            experiment,
            facts,
            placement: prepared.placement,
            warnings: prepared.warnings,
            refused,
            grid_ns: Linux.now_ns(),
            _latency: latency.ok(),
            _moved: moved,
        })
    }

    /// Facts of the machine at this time.
    pub fn read_facts(&self) -> SystemFacts {
        facts::read(&Root::system())
    }

    /// Warnings about the machine and the placement.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Reports that a step begins.
    pub fn begin_step(&mut self, step: TrialStep) {
        self.experiment.begin_step(step);
    }

    pub fn spec_with_compensation(&self, compensate: Compensation) -> TaskSpec {
        TaskSpec { compensate, ..self.spec.clone() }
    }

    /// Measures one block of about this length, unless an earlier call did; `None` if it was interrupted. It may have been
    /// stopped for the machine's safety.
    pub fn measure(&mut self, spec: &TaskSpec, length_ns: i64) -> Result<Option<Block>, Error> {
        let (grid_ns, interrupted) = (self.grid_ns, self.experiment.interrupted());
        let part = self.experiment.next_part_with_rows(|| {
            let mut block = measure_block(spec, grid_ns, length_ns, interrupted)?;
            let rows = std::mem::take(&mut block.activations);
            Ok::<_, Error>((KeptBlock { grid_ns, block }, rows))
        })?;
        let Some((KeptBlock { grid_ns, block }, activations)) = part else { return Ok(None) };
        self.grid_ns = grid_ns;
        self.experiment.add_elapsed(length_ns);
        Ok(Some(Block { activations, ..block }))
    }

    /// Measures one block to its end; an interruption or overload is an error.
    pub fn measure_whole_block(&mut self, spec: &TaskSpec, length_ns: i64) -> Result<Block, Error> {
        let block = self.measure(spec, length_ns)?.ok_or_else(stopped_too_early)?;
        match &block.overload {
            Some(overload) => {
                Err(Error::not_measured(format!("with compensate={}: {overload}", spec.compensate)))
            }
            None => Ok(block),
        }
    }

    /// Measures several tasks in turns (A B C, A B C), `rounds` times; returns the whole rounds of each task.
    /// So changes of the machine meet all of them.
    pub fn measure_in_turns(
        &mut self,
        specs: &[TaskSpec],
        rounds: usize,
        length_ns: i64,
    ) -> Result<Vec<Vec<Block>>, Error> {
        let mut blocks: Vec<Vec<Block>> = specs.iter().map(|_| Vec::with_capacity(rounds)).collect();
        for _ in 0..rounds {
            let mut round = Vec::with_capacity(specs.len());
            for spec in specs {
                let Some(block) = self.measure(spec, length_ns)? else { return Ok(blocks) };
                round.push(block);
            }
            blocks.iter_mut().zip(round).for_each(|(of_spec, block)| of_spec.push(block));
        }
        Ok(blocks)
    }

    /// Measures several tasks in turns, every block to its end: an interruption is an error.
    pub fn measure_all_in_turns(
        &mut self,
        specs: &[TaskSpec],
        rounds: usize,
        length_ns: i64,
    ) -> Result<Vec<Vec<Block>>, Error> {
        let mut blocks: Vec<Vec<Block>> = specs.iter().map(|_| Vec::with_capacity(rounds)).collect();
        for _ in 0..rounds {
            for (spec, blocks) in specs.iter().zip(&mut blocks) {
                blocks.push(self.measure_whole_block(spec, length_ns)?);
            }
        }
        Ok(blocks)
    }

    /// Checks that a task may be measured here; the error gives the reason.
    pub fn check_measurable(&self, spec: &TaskSpec) -> Result<(), String> {
        spec.validate().map_err(|error| error.to_string())?;
        prepare::prepare_cores(std::slice::from_ref(spec)).map_err(|error| error.to_string())?;
        let allowed: Vec<u16> = self.facts.usable_cpus().iter().collect();
        spare_processor::check(std::slice::from_ref(spec), &allowed).map_err(|error| error.to_string())
    }

    /// The blocks of one task as one run: its description and, after it, the rows of each block, numbered through.
    pub fn blocks_as_run(&self, spec: &TaskSpec, blocks: &[Block]) -> (RunInfo, Vec<Activation>) {
        let mut info = RunInfo {
            tasks: vec![TaskRun::new(spec.clone())],
            load: jitterlab_model::Load::NONE,
            placement: Some(self.placement.clone()),
            refused: self.refused.clone(),
            warnings: self.warnings.clone(),
            facts_before: Some(self.facts.clone()),
            facts_after: Some(self.read_facts()),
            stop: Some(StopReason::Duration),
            ..prepare::new_run_info(std::env::args().collect())
        };
        info.warnings.push(Warning::Parts { parts: blocks.len() as u64 });
        for refusal in blocks.iter().flat_map(|b| &b.refused) {
            if !info.refused.contains(refusal) {
                info.refused.push(refusal.clone());
            }
        }
        info.tasks[0].granted = blocks.last().map(|b| b.granted.clone());
        info.tasks[0].result = blocks.iter().map(|b| b.result.clone()).reduce(|a, b| sum_counters(&a, b));
        let mut rows = Vec::with_capacity(blocks.iter().map(|b| b.activations.len()).sum());
        for block in blocks {
            let before =
                u64::try_from((block.result.first_due_ns - self.grid_ns) / spec.period_ns).unwrap_or(0);
            rows.extend(block.activations.iter().enumerate().map(|(at, a)| Activation {
                index: before + a.index,
                flags: if at == 0 { a.flags.with(Flags::AFTER_GAP) } else { a.flags },
                ..*a
            }));
        }
        (info, rows)
    }

    /// Writes the blocks of one task as one run file; returns its path.
    pub fn save_blocks(&self, spec: &TaskSpec, blocks: &[Block], path: &Path) -> Result<PathBuf, Error> {
        /// Small enough that the disk does not seem too slow.
        const BATCH: usize = 1 << 14;
        let (info, rows) = self.blocks_as_run(spec, blocks);
        let mut writer = RunWriter::create(path, &info)?;
        for batch in rows.chunks(BATCH) {
            writer.append(0, batch)?;
        }
        Ok(writer.finish(info)?.path)
    }

    /// Distances of successive readings of the clock on the measured processor, under the task's policy. No
    /// start of a task can be known better than that.
    pub fn measure_clock_floor(&self) -> Result<Distribution, Error> {
        const READINGS: usize = 100_000;
        let spec = &self.spec;
        let setup = ThreadSetup {
            cpu: spec.cpu,
            lock_memory: false,
            ..ThreadSetup::new("clock readings", spec.policy.unwrap_or(Policy::Other), spec.period_ns)
        };
        let read = move || {
            let _ = setup.apply();
            let mut distances = Distribution::new();
            let mut last_ns = Linux.now_ns();
            for _ in 0..READINGS {
                let now_ns = Linux.now_ns();
                distances.record(now_ns - last_ns);
                // Recording takes time too, so the time restarts after it.
                last_ns = Linux.now_ns();
            }
            distances
        };
        let error = |error: Error| error.within("task clock readings");
        let thread = thread::Builder::new().spawn(read).map_err(|system| error(system.into()))?;
        thread.join().map_err(|_| error(thread_panic_error()))
    }
}

fn measure_block(
    spec: &TaskSpec,
    grid_ns: i64,
    length_ns: i64,
    interrupted: &AtomicBool,
) -> Result<Block, Error> {
    let count = u64::try_from(length_ns / spec.period_ns).unwrap_or(0).clamp(1, MAX_ACTIVATIONS);
    let stop = Arc::new(AtomicBool::new(false));
    let ring = count as usize;
    let options = ThreadOptions { ring, count: Some(count), guarded: true, ..ThreadOptions::default() };
    let of_task = |error: Error| error.within(format!("task {}", spec.name));
    let (work, _) = pulse::with_pulses(spec, None).map_err(of_task)?;
    let mut task = TaskThread::spawn_with(spec, &options, &stop, work).map_err(of_task)?;
    let drain = task.take_drain();
    let (granted, refused) = (task.granted().clone(), task.refused().to_vec());
    // All blocks lie on one grid, as if there were one long run with pauses.
    let earliest_ns = Linux.now_ns() + LEAD_NS;
    let begin_ns = grid_ns + ((earliest_ns - grid_ns) / spec.period_ns + 1) * spec.period_ns;
    task.start(begin_ns, None);
    while !task.is_finished() && !interrupted.load(Ordering::Relaxed) {
        thread::sleep(WATCH_EVERY);
    }
    stop.store(true, Ordering::Relaxed);
    let ended = task.finish().map_err(of_task)?;
    let overload = match ended.end {
        LoopEnd::Overload(overload) => Some(overload),
        LoopEnd::Wait(error) => {
            return Err(Error::refused(format!("task {} could not wait any more", spec.name)).because(error));
        }
        _ => None,
    };
    let mut activations = Vec::new();
    if let Some(mut drain) = drain {
        drain.pop_into(&mut activations, usize::MAX);
    }
    Ok(Block { granted, refused, result: ended.result, overload, activations })
}

/// Counters of consecutive blocks together.
fn sum_counters(a: &TaskResult, b: TaskResult) -> TaskResult {
    let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
    TaskResult {
        executed: a.executed + b.executed,
        missed: a.missed + b.missed,
        dropped: a.dropped + b.dropped,
        first_due_ns: a.first_due_ns,
        phase_loss_ns: a.phase_loss_ns + b.phase_loss_ns,
        min_latency_ns: a.min_latency_ns.min(b.min_latency_ns),
        max_latency_ns: a.max_latency_ns.max(b.max_latency_ns),
        cpu_time_ns: a.cpu_time_ns.zip(b.cpu_time_ns).map(|(a, b)| a + b),
        minor_faults: sum(a.minor_faults, b.minor_faults),
        major_faults: sum(a.major_faults, b.major_faults),
        voluntary_switches: sum(a.voluntary_switches, b.voluntary_switches),
        involuntary_switches: sum(a.involuntary_switches, b.involuntary_switches),
        polled_ns: a.polled_ns + b.polled_ns,
        longest_hole_ns: a.longest_hole_ns.max(b.longest_hole_ns),
        elsewhere: a.elsewhere + b.elsewhere,
        other_cpu: b.other_cpu.or(a.other_cpu),
        clock_steps: a.clock_steps + b.clock_steps,
        clock_moved_ns: a.clock_moved_ns + b.clock_moved_ns,
        ..b
    }
}
