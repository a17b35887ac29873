//! Guarantees about jobs that may be missed: the miss itself is added to the jobs that are given or were seen.

use jitterlab_model::Error;

use super::closed_loop::Loop;
use super::execution::Execution;
use super::given_task::GivenTask;
use super::overrun::OverrunPolicy;
use super::single_task_loop::SingleTaskLoop;
use super::timing::Actuation;
use super::weakly_hard::{
    Guarantee, MissedJobs, StabilityUnderMisses, Step, StepSet, StoppingRule, WeaklyHard,
};

/// Places of a period at which a late job ends, at first and at most: each time twice as many, until the bound stays.
const FEW_PLACES: u32 = 5;
const MOST_PLACES: u32 = 65;
/// Aim for given execution times: the largest gap between the bounds.
const GIVEN: StoppingRule = StoppingRule::Gap(1e-3);

impl GivenTask {
    /// Proves stability under any sequence with at most this number of misses, whenever a missed job ends.
    pub fn stability_under_misses(
        &self,
        closed: &mut Loop,
        jobs: &[Step],
        at_most: WeaklyHard,
        aim: StoppingRule,
    ) -> StabilityUnderMisses {
        let together = |missed: Vec<Step>, aim, kind| {
            StepSet::new(jobs.iter().cloned().chain(missed).collect())
                .stability_with_missed_jobs(at_most, aim, kind)
        };
        match self.action.policy {
            OverrunPolicy::CatchUp => stability_with_observed_misses(jobs, at_most, aim),
            OverrunPolicy::Kill => {
                let map = self.passage(closed, self.period_ns as f64).phi;
                together(vec![Step { map, missed: vec![true] }], aim, MissedJobs::Killed)
            }
            OverrunPolicy::Skip | OverrunPolicy::RePhase => {
                let mut places = FEW_PLACES;
                let mut before: Option<f64> = None;
                loop {
                    let kind = MissedJobs::EndingAt { places };
                    let found =
                        together(self.late_steps(closed, at_most.misses, places), StoppingRule::Decide, kind);
                    let Some(upper) = found.upper.filter(|_| found.guarantee == Guarantee::Stable) else {
                        return found;
                    };
                    // Between the places nothing happens that their distance does not show.
                    if before.is_some_and(|before| (upper - before).abs() < 1.0 - upper) {
                        return found;
                    }
                    if places >= MOST_PLACES {
                        return StabilityUnderMisses { guarantee: Guarantee::Undecided, ..found };
                    }
                    before = Some(upper);
                    places = 2 * places - 1;
                }
            }
        }
    }

    /// Jobs that end up to `periods` periods late, at `places` places of each period.
    fn late_steps(&self, closed: &mut Loop, periods: u32, places: u32) -> Vec<Step> {
        let edges = f64::from(places - 1);
        let ends = (1..=periods).flat_map(|late| (0..places).map(move |place| (late, place)));
        ends.map(|(late, place)| {
            // The last place is just before the next due time.
            let within_ns = (f64::from(place) / edges * (self.period_ns - 1) as f64).round();
            let end_ns = f64::from(late) * self.period_ns as f64 + within_ns;
            let map = self.passage(closed, (end_ns - self.wait_ns.round()).max(0.0)).phi;
            let missed = (0..=late).map(|period| period < late).collect();
            Step { map, missed }
        })
        .collect()
    }
}

impl SingleTaskLoop {
    /// Proves stability under each requirement for a task with these execution times, wherever a late job ends.
    pub(super) fn stability_under_misses(
        &self,
        execution: &Execution,
        requirements: &[WeaklyHard],
    ) -> Result<Vec<StabilityUnderMisses>, Error> {
        if requirements.is_empty() {
            return Ok(Vec::new());
        }
        let (task, mut closed) = (self.task_with_execution(execution.clone()), self.closed_loop()?);
        let Some(jobs) = task.steps(&mut closed) else {
            let undecided =
                |at_most: &WeaklyHard| StabilityUnderMisses::undecided(*at_most, MissedJobs::None);
            return Ok(requirements.iter().map(undecided).collect());
        };
        let under = |at_most: &WeaklyHard| task.stability_under_misses(&mut closed, &jobs, *at_most, GIVEN);
        Ok(requirements.iter().map(under).collect())
    }
}

/// Proves stability of recorded jobs under each requirement, as far as it can. With any missed job where `task` alone
/// closes the plant, else with those seen. An output that waits for the next start belongs to two recorded cycles:
/// there it is those seen, too.
pub(super) fn stability_of_recorded_jobs(
    task: Option<&GivenTask>,
    closed: &mut Loop,
    jobs: &[Step],
    requirements: &[WeaklyHard],
) -> Vec<StabilityUnderMisses> {
    let task = task.filter(|task| task.timing.actuation != Actuation::AtNextStart);
    let under = |at_most: &WeaklyHard| match task {
        Some(task) => task.stability_under_misses(closed, jobs, *at_most, StoppingRule::Decide),
        None => stability_with_observed_misses(jobs, *at_most, StoppingRule::Decide),
    };
    requirements.iter().map(under).collect()
}

/// Proves stability under the missed jobs that were observed; without one, only for requirements without misses.
fn stability_with_observed_misses(
    jobs: &[Step],
    at_most: WeaklyHard,
    aim: StoppingRule,
) -> StabilityUnderMisses {
    let steps = StepSet::new(jobs.to_vec());
    if at_most.misses == 0 || steps.has_missed_steps() {
        steps.stability(at_most, aim)
    } else {
        StabilityUnderMisses::undecided(at_most, MissedJobs::None)
    }
}
