//! Many short measurements of one task on this machine, in turns: for comparing ways to wait.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_analysis::wakeup::BlockView;
use jitterlab_model::warning::Placed;
use jitterlab_model::{
    Activation, Distribution, Flags, Granted, Overload, Policy, Refusal, RunInfo, StopReason, SystemFacts,
    TaskResult, TaskSpec, Warning,
};
use jitterlab_rt::{BuildError, End, Linux, System, TaskThread, ThreadOptions, ThreadSetup, polling};
use jitterlab_trace::{Parts, TraceError};
use serde::{Deserialize, Serialize};

use super::dma_latency::{DmaLatency, Held};
use super::error::{PrepareError, dma_latency_refused};
use super::facts::{self, Root};
use super::isolate;
use super::prepare::{self, Moved};
use super::pulse;

/// This machine, made ready to measure one task again and again.
pub struct Stage {
    spec: TaskSpec,
    facts: SystemFacts,
    placement: Placed,
    warnings: Vec<Warning>,
    refused: Vec<Refusal>,
    /// The common grid of all blocks, those of an earlier call included.
    grid_ns: Cell<i64>,
    /// The blocks so far.
    parts: RefCell<Parts>,
    /// Why no more of them are kept.
    not_kept: RefCell<Option<TraceError>>,
    _latency: Option<Held>,
    _moved: Moved,
}

/// One uninterrupted measurement of a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Block {
    /// How the thread really ran.
    pub granted: Granted,
    /// What the system refused.
    pub refused: Vec<Refusal>,
    /// What the thread counted.
    pub result: TaskResult,
    /// Why it was stopped for the machine's safety, if it was.
    pub overload: Option<Overload>,
    /// Every activation.
    #[serde(skip)]
    pub activations: Vec<Activation>,
}

/// A block as it is kept, beside its activations.
#[derive(Serialize, Deserialize)]
struct KeptBlock<B> {
    grid_ns: i64,
    block: B,
}

impl Block {
    /// The block as the analysis sees it.
    #[must_use]
    pub fn view(&self, period_ns: i64) -> BlockView<'_> {
        BlockView { period_ns, result: &self.result, activations: &self.activations }
    }

    /// Blocks as the analysis sees them.
    #[must_use]
    pub fn views(period_ns: i64, blocks: &[Block]) -> Vec<BlockView<'_>> {
        blocks.iter().map(|block| block.view(period_ns)).collect()
    }
}

/// From the last preparation of a block to its first due time.
const LEAD_NS: i64 = 2_000_000;
const WATCH_EVERY: Duration = Duration::from_millis(10);
/// A block's records stay in the ring until it is over, so that nothing runs beside it.
const MOST_ACTIVATIONS: u64 = 1 << 20;

impl Stage {
    /// Reads the machine's facts, chooses what the task leaves open, and moves the calling thread off the measured
    /// processor where there is another. Blocks that `parts` hold are taken from there, in the same order as they were
    /// measured; new ones are kept in it.
    ///
    /// # Errors
    /// A task that cannot be run as described.
    pub fn prepare(spec: TaskSpec, dma_latency: DmaLatency, parts: Parts) -> Result<Self, PrepareError> {
        let mut refused = Vec::new();
        let latency =
            dma_latency.hold().map_err(|error| refused.push(dma_latency_refused(dma_latency, &error)));
        let facts = facts::read(&Root::system());
        let mut prepared = prepare::tasks(&facts, vec![spec], None, &isolate::taken(&Root::system()))?;
        let moved = Moved::to(&prepared.housekeeping);
        let spec = prepared.tasks.pop().ok_or(PrepareError::NoTask)?;
        Ok(Stage {
            spec,
            facts,
            placement: prepared.placement,
            warnings: prepared.warnings,
            refused,
            grid_ns: Cell::new(Linux.now_ns()),
            parts: RefCell::new(parts),
            not_kept: RefCell::default(),
            _latency: latency.ok(),
            _moved: moved,
        })
    }

    /// The task with nothing left open.
    pub fn spec(&self) -> &TaskSpec {
        &self.spec
    }

