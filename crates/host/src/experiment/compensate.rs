//! What compensating the jitter of a task costs and brings on this machine: measured, recommended, proven.

use std::path::PathBuf;

use jitterlab_analysis::expectation::{MarginPoint, ServiceTime, latency_law};
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::recommendation::{MarginChoice, Wish, best};
use jitterlab_analysis::trial::{Candidate, CompensationTrial, Disturbance, TrialNote, TrialStep};
use jitterlab_model::{Compensation, TaskSpec, WakeMethod};

use super::blocks::Block;
use super::error::SessionError;
use super::session::Session;

/// Turns in which the methods are measured.
const SAMPLE_TURNS: usize = 10;
/// Margins whose polling is compared with what was expected.
const MARGINS_NS: [i64; 4] = [20_000, 50_000, 100_000, 200_000];
/// How long each of several turns of a margin is.
const TURN_NS: i64 = 250_000_000;
const MARGIN_TURNS: usize = 6;
/// A start later than this many readings of the clock is late.
const LATE_READINGS: i64 = 3;

/// What is to be measured of a task, and proven.
#[derive(Debug, Clone)]
pub struct TrialPlan {
    /// Wake-up methods to choose from, in order of preference.
    pub methods: Vec<WakeMethod>,
    /// What compensating shall bring, or may cost.
    pub wish: Wish,
    /// How often the uncompensated and the compensated task have their turn in the proof.
    pub rounds: usize,
    /// How long each turn is, in ns.
    pub turn_ns: i64,
    /// Where the uncompensated and the compensated run of the proof are saved, if they are.
    pub files: Option<[PathBuf; 2]>,
}

/// The blocks of one wake-up method.
struct Sample {
    spec: TaskSpec,
    blocks: Vec<Block>,
}

impl TrialPlan {
    /// How long latencies of early sleeps are measured for each method, in ns: half as long as the compensated task in the
    /// proof.
    fn sample_ns(&self) -> i64 {
        self.rounds as i64 * self.turn_ns / 2
    }

    /// The length of one turn of a method before the proof, in ns.
    fn sample_turn_ns(&self) -> i64 {
        self.sample_ns() / SAMPLE_TURNS as i64
    }

    /// Whether a task of this description can be compensated by some margin, and proven to be so in these turns.
    ///
    /// # Errors
    /// What contradicts a margin; turns that are too short.
    pub fn check(&self, spec: &TaskSpec) -> Result<(), SessionError> {
        if self.turn_ns.min(self.sample_turn_ns()) < spec.period_ns {
            return Err(SessionError::ShorterThanPeriod);
        }
        // Whatever contradicts a margin is found with any.
        let compensate = Compensation::Margin { margin_ns: (spec.period_ns / 2).max(1) };
        Ok(TaskSpec { compensate, ..spec.clone() }.validate()?)
    }

    /// What all steps take together for a task of this period, in ns.
    #[must_use]
    pub fn planned_ns(&self, period_ns: i64) -> i64 {
        self.sample_ns() * self.methods.len() as i64
            + Session::curve_ns(period_ns)
            + TURN_NS * (MARGIN_TURNS * (1 + margins(period_ns).count())) as i64
            + 2 * self.rounds as i64 * self.turn_ns
    }

    /// Measures, recommends and proves. Interrupted in the proof, it rests on the whole pairs until then.
    ///
    /// # Errors
    /// A task that cannot be measured here or was stopped before the proof, or an end that was asked for before it.
    pub fn measure(&self, session: &mut Session<'_>) -> Result<CompensationTrial, SessionError> {
        let period_ns = session.spec.period_ns;
        let samples = self.sample(session)?;
        session.step(TrialStep::WakeUpCost);
        let first = samples.first().ok_or(SessionError::NothingMeasured)?;
        let service = session.service(&first.blocks)?;
        let (chosen, candidates) = self.choose(&samples, &service)?;
        session.spec = samples[chosen].spec.clone();
        let load_curve = session.load_curve(&service, &samples[chosen].blocks)?;
        let margins = polling(session)?;

        session.step(TrialStep::Proof);
        let margin_ns = candidates[chosen].choice.margin_ns;
        let ways = [session.spec.clone(), session.compensated(Compensation::Margin { margin_ns })];
        let before = session.stage.facts_now();
        let proven = session.interleave(&ways, self.rounds, self.turn_ns)?;
        let after = session.stage.facts_now();
        let proof = (!proven[0].is_empty()).then(|| {
            let [plain, compensated] = [0, 1].map(|way| Block::views(period_ns, &proven[way]));
            Proof::of(&plain, &compensated, LATE_READINGS * session.floor_ns)
        });

        let mut notes = notes(session, &samples, &proven[1]);
        let mut files = Vec::new();
        for (way, path) in self.files.iter().flatten().enumerate().filter(|_| proof.is_some()) {
            match session.save(&ways[way], &proven[way], path) {
                Ok(path) => files.push(path.display().to_string()),
                Err(error) => notes.push(TrialNote::NotSaved { why: error.to_string() }),
            }
        }
        Ok(CompensationTrial {
            period_ns,
            clock_floor: session.clock_floor,
            service,
            candidates,
            chosen,
            load_curve,
            margins,
            longest_hole_ns: proven[1].iter().map(|b| b.result.longest_hole_ns).max().unwrap_or(0),
            proof,
            disturbance: Disturbance::between(&before, &after, session.spec.cpu),
            files,
            notes,
        })
    }

