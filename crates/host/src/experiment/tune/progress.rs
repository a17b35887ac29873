//! Rounds over the knobs, then the proof, as long as there is time.

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::tune::{
    BlockFigures, Experiment as KnobExperiment, Figure, Pace, Round, RoundBlock, TuneNote, TunePlan,
};
use serde::{Deserialize, Serialize};

use jitterlab_model::Error;

use crate::experiment::engine::Experiment;

/// A block, and its time with everything around it, in ns.
pub(super) type TimedBlock = (BlockFigures, i64);

pub(super) struct BlockSource<'s, 'a> {
    pub experiment: &'s mut Experiment<'a>,
    /// Measures a block with these knobs set.
    pub block: &'s mut dyn FnMut(&[bool]) -> Result<TimedBlock, Error>,
}

/// The plan with its progress.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct TuneProgress {
    plan: Option<TunePlan>,
    /// Seed of the order of the blocks.
    seed: u64,
    pace: Pace,
    /// True if less was measured than planned, because the time was over.
    cut_short: bool,
    /// True if blocks are compared by p99.9, false if by p99.
    pub(super) uses_p99_9: bool,
}

impl Default for TuneProgress {
    /// Progress of a tuning without a plan.
    fn default() -> Self {
        TuneProgress::new(None, 0, false)
    }
}

impl TuneProgress {
    /// Begins a plan, if there is one; next to it, the overhead of a block in ns.
    pub(super) fn new(planned: Option<(TunePlan, i64)>, seed: u64, uses_p99_9: bool) -> Self {
        let pace = Pace::from_plan(planned.map_or(0, |(plan, overhead_ns)| plan.block_ns + overhead_ns));
        TuneProgress { plan: planned.map(|(plan, _)| plan), seed, pace, cut_short: false, uses_p99_9 }
    }

    pub(super) fn plan(&self) -> Option<TunePlan> {
        self.plan
    }

    /// Blocks measured so far.
    pub(super) fn measured_blocks(&self) -> usize {
        self.pace.blocks()
    }

    /// Note that less was measured than planned, if blocks took longer.
    pub(super) fn slower_note(&self) -> Option<TuneNote> {
        let (planned_ns, took_ns) = (self.pace.planned_ns(), self.pace.mean_block_ns());
        (self.cut_short && took_ns > planned_ns).then_some(TuneNote::Slower { planned_ns, took_ns })
    }

    /// Runs the screening rounds over `knobs` knobs.
    pub(super) fn screen(
        &mut self,
        knobs: usize,
        source: &mut BlockSource<'_, '_>,
    ) -> Result<KnobExperiment, Error> {
        let Some(plan) = self.plan else { return Ok(KnobExperiment::new(knobs, 0, Figure::Tail, self.seed)) };
        let mut screening = KnobExperiment::new(knobs, plan.blocks(), plan.pilot.figure, self.seed);
        let step = |round| TrialStep::KnobRound { round, of: plan.rounds.max(round) };
        self.run_rounds(&mut screening, plan.screening_ns(), &step, |row| row.on.clone(), source)?;
        Ok(screening)
    }

    /// Compares all `kept` knobs together with the start, in fresh blocks; `None` without a plan.
    pub(super) fn prove(
        &mut self,
        kept: &[bool],
        source: &mut BlockSource<'_, '_>,
    ) -> Result<Option<KnobExperiment>, Error> {
        let Some(plan) = self.plan else { return Ok(None) };
        let mut proof = KnobExperiment::new(1, 2 * plan.pairs, plan.pilot.figure, self.seed.wrapping_add(1));
        let knobs = kept.iter().filter(|kept| **kept).count();
        let settings =
            |row: &RoundBlock| -> Vec<bool> { kept.iter().map(|kept| *kept && row.on[0]).collect() };
        self.run_rounds(&mut proof, plan.budget_ns, &|_| TrialStep::KnobProof { knobs }, settings, source)?;
        Ok(Some(proof))
    }

    /// Runs rounds until everything is decided, or a further one would not fit into the time.
    fn run_rounds(
        &mut self,
        judged: &mut KnobExperiment,
        until_ns: i64,
        step: &dyn Fn(usize) -> TrialStep,
        settings: impl Fn(&RoundBlock) -> Vec<bool>,
        source: &mut BlockSource<'_, '_>,
    ) -> Result<(), Error> {
        let mut last = None;
        while let Some(round) = judged.next_round() {
            if !self.pace.has_time(round.rows.len(), until_ns) {
                self.cut_short = true;
                break;
            }
            let step = step(judged.rounds() + 1);
            if last.replace(step.clone()) != Some(step.clone()) {
                source.experiment.begin_step(step);
            }
            let Some(blocks) = self.run_round(&round, &settings, source)? else { break };
            judged.add_round(round, blocks);
        }
        judged.conclude();
        Ok(())
    }