    /// The machine before the first block.
    pub fn facts(&self) -> &SystemFacts {
        &self.facts
    }

    /// The machine now.
    pub fn facts_now(&self) -> SystemFacts {
        facts::read(&Root::system())
    }

    /// Where the task runs, and why there.
    pub fn placement(&self) -> &Placed {
        &self.placement
    }

    /// What a reader of the figures has to know.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What was refused while preparing.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// Ends it; see [`Parts::close`].
    ///
    /// # Errors
    /// The kept blocks cannot be removed, or not all could be kept.
    pub fn close(self, complete: bool) -> Result<usize, TraceError> {
        let kept = self.parts.into_inner().close(complete)?;
        self.not_kept.into_inner().map_or(Ok(kept), Err)
    }

    /// Measures a task for about this long, unless an earlier call did. An interrupted block is shorter, and is not kept.
    ///
    /// # Errors
    /// A task that is refused, and a thread that cannot be made.
    pub fn measure(
        &self,
        spec: &TaskSpec,
        length_ns: i64,
        interrupted: &AtomicBool,
    ) -> Result<Block, PrepareError> {
        if let Some((KeptBlock { grid_ns, block }, activations)) = self.parts.borrow_mut().next_kept() {
            self.grid_ns.set(grid_ns);
            return Ok(Block { activations, ..block });
        }
        let block = self.measure_now(spec, length_ns, interrupted)?;
        if !interrupted.load(Ordering::Relaxed) {
            let kept = KeptBlock { grid_ns: self.grid_ns.get(), block: &block };
            let outcome = self.parts.borrow_mut().keep(&kept, &block.activations);
            outcome.unwrap_or_else(|error| drop(self.not_kept.replace(Some(error))));
        }
        Ok(block)
    }

    fn measure_now(
        &self,
        spec: &TaskSpec,
        length_ns: i64,
        interrupted: &AtomicBool,
    ) -> Result<Block, PrepareError> {
        let count = u64::try_from(length_ns / spec.period_ns).unwrap_or(0).clamp(1, MOST_ACTIVATIONS);
        let stop = Arc::new(AtomicBool::new(false));
        let ring = count as usize;
        let options = ThreadOptions { ring, count: Some(count), guarded: true, ..ThreadOptions::default() };
        let (work, _) = pulse::around(spec, None)
            .map_err(|error| PrepareError::Pulse { task: spec.name.clone(), error })?;
        let mut task = TaskThread::spawn_with(spec, &options, &stop, work)
            .map_err(|error| PrepareError::Thread { task: spec.name.clone(), error })?;
        let drain = task.take_drain();
        let (granted, refused) = (task.granted().clone(), task.refused().to_vec());
        task.start(self.next_on_grid(spec.period_ns), None);
        while !task.is_finished() && !interrupted.load(Ordering::Relaxed) {
            thread::sleep(WATCH_EVERY);
        }
        stop.store(true, Ordering::Relaxed);
        let ended = task.finish().map_err(|error| PrepareError::Thread { task: spec.name.clone(), error })?;
        let overload = match ended.end {
            End::Overload(overload) => Some(overload),
            End::Wait(error) => return Err(PrepareError::Wait { task: spec.name.clone(), error }),
            _ => None,
        };
        let mut activations = Vec::new();
        if let Some(mut drain) = drain {
            drain.pop_into(&mut activations, usize::MAX);
        }
        Ok(Block { granted, refused, result: ended.result, overload, activations })
    }

    /// Whether a task may be measured here at all; the error says why not.
    ///
    /// # Errors
    /// A description that contradicts itself, and polling that would leave the machine no processor.
    pub fn try_out(&self, spec: &TaskSpec) -> Result<(), String> {
        spec.validate().map_err(|error| error.to_string())?;
        prepare::cores(std::slice::from_ref(spec)).map_err(|error| error.to_string())?;
        let allowed: Vec<u16> = self.facts.usable().iter().collect();
        polling::check(std::slice::from_ref(spec), &allowed).map_err(|error| error.to_string())
    }

