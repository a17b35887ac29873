//! Cost and gain of compensating the jitter of a task on this machine: measured, recommended, proven.

use std::path::PathBuf;

use jitterlab_analysis::Statistics;
use jitterlab_analysis::compensation_trial::{
    Candidate, CompensationTrial, Disturbance, TrialNote, TrialStep,
};
use jitterlab_analysis::expectation::{LoadPoint, MarginPoint, ServiceTime, latency_distribution};
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::recommendation::{CompensationRequirement, MarginChoice, best_candidate};
use jitterlab_analysis::summary::P50;
use jitterlab_analysis::wakeup::BlockView;
use jitterlab_model::{Compensation, Error, TaskSpec, WakeMethod};

use super::block_measurement::{Block, TaskMeasurer};
use crate::error::{no_measurement, stopped_too_early};

/// Turns in which the methods are measured.
const SAMPLE_TURNS: usize = 10;
/// Early wake-ups in a period, for the load curve: those of the theory's table.
const WAKE_UPS: [i64; 8] = [2, 4, 5, 10, 20, 25, 50, 100];
/// Early wake-ups in a period for the service time: the paper's best period.
const OFTEN: i64 = 10;
/// Wake-ups closer together than this are no longer waited for.
const SHORTEST_NS: i64 = 5_000;
/// Duration of each point of the load curve.
const POINT_NS: i64 = 500_000_000;
/// Margins whose polling is compared with the expectation.
const MARGINS_NS: [i64; 4] = [20_000, 50_000, 100_000, 200_000];
/// Duration of each of several turns of a margin.
const TURN_NS: i64 = 250_000_000;
const MARGIN_TURNS: usize = 6;
/// A start later than this many readings of the clock is late.
const LATE_READINGS: i64 = 3;

/// Methods, target and proof of a compensation.
#[derive(Debug, Clone)]
pub struct CompensationPlan {
    /// Wake-up methods to choose from, in order of preference.
    pub methods: Vec<WakeMethod>,
    /// Share of late starts to reach, or allowed cost.
    pub wish: CompensationRequirement,
    /// Number of turns of the uncompensated and of the compensated task in the proof.
    pub rounds: usize,
    /// Duration of each turn, in ns.
    pub turn_ns: i64,
    /// Files for the uncompensated and the compensated run of the proof, if they are saved.
    pub files: Option<[PathBuf; 2]>,
}

/// The blocks of one wake-up method.
struct Sample {
    spec: TaskSpec,
    blocks: Vec<Block>,
}

impl CompensationPlan {
    /// Time for which each method is measured before the proof, in ns: half of the compensated task's in it.
    fn sample_ns(&self) -> i64 {
        self.rounds as i64 * self.turn_ns / 2
    }

    /// The length of one turn of a method before the proof, in ns.
    fn sample_turn_ns(&self) -> i64 {
        self.sample_ns() / SAMPLE_TURNS as i64
    }

    /// Checks that some margin can compensate a task of this description, and that these turns can prove it.
    pub fn check_task(&self, spec: &TaskSpec) -> Result<(), Error> {
        if self.turn_ns.min(self.sample_turn_ns()) < spec.period_ns {
            return Err(Error::bad_use("--duration is too short for the period and --rounds: raise it"));
        }
        // Whatever contradicts a margin is found with any.
        let compensate = Compensation::Margin { margin_ns: (spec.period_ns / 2).max(1) };
        TaskSpec { compensate, ..spec.clone() }.validate()
    }

    /// Length of all steps together for a task of this period, in ns.
    fn planned_ns(&self, period_ns: i64) -> i64 {
        self.sample_ns() * self.methods.len() as i64
            + POINT_NS * (1 + early_wake_periods_ns(period_ns).count() as i64)
            + TURN_NS * (MARGIN_TURNS * (1 + margins_ns(period_ns).count())) as i64
            + 2 * self.rounds as i64 * self.turn_ns
    }

