//! A measurement in several steps of one task on this machine, for commands that compare ways to wait.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, anyhow};
use jitterlab_analysis::Statistics;
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime};
use jitterlab_analysis::summary::P50;
use jitterlab_analysis::trial::TrialNote;
use jitterlab_analysis::wakeup::BlockView;
use jitterlab_bench::host::{self, DmaLatency, Stage};
use jitterlab_model::{Activation, Compensation, RunInfo, TaskSpec};
use jitterlab_trace::{RunWriter, TraceError};

use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Progress;

/// Early wake-ups in a period, for the load curve: those of the theory's table.
const WAKE_UPS: [i64; 8] = [2, 4, 5, 10, 20, 25, 50, 100];
/// Early wake-ups in a period for the service time: the paper's best period.
const OFTEN: i64 = 10;
/// Wake-ups closer together than this are no longer waited for.
const SHORTEST_NS: i64 = 5_000;
/// How long each point of the load curve is measured.
const POINT_NS: i64 = 500_000_000;

/// A block as the analysis sees it.
pub fn view(period_ns: i64, block: &host::Block) -> BlockView<'_> {
    BlockView { period_ns, result: &block.result, activations: &block.activations }
}

/// Blocks as the analysis sees them.
pub fn views(period_ns: i64, blocks: &[host::Block]) -> Vec<BlockView<'_>> {
    blocks.iter().map(|block| view(period_ns, block)).collect()
}

/// The machine made ready for one task, and what is told meanwhile.
pub struct Session {
    /// The machine.
    pub stage: Stage,
    /// The task with nothing left open.
    pub spec: TaskSpec,
    /// Told after every block.
    pub progress: Progress,
    /// Set by Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// Median time between two readings of the clock, back to back; at least 1.
    pub floor_ns: i64,
    /// Time between two readings of the clock, back to back.
    pub clock_floor: Statistics,
    /// What could not be measured, and why.
    pub notes: Vec<TrialNote>,
}

impl Session {
    /// Makes the machine ready; what is planned will take about `planned_ns`.
    pub fn prepare(
        spec: TaskSpec,
        dma_latency: DmaLatency,
        planned_ns: i64,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let interrupted = interrupt::requested().context("cannot listen for Ctrl-C")?;
        let stage = Stage::prepare(spec, dma_latency)
            .map_err(|error| if error.is_bad_use() { Failure::bad_use(error) } else { error.into() })?;
        let clock_floor = Statistics::of(&stage.clock_floor()?);
        Ok(Session {
            spec: stage.spec().clone(),
            stage,
            progress: Progress::new(planned_ns, quiet),
            interrupted,
            floor_ns: clock_floor.at(P50).exactly().unwrap_or(1).max(1),
            clock_floor,
            notes: Vec::new(),
        })
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
    fn try_out(&mut self, spec: &TaskSpec, length_ns: i64) -> Result<host::Block, Failure> {
        let block = self.stage.measure(spec, length_ns, &self.interrupted)?;
        self.progress.done(length_ns);
        if self.is_interrupted() {
            return Err(anyhow!("interrupted before there was anything to report").into());
        }
        Ok(block)
    }

    /// Measures one block of a task that must not be stopped.
    pub fn measure(&mut self, spec: &TaskSpec, length_ns: i64) -> Result<host::Block, Failure> {
        let block = self.try_out(spec, length_ns)?;
        match &block.overload {
            Some(why) => Err(anyhow!("with compensate={}: {why}", spec.compensate).into()),
            None => Ok(block),
        }
    }

    /// Measures several ways in turns, none of which may be stopped.
    pub fn turns(
        &mut self,
        ways: &[TaskSpec],
        turns: usize,
        length_ns: i64,
    ) -> Result<Vec<Vec<host::Block>>, Failure> {
        let mut blocks: Vec<Vec<host::Block>> = ways.iter().map(|_| Vec::with_capacity(turns)).collect();
        for _ in 0..turns {
            for (way, blocks) in ways.iter().zip(&mut blocks) {
                blocks.push(self.measure(way, length_ns)?);
            }
        }
        Ok(blocks)
    }

    /// Measures several ways in turns; cut short, it gives the whole turns until then.
    pub fn interleave(
        &mut self,
        ways: &[TaskSpec],
        turns: usize,
        length_ns: i64,
    ) -> Result<Vec<Vec<host::Block>>, Failure> {
        let Session { stage, progress, interrupted, .. } = self;
        let mut done = |_: usize| progress.done(length_ns);
        Ok(stage.interleave(ways, turns, length_ns, &mut done, interrupted)?)
    }

    /// What a wake-up costs: of the uncompensated task, given its blocks, and of one that only wakes, often.
    pub fn service(&mut self, plain: &[host::Block]) -> Result<ServiceTime, Failure> {
        let often_every_ns = (self.spec.period_ns / OFTEN).max(SHORTEST_NS).min(self.spec.period_ns);
        let often = TaskSpec { period_ns: often_every_ns, ..self.spec.clone() };
        let often = self.measure(&often, POINT_NS)?;
        let views = views(self.spec.period_ns, plain);
        ServiceTime::of(&views, &view(often_every_ns, &often))
            .ok_or_else(|| anyhow!("this system does not tell a thread's processor time").into())
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
    pub fn load_curve(
        &mut self,
        service: &ServiceTime,
        plain: &[host::Block],
    ) -> Result<Vec<LoadPoint>, Failure> {
        let t = self.spec.period_ns;
        let uncompensated: f64 = views(t, plain).iter().filter_map(BlockView::load).sum::<f64>();
        let uncompensated = uncompensated / plain.len().max(1) as f64;
        let mut points = Vec::new();
        for every_ns in Self::wake_ups(t) {
            let block = self.try_out(&self.compensated(Compensation::Repeat { every_ns }), POINT_NS)?;
            if let Some(why) = &block.overload {
                self.notes.push(TrialNote::NoLoadPoint { every_ns, overload: *why });
                continue;
            }
            points.extend(LoadPoint::of(every_ns, &view(t, &block), uncompensated, service.often_ns));
        }
        Ok(points)
    }

    /// Writes blocks of one way as one run file.
    pub fn save(&self, spec: &TaskSpec, blocks: &[host::Block], path: &Path) -> Result<PathBuf, TraceError> {
        let (info, rows) = self.stage.as_run(spec, blocks);
        write_run(path, info, &rows)
    }
}

fn write_run(path: &Path, info: RunInfo, rows: &[Activation]) -> Result<PathBuf, TraceError> {
    /// Few enough not to be taken for a disk that is too slow.
    const BATCH: usize = 1 << 14;
    let mut writer = RunWriter::create(path, &info)?;
    for batch in rows.chunks(BATCH) {
        writer.append(0, batch)?;
    }
    Ok(writer.finish(info)?.path)
}