    /// Latencies of early sleeps, which are those of the uncompensated task, for each wake-up method.
    fn sample(&self, session: &mut Session<'_>) -> Result<Vec<Sample>, SessionError> {
        session.step(TrialStep::EarlySleeps);
        let ways: Vec<TaskSpec> =
            self.methods.iter().map(|wake| TaskSpec { wake: *wake, ..session.spec.clone() }).collect();
        let blocks = session.turns(&ways, SAMPLE_TURNS, self.sample_turn_ns())?;
        Ok(ways.into_iter().zip(blocks).map(|(spec, blocks)| Sample { spec, blocks }).collect())
    }

    /// What the methods were like, and which of them to use.
    fn choose(
        &self,
        samples: &[Sample],
        service: &ServiceTime,
    ) -> Result<(usize, Vec<Candidate>), SessionError> {
        let candidate = |Sample { spec, blocks }: &Sample| {
            Candidate::of(spec.wake, &Block::views(spec.period_ns, blocks), self.wish, service)
        };
        let candidates: Option<Vec<Candidate>> = samples.iter().map(candidate).collect();
        let candidates = candidates.ok_or(SessionError::NothingMeasured)?;
        let choices: Vec<MarginChoice> = candidates.iter().map(|c| c.choice).collect();
        Ok((best(&choices).ok_or(SessionError::NothingMeasured)?, candidates))
    }
}

/// The margins that fit into a period.
fn margins(period_ns: i64) -> impl Iterator<Item = i64> {
    MARGINS_NS.into_iter().filter(move |margin_ns| *margin_ns < period_ns / 2)
}

/// Polling as measured, and as the latencies of uncompensated blocks in between let expect it.
fn polling(session: &mut Session<'_>) -> Result<Vec<MarginPoint>, SessionError> {
    session.step(TrialStep::MarginPolling);
    let period_ns = session.spec.period_ns;
    let mut ways = vec![session.spec.clone()];
    ways.extend(margins(period_ns).map(|margin_ns| session.compensated(Compensation::Margin { margin_ns })));
    let turns = session.turns(&ways, MARGIN_TURNS, TURN_NS)?;
    let latencies = latency_law(&Block::views(period_ns, &turns[0]));
    let tolerance_ns = LATE_READINGS * session.floor_ns;
    let point = |(margin_ns, blocks): (i64, &Vec<Block>)| {
        MarginPoint::of(margin_ns, &Block::views(period_ns, blocks), &latencies, tolerance_ns)
    };
    Ok(margins(period_ns).zip(&turns[1..]).filter_map(point).collect())
}

/// What a reader of the trial has to know.
fn notes(session: &mut Session<'_>, samples: &[Sample], compensated: &[Block]) -> Vec<TrialNote> {
    let warnings = session.stage.warnings().iter().cloned();
    let mut notes: Vec<TrialNote> = warnings.map(|warning| TrialNote::Machine { warning }).collect();
    notes.append(&mut session.notes);
    for refusal in samples.iter().flat_map(|sample| &sample.blocks).flat_map(|b| &b.refused) {
        let refused = TrialNote::Refused { refusal: refusal.clone() };
        if !notes.contains(&refused) {
            notes.push(refused);
        }
    }
    if session.is_interrupted() {
        notes.push(TrialNote::Interrupted);
    }
    notes.extend(compensated.iter().find_map(|b| b.overload).map(|overload| TrialNote::Stopped { overload }));
    notes
}