    /// Measures latencies, recommends a compensation and proves it. Interrupted in the proof, it uses the whole pairs until then.
    ///
    /// # Errors
    /// A task that cannot be measured here or was stopped before the proof, or an interrupt before it.
    pub fn measure(&self, bench: &mut TaskMeasurer<'_, '_>) -> Result<CompensationTrial, Error> {
        let period_ns = bench.spec.period_ns;
        bench.experiment.set_total_time(self.planned_ns(period_ns));
        let clock_floor = Statistics::from_values(&bench.measure_clock_floor()?);
        let tolerance_ns = lateness_threshold_ns(&clock_floor);
        let samples = self.measure_samples(bench)?;
        bench.begin_step(TrialStep::WakeUpCost);
        let first = samples.first().ok_or_else(no_measurement)?;
        let service = measure_service_time(bench, &first.blocks)?;
        let (chosen, candidates) = self.choose_method(&samples, &service)?;
        bench.spec = samples[chosen].spec.clone();
        let (load_curve, missing) = measure_load_curve(bench, &service, &samples[chosen].blocks)?;
        let margins = measure_polling(bench, tolerance_ns)?;

        bench.begin_step(TrialStep::Proof);
        let margin_ns = candidates[chosen].choice.margin_ns;
        let ways = [bench.spec.clone(), bench.spec_with_compensation(Compensation::Margin { margin_ns })];
        let before = bench.read_facts();
        let proven = bench.measure_in_turns(&ways, self.rounds, self.turn_ns)?;
        let after = bench.read_facts();
        let proof = (!proven[0].is_empty()).then(|| {
            let [plain, compensated] = [0, 1].map(|way| Block::views(period_ns, &proven[way]));
            Proof::new(&plain, &compensated, tolerance_ns)
        });

        let mut notes = trial_notes(bench, missing, &samples, &proven[1]);
        let mut files = Vec::new();
        for (way, path) in self.files.iter().flatten().enumerate().filter(|_| proof.is_some()) {
            match bench.save_blocks(&ways[way], &proven[way], path) {
                Ok(path) => files.push(path.display().to_string()),
                Err(error) => notes.push(TrialNote::NotSaved { why: error.to_string() }),
            }
        }
        Ok(CompensationTrial {
            period_ns,
            clock_floor,
            service,
            candidates,
            chosen,
            load_curve,
            margins,
            longest_hole_ns: proven[1].iter().map(|b| b.result.longest_hole_ns).max().unwrap_or(0),
            proof,
            disturbance: Disturbance::between(&before, &after, bench.spec.cpu),
            files,
            notes,
        })
    }

    /// Measures blocks of the uncompensated task with each wake-up method, in turns.
    fn measure_samples(&self, bench: &mut TaskMeasurer<'_, '_>) -> Result<Vec<Sample>, Error> {
        bench.begin_step(TrialStep::EarlySleeps {
            methods: self.methods.len(),
            each_ns: self.sample_ns(),
            proof: (2 * self.rounds, self.turn_ns),
        });
        let ways: Vec<TaskSpec> =
            self.methods.iter().map(|wake| TaskSpec { wake: *wake, ..bench.spec.clone() }).collect();
        let blocks = bench.measure_all_in_turns(&ways, SAMPLE_TURNS, self.sample_turn_ns())?;
        Ok(ways.into_iter().zip(blocks).map(|(spec, blocks)| Sample { spec, blocks }).collect())
    }

    /// Chooses the wake-up method to use; returns its index, and the figures of all methods.
    fn choose_method(
        &self,
        samples: &[Sample],
        service: &ServiceTime,
    ) -> Result<(usize, Vec<Candidate>), Error> {
        let candidate = |Sample { spec, blocks }: &Sample| {
            Candidate::new(spec.wake, &Block::views(spec.period_ns, blocks), self.wish, service)
        };
        let candidates: Option<Vec<Candidate>> = samples.iter().map(candidate).collect();
        let candidates = candidates.ok_or_else(no_measurement)?;
        let choices: Vec<MarginChoice> = candidates.iter().map(|c| c.choice).collect();
        Ok((best_candidate(&choices).ok_or_else(no_measurement)?, candidates))
    }
}

/// The margins to try, in ns: those below half a period.
fn margins_ns(period_ns: i64) -> impl Iterator<Item = i64> {
    MARGINS_NS.into_iter().filter(move |margin_ns| *margin_ns < period_ns / 2)
}

/// Latency above which a start counts as late, in ns: three times the median clock reading.
pub fn lateness_threshold_ns(clock_floor: &Statistics) -> i64 {
    LATE_READINGS * clock_floor.at(P50).exactly().unwrap_or(1).max(1)
}

