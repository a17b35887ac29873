//! The cost of a loop over its period and over a constant delay, for comparison with this machine.

use serde::Serialize;

use super::question::Question;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PeriodCost {
    /// The period; the controller is designed for it.
    pub period_ns: i64,
    /// The cost with every activation punctual.
    #[serde(with = "crate::Infinite")]
    pub ideal: f64,
    /// The cost with every activation waiting and working as long as on average on this machine.
    #[serde(with = "crate::Infinite")]
    pub delayed: f64,
}

/// The cost of a constant delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayCost {
    /// From sampling to the output.
    pub delay_ns: i64,
    /// The loop with it.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
}

/// Steps of a doubling of the period, and doublings to either side.
const STEPS: i32 = 4;
const DOUBLINGS: i32 = 2;

/// The cost over the period, from a quarter of the question's to four times it.
pub(super) fn over_periods(question: &Question, wait_ns: i64, execution_ns: i64) -> Vec<PeriodCost> {
    let of = |step: i32| {
        let period_ns =
            (question.period_ns as f64 * 2f64.powf(f64::from(step) / f64::from(STEPS))).round() as i64;
        // A design for a delay is kept as long as it fits.
        let design_delay_ns = question.design_delay_ns.min(period_ns);
        let other = Question { period_ns: period_ns.max(1), design_delay_ns, ..question.clone() };
        let cost = |wait, execution| other.constant(wait, execution).ok().map(|s| s.cost);
        Some(PeriodCost { period_ns, ideal: cost(0, 0)?, delayed: cost(wait_ns, execution_ns)? })
    };
    (-DOUBLINGS * STEPS..=DOUBLINGS * STEPS).filter_map(of).collect()
}

/// The cost of each tenth of a period of delay, from none on.
pub(super) fn over_delays(question: &Question) -> Vec<DelayCost> {
    let tenths = (0..=10).map(|tenth| question.period_ns * tenth / 10);
    let of = |delay_ns| Some(DelayCost { delay_ns, cost: question.delayed(delay_ns).ok()?.cost });
    tenths.filter_map(of).collect()
}
