//! A measurement in several steps of one task on this machine, for comparing ways to wait.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_analysis::Statistics;
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime};
use jitterlab_analysis::summary::P50;
use jitterlab_analysis::trial::{TrialNote, TrialStep};
use jitterlab_analysis::wakeup::BlockView;
use jitterlab_model::{Compensation, Error, TaskSpec};
use jitterlab_trace::{Parts, RunWriter};

use super::blocks::{Block, Stage};
use super::dma_latency::DmaLatency;
use super::error::SessionError;

/// Early wake-ups in a period, for the load curve: those of the theory's table.
const WAKE_UPS: [i64; 8] = [2, 4, 5, 10, 20, 25, 50, 100];
/// Early wake-ups in a period for the service time: the paper's best period.
const OFTEN: i64 = 10;
/// Wake-ups closer together than this are no longer waited for.
const SHORTEST_NS: i64 = 5_000;
/// How long each point of the load curve is measured.
const POINT_NS: i64 = 500_000_000;

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionProgress {
    /// A step begins.
    Begins(TrialStep),
    /// A part of the step is done, which took about so long, in ns.
    Took(i64),
}

/// The machine made ready for one task.
pub struct Session<'a> {
    /// The machine.
    pub stage: Stage,
    /// The task with nothing left open.
    pub spec: TaskSpec,
    /// Median time between two readings of the clock, back to back; at least 1.
    pub floor_ns: i64,
    /// Time between two readings of the clock, back to back.
    pub clock_floor: Statistics,
    /// What could not be measured, and why.
    pub notes: Vec<TrialNote>,
    tell: &'a mut dyn FnMut(SessionProgress),
    interrupted: &'a AtomicBool,
}

impl<'a> Session<'a> {
    /// Makes the machine ready. `parts` hold the blocks of an earlier call, `tell` gets how far it is, `interrupted` is set
    /// by whoever wants an end.
    ///
    /// # Errors
    /// A task that cannot be measured here.
    pub fn prepare(
        spec: TaskSpec,
        dma_latency: DmaLatency,
        parts: Parts,
        tell: &'a mut dyn FnMut(SessionProgress),
        interrupted: &'a AtomicBool,
    ) -> Result<Self, SessionError> {
        let stage = Stage::prepare(spec, dma_latency, parts)?;
        let clock_floor = Statistics::of(&stage.clock_floor()?);
        Ok(Session {
            spec: stage.spec().clone(),
            stage,
            floor_ns: clock_floor.at(P50).exactly().unwrap_or(1).max(1),
            clock_floor,
            notes: Vec::new(),
            tell,
            interrupted,
        })
    }

    /// The next step begins.
    pub fn step(&mut self, step: TrialStep) {
        (self.tell)(SessionProgress::Begins(step));
    }

    /// The task, compensated.
    pub fn compensated(&self, compensate: Compensation) -> TaskSpec {
        TaskSpec { compensate, ..self.spec.clone() }
    }

    /// Whether Ctrl-C was pressed.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Measures one block, which may have been stopped for the machine's safety.
    fn try_out(&mut self, spec: &TaskSpec, length_ns: i64) -> Result<Block, SessionError> {
        let block = self.stage.measure(spec, length_ns, self.interrupted)?;
        (self.tell)(SessionProgress::Took(length_ns));
        if self.is_interrupted() {
            return Err(SessionError::Interrupted);
        }
        Ok(block)
    }

    /// Measures one block of a task that must not be stopped.
    ///
    /// # Errors
    /// A task that cannot be measured here or was stopped, or an end that was asked for.
    pub fn measure(&mut self, spec: &TaskSpec, length_ns: i64) -> Result<Block, SessionError> {
        let block = self.try_out(spec, length_ns)?;
        match &block.overload {
            Some(overload) => Err(SessionError::Stopped { compensate: spec.compensate, overload: *overload }),
            None => Ok(block),
        }
    }