/// Processor time of a wake-up: in the `plain` blocks, and measured at up to ten times the task's rate.
pub fn measure_service_time(bench: &mut TaskMeasurer<'_, '_>, plain: &[Block]) -> Result<ServiceTime, Error> {
    let period_ns = bench.spec.period_ns;
    let often_every_ns = (period_ns / OFTEN).max(SHORTEST_NS).min(period_ns);
    let often = TaskSpec { period_ns: often_every_ns, ..bench.spec.clone() };
    let often = bench.measure_whole_block(&often, POINT_NS)?;
    let views = Block::views(period_ns, plain);
    ServiceTime::new(&views, &often.view(often_every_ns))
        .ok_or_else(|| Error::not_measured("this system does not count a thread's processor time"))
}

/// Periods of early wake-ups for the load curve, in ns: fractions of the task's period.
fn early_wake_periods_ns(period_ns: i64) -> impl Iterator<Item = i64> {
    WAKE_UPS.iter().map(move |n| period_ns / n).filter(|every_ns| *every_ns >= SHORTEST_NS)
}

/// Measures the load of early wake-ups over their period (NIST paper, equation 1), and notes overloads.
pub fn measure_load_curve(
    bench: &mut TaskMeasurer<'_, '_>,
    service: &ServiceTime,
    plain: &[Block],
) -> Result<(Vec<LoadPoint>, Vec<TrialNote>), Error> {
    let period_ns = bench.spec.period_ns;
    let uncompensated: f64 = Block::views(period_ns, plain).iter().filter_map(BlockView::load).sum::<f64>();
    let uncompensated = uncompensated / plain.len().max(1) as f64;
    let (mut points, mut missing) = (Vec::new(), Vec::new());
    for every_ns in early_wake_periods_ns(period_ns) {
        let spec = bench.spec_with_compensation(Compensation::Repeat { every_ns });
        let block = bench.measure(&spec, POINT_NS)?.ok_or_else(stopped_too_early)?;
        match block.overload {
            Some(overload) => missing.push(TrialNote::NoLoadPoint { every_ns, overload }),
            None => {
                points.extend(LoadPoint::new(
                    every_ns,
                    &block.view(period_ns),
                    uncompensated,
                    service.often_ns,
                ));
            }
        }
    }
    Ok((points, missing))
}

/// Measures polling for each margin, with its prediction from latencies of uncompensated blocks in between.
fn measure_polling(bench: &mut TaskMeasurer<'_, '_>, tolerance_ns: i64) -> Result<Vec<MarginPoint>, Error> {
    bench.begin_step(TrialStep::MarginPolling);
    let period_ns = bench.spec.period_ns;
    let mut ways = vec![bench.spec.clone()];
    ways.extend(
        margins_ns(period_ns)
            .map(|margin_ns| bench.spec_with_compensation(Compensation::Margin { margin_ns })),
    );
    let turns = bench.measure_all_in_turns(&ways, MARGIN_TURNS, TURN_NS)?;
    let latencies = latency_distribution(&Block::views(period_ns, &turns[0]));
    let point = |(margin_ns, blocks): (i64, &Vec<Block>)| {
        MarginPoint::new(margin_ns, &Block::views(period_ns, blocks), &latencies, tolerance_ns)
    };
    Ok(margins_ns(period_ns).zip(&turns[1..]).filter_map(point).collect())
}

/// Notes of a trial: warnings, refusals, missing points, and an early end.
fn trial_notes(
    bench: &TaskMeasurer<'_, '_>,
    missing: Vec<TrialNote>,
    samples: &[Sample],
    compensated: &[Block],
) -> Vec<TrialNote> {
    let warnings = bench.warnings().iter().cloned();
    let mut notes: Vec<TrialNote> = warnings.map(|warning| TrialNote::Machine { warning }).collect();
    notes.extend(missing);
    for refusal in samples.iter().flat_map(|sample| &sample.blocks).flat_map(|b| &b.refused) {
        let refused = TrialNote::Refused { refusal: refusal.clone() };
        if !notes.contains(&refused) {
            notes.push(refused);
        }
    }
    if bench.experiment.is_interrupted() {
        notes.push(TrialNote::Interrupted);
    }
    notes.extend(compensated.iter().find_map(|b| b.overload).map(|overload| TrialNote::Stopped { overload }));
    notes
}