    /// Measures the blocks of a round; `None` if it was interrupted, or all the time was over before its end.
    fn run_round(
        &mut self,
        round: &Round,
        settings: &impl Fn(&RoundBlock) -> Vec<bool>,
        source: &mut BlockSource<'_, '_>,
    ) -> Result<Option<Vec<BlockFigures>>, Error> {
        let budget_ns = self.plan.map_or(0, |plan| plan.budget_ns);
        let mut blocks = Vec::with_capacity(round.rows.len());
        for row in &round.rows {
            if !self.pace.has_time(1, budget_ns) {
                self.cut_short = true;
                return Ok(None);
            }
            let block = source.experiment.next_part(|| (source.block)(&settings(row)))?;
            let Some((figures, took_ns)) = block else { return Ok(None) };
            self.pace.add_elapsed(took_ns);
            source.experiment.add_elapsed(took_ns);
            blocks.push(figures);
        }
        Ok(Some(blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::tune::{Pilot, SettingVerdict};
    use jitterlab_trace::FinishedParts;
    use std::sync::atomic::AtomicBool;

    const S: i64 = 1_000_000_000;

    /// Plays a plan on a machine where a block takes longer than its measurement by `overhead_ns`, a function
    /// of the number of blocks so far; the first knob halves latencies. Returns the blocks' time, the longest
    /// block, the course, the screening and the proof.
    fn played(
        plan: TunePlan,
        measured_ns: i64,
        overhead_ns: impl Fn(usize) -> i64,
    ) -> (i64, i64, TuneProgress, KnobExperiment, Option<KnobExperiment>) {
        let mut progress = TuneProgress::new(Some((plan, measured_ns)), 7, false);
        let (mut clock_ns, mut longest_ns, mut n) = (0, 0, 0);
        let mut block = |on: &[bool]| {
            let took_ns = plan.block_ns + overhead_ns(n);
            (clock_ns, longest_ns, n) = (clock_ns + took_ns, longest_ns.max(took_ns), n + 1);
            let tail_ns = if on[0] { 50_000 } else { 100_000 } + (n as i64 * 7_919) % 5_000;
            Ok((
                BlockFigures {
                    tail_ns,
                    max_ns: 2 * tail_ns,
                    missed: 0,
                    due: 5_000,
                    verdict: None,
                    repeated: 0,
                },
                took_ns,
            ))
        };
        let (mut tell, interrupted) = (|_: &_| (), AtomicBool::new(false));
        let mut experiment = Experiment::new(FinishedParts::without_file(), &mut tell, &interrupted);
        let mut source = BlockSource { experiment: &mut experiment, block: &mut block };
        let screening = progress.screen(plan.knobs, &mut source).unwrap();
        let proof = progress.prove(&[true, false, false][..plan.knobs], &mut source).unwrap();
        (clock_ns, longest_ns, progress, screening, proof)
    }

    #[test]
    fn a_slow_machine_keeps_to_the_budget_says_so_and_finds_what_helps_all_the_same() {
        let budget_ns = 150 * S;
        let pilot = Pilot { figure: Figure::Tail, spread: 0.1, blocks: 4 };
        let quick = TunePlan::new(3, budget_ns, 1_000_000, S / 2, pilot).unwrap();
        // As quick as planned; slow all the time; so slow that not even a round fits; slow from some block on.
        let cases: [(&dyn Fn(usize) -> i64, bool); 4] = [
            (&|_| S / 2, false),
            (&|_| 6 * S, true),
            (&|_| 40 * S, true),
            (&|n| if n < 20 { S / 2 } else { 9 * S }, true),
        ];
        for (overhead_ns, slower) in cases {
            let (clock_ns, longest_ns, progress, ..) = played(quick, S / 2, overhead_ns);
            assert!(clock_ns <= budget_ns + longest_ns, "{clock_ns} {progress:?}");
            assert_eq!(progress.slower_note().is_some(), slower, "{progress:?}");
        }
        // A pilot block makes a plan that can be kept to: fewer blocks, but with a result.
        let slow = TunePlan::new(3, budget_ns, 1_000_000, 4 * S, pilot).unwrap();
        assert!(slow.rounds < quick.rounds, "{slow:?}");
        let (clock_ns, _, progress, screening, proof) = played(slow, 4 * S, |_| 4 * S);
        assert!(clock_ns <= budget_ns && progress.slower_note().is_none(), "{clock_ns} {progress:?}");
        assert_eq!(screening.results()[0].judgement(), SettingVerdict::Helps, "{screening:?}");
        assert!(proof.is_some_and(|proof| proof.results()[0].judgement() == SettingVerdict::Helps));
    }
}