    /// All blocks lie on one grid, as if there were one long run with pauses.
    fn next_on_grid(&self, period_ns: i64) -> i64 {
        let earliest_ns = Linux.now_ns() + LEAD_NS;
        let grid_ns = self.grid_ns.get();
        grid_ns + ((earliest_ns - grid_ns) / period_ns + 1) * period_ns
    }

    /// The blocks of one task as one run: its description and, after it, the rows of each block, numbered through.
    pub fn as_run(&self, spec: &TaskSpec, blocks: &[Block]) -> (RunInfo, Vec<Activation>) {
        let mut info = RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [spec.clone()]);
        info.tool = concat!("jitterlab ", env!("CARGO_PKG_VERSION")).into();
        info.started = prepare::now_utc();
        info.command = std::env::args().collect();
        info.load = jitterlab_model::Load::NONE;
        info.placement = Some(self.placement.clone());
        info.refused.clone_from(&self.refused);
        info.warnings.clone_from(&self.warnings);
        info.warnings.push(Warning::Parts { parts: blocks.len() as u64 });
        info.facts_before = Some(self.facts.clone());
        info.facts_after = Some(self.facts_now());
        info.stop = Some(StopReason::Duration);
        for refusal in blocks.iter().flat_map(|b| &b.refused) {
            if !info.refused.contains(refusal) {
                info.refused.push(refusal.clone());
            }
        }
        info.tasks[0].granted = blocks.last().map(|b| b.granted.clone());
        info.tasks[0].result = blocks.iter().map(|b| b.result.clone()).reduce(|a, b| join(&a, b));
        let mut rows = Vec::with_capacity(blocks.iter().map(|b| b.activations.len()).sum());
        for block in blocks {
            let before =
                u64::try_from((block.result.first_due_ns - self.grid_ns.get()) / spec.period_ns).unwrap_or(0);
            rows.extend(block.activations.iter().enumerate().map(|(at, a)| Activation {
                index: before + a.index,
                flags: if at == 0 { a.flags.with(Flags::AFTER_GAP) } else { a.flags },
                ..*a
            }));
        }
        (info, rows)
    }

    /// Measures several tasks in turns, `rounds` times each (A B C, A B C), so that what changes on the machine
    /// meanwhile meets all of them. `done` is told after each block how many there were. Ends early, with whole
    /// rounds only, once `interrupted` is set.
    ///
    /// # Errors
    /// As [`Stage::measure`].
    pub fn interleave(
        &self,
        specs: &[TaskSpec],
        rounds: usize,
        length_ns: i64,
        done: &mut dyn FnMut(usize),
        interrupted: &AtomicBool,
    ) -> Result<Vec<Vec<Block>>, PrepareError> {
        let mut blocks: Vec<Vec<Block>> = specs.iter().map(|_| Vec::with_capacity(rounds)).collect();
        let mut measured = 0;
        for _ in 0..rounds {
            let mut round = Vec::with_capacity(specs.len());
            for spec in specs {
                round.push(self.measure(spec, length_ns, interrupted)?);
                measured += 1;
                done(measured);
                if interrupted.load(Ordering::Relaxed) {
                    return Ok(blocks);
                }
            }
            for (of_spec, block) in blocks.iter_mut().zip(round) {
                of_spec.push(block);
            }
        }
        Ok(blocks)
    }

    /// Reads the clock again and again on the measured processor, under the task's policy: the distances of
    /// neighbouring readings. No start of a task can be known better than that.
    ///
    /// # Errors
    /// A thread that cannot be made, or that broke down.
    pub fn clock_floor(&self) -> Result<Distribution, PrepareError> {
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
                // Recording takes time too: begin anew after it.
                last_ns = Linux.now_ns();
            }
            distances
        };
        let error = |error| PrepareError::Thread { task: "clock readings".into(), error };
        let thread = thread::Builder::new().spawn(read).map_err(|system| error(system.into()))?;
        thread.join().map_err(|_| error(BuildError::Broken))
    }
}

/// What a task counted in one block after another.
fn join(a: &TaskResult, b: TaskResult) -> TaskResult {
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
