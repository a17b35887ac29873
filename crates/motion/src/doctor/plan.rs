//! Division of `doctor`'s time among its steps.

use serde::Serialize;

use super::DoctorStep;

const S: i64 = 1_000_000_000;
/// Less is too little for any answer.
pub const LEAST_NS: i64 = 15 * S;
/// Reading the machine, judging and writing the page: a twentieth of the time, and between these.
const REST_NS: [i64; 2] = [5 * S, 120 * S];
/// Recording the kernel's events: a twelfth of the time, and between these.
const WHY_NS: [i64; 2] = [3 * S, 300 * S];
/// Trying settings: about half of the time, and at most this.
const TUNE_NS: i64 = 7_200 * S;
/// From this time on settings are tried: in less the blocks are too few for several.
pub const TUNES_FROM_NS: i64 = 240 * S;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DoctorPlan {
    pub budget_ns: i64,
    /// Measuring under load, before and, where anything helped, after.
    pub measure_ns: i64,
    /// Recording why it is late; `None` where there is no time for it.
    pub why_ns: Option<i64>,
    /// Trying settings and proving them; `None` where there is no time for it.
    pub tune_ns: Option<i64>,
}

impl DoctorPlan {
    /// Divides this time among the steps; `None` if it is too short for any answer.
    pub fn for_budget(budget_ns: i64) -> Option<DoctorPlan> {
        if budget_ns < LEAST_NS {
            return None;
        }
        let left_ns = budget_ns - (budget_ns / 20).clamp(REST_NS[0], REST_NS[1]);
        let share = |part_ns: i64, [least, most]: [i64; 2]| (part_ns >= least).then_some(part_ns.min(most));
        let why_ns = share(budget_ns / 12, WHY_NS);
        let tune_ns = (budget_ns >= TUNES_FROM_NS).then(|| (left_ns / 100 * 58).min(TUNE_NS));
        let left_ns = left_ns - why_ns.unwrap_or(0) - tune_ns.unwrap_or(0);
        // After tuning the measurement is repeated, so the time left is halved.
        let measure_ns = if tune_ns.is_some() { left_ns / 2 } else { left_ns };
        Some(DoctorPlan { budget_ns, measure_ns, why_ns, tune_ns })
    }

    /// Planned time of a step in ns; 0 if it is left out or takes no time worth mentioning.
    pub fn step_ns(&self, step: DoctorStep) -> i64 {
        match step {
            DoctorStep::Measure | DoctorStep::Prove => self.measure_ns,
            DoctorStep::Why => self.why_ns.unwrap_or(0),
            DoctorStep::Tune => self.tune_ns.unwrap_or(0),
            DoctorStep::Check | DoctorStep::Judge | DoctorStep::Page => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::tune::{BLOCK_OVERHEAD_NS, Figure, PILOTS, Pilot, TunePlan};

    #[test]
    fn any_time_is_divided_and_never_exceeded() {
        assert_eq!(DoctorPlan::for_budget(LEAST_NS - 1), None);
        for seconds in (15..36_000).step_by(7) {
            let plan = DoctorPlan::for_budget(seconds * S).unwrap();
            let prove_ns = if plan.tune_ns.is_some() { plan.measure_ns } else { 0 };
            let all = plan.measure_ns + prove_ns + plan.why_ns.unwrap_or(0) + plan.tune_ns.unwrap_or(0);
            assert!(all < plan.budget_ns && plan.measure_ns >= 5 * S, "{plan:?}");
        }
    }

    #[test]
    fn a_minute_measures_some_minutes_have_all_steps_and_a_night_measures_for_hours() {
        let minute = DoctorPlan::for_budget(60 * S).unwrap();
        assert!(minute.why_ns.is_some() && minute.measure_ns > 45 * S, "{minute:?}");
        assert_eq!(DoctorPlan::for_budget(TUNES_FROM_NS - S).unwrap().tune_ns, None);
        let tuned = DoctorPlan::for_budget(TUNES_FROM_NS).unwrap();
        // Of eight settings at a millisecond, as many as are decided: all where blocks differ by a seventh.
        for (spread, knobs) in [(0.15, 8), (0.4, 1)] {
            let pilot = Pilot { figure: Figure::Tail, spread, blocks: PILOTS };
            let plan = TunePlan::new(8, tuned.tune_ns.unwrap(), 1_000_000, BLOCK_OVERHEAD_NS, pilot);
            assert!(
                plan.is_some_and(|plan| plan.knobs >= knobs && plan.detectable_change(spread) <= 2.0),
                "{plan:?}"
            );
        }
        assert!(DoctorPlan::for_budget(8 * 3_600 * S).unwrap().measure_ns > 2 * 3_600 * S);
    }
}