    /// Measures several ways in turns, none of which may be stopped.
    ///
    /// # Errors
    /// A task that cannot be measured here or was stopped, or an end that was asked for.
    pub fn turns(
        &mut self,
        ways: &[TaskSpec],
        turns: usize,
        length_ns: i64,
    ) -> Result<Vec<Vec<Block>>, SessionError> {
        let mut blocks: Vec<Vec<Block>> = ways.iter().map(|_| Vec::with_capacity(turns)).collect();
        for _ in 0..turns {
            for (way, blocks) in ways.iter().zip(&mut blocks) {
                blocks.push(self.measure(way, length_ns)?);
            }
        }
        Ok(blocks)
    }

    /// Measures several ways in turns; cut short, it gives the whole turns until then.
    ///
    /// # Errors
    /// A task that cannot be measured here or was stopped, or an end that was asked for.
    pub fn interleave(
        &mut self,
        ways: &[TaskSpec],
        turns: usize,
        length_ns: i64,
    ) -> Result<Vec<Vec<Block>>, SessionError> {
        let Session { stage, tell, interrupted, .. } = self;
        let mut done = |_: usize| tell(SessionProgress::Took(length_ns));
        Ok(stage.interleave(ways, turns, length_ns, &mut done, interrupted)?)
    }

    /// What a wake-up costs: of the uncompensated task, given its blocks, and of one that only wakes, often.
    ///
    /// # Errors
    /// A task that cannot be measured here or was stopped, or an end that was asked for.
    pub fn service(&mut self, plain: &[Block]) -> Result<ServiceTime, SessionError> {
        let often_every_ns = (self.spec.period_ns / OFTEN).max(SHORTEST_NS).min(self.spec.period_ns);
        let often = TaskSpec { period_ns: often_every_ns, ..self.spec.clone() };
        let often = self.measure(&often, POINT_NS)?;
        let views = Block::views(self.spec.period_ns, plain);
        ServiceTime::of(&views, &often.view(often_every_ns)).ok_or(SessionError::NoProcessorTime)
    }

    /// Periods A of early wake-ups for the load curve.
    pub fn wake_ups(period_ns: i64) -> impl Iterator<Item = i64> {
        WAKE_UPS.iter().map(move |n| period_ns / n).filter(|every_ns| *every_ns >= SHORTEST_NS)
    }

    /// How long [`Session::service`] and [`Session::load_curve`] take together.
    pub fn curve_ns(period_ns: i64) -> i64 {
        POINT_NS * (1 + Self::wake_ups(period_ns).count() as i64)
    }

    /// The load of the NIST paper's way, beside equation 1.
    ///
    /// # Errors
    /// A task that cannot be measured here or was stopped, or an end that was asked for.
    pub fn load_curve(
        &mut self,
        service: &ServiceTime,
        plain: &[Block],
    ) -> Result<Vec<LoadPoint>, SessionError> {
        let t = self.spec.period_ns;
        let uncompensated: f64 = Block::views(t, plain).iter().filter_map(BlockView::load).sum::<f64>();
        let uncompensated = uncompensated / plain.len().max(1) as f64;
        let mut points = Vec::new();
        for every_ns in Self::wake_ups(t) {
            let block = self.try_out(&self.compensated(Compensation::Repeat { every_ns }), POINT_NS)?;
            if let Some(why) = &block.overload {
                self.notes.push(TrialNote::NoLoadPoint { every_ns, overload: *why });
                continue;
            }
            points.extend(LoadPoint::of(every_ns, &block.view(t), uncompensated, service.often_ns));
        }
        Ok(points)
    }

    /// Writes blocks of one way as one run file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, spec: &TaskSpec, blocks: &[Block], path: &Path) -> Result<PathBuf, Error> {
        /// Few enough not to be taken for a disk that is too slow.
        const BATCH: usize = 1 << 14;
        let (info, rows) = self.stage.as_run(spec, blocks);
        let mut writer = RunWriter::create(path, &info)?;
        for batch in rows.chunks(BATCH) {
            writer.append(0, batch)?;
        }
        Ok(writer.finish(info)?.path)
    }
}
