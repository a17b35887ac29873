//! Margins of a loop by its design: phase, delay and jitter margins.

use serde::Serialize;

use jitterlab_model::Error;

use super::crossings::LoopMargins;
use super::margins::{DelayMargin, JitterMargin, delay_margin};
use super::single_task_loop::SingleTaskLoop;

/// Margins of one input's loop; `None` where it is unstable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelMargins {
    pub name: String,
    pub punctual: Option<LoopMargins>,
    /// Margins with the constant delay of [`Margins::with_delay_ns`].
    pub delayed: Option<LoopMargins>,
}

/// Margins of a loop against further delay and jitter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Margins {
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub channels: Vec<ChannelMargins>,
    /// The constant delays from sampling to actuation with which it is stable.
    pub delay: DelayMargin,
    /// Delay from sampling to actuation that the figures with delay are for, in ns.
    pub with_delay_ns: i64,
    /// Jitter margin without delay, in ns; `None` without a margin (see [`JitterMargin`]).
    pub jitter_ns: Option<f64>,
    /// Jitter margin on top of [`Margins::with_delay_ns`], in ns.
    pub jitter_with_delay_ns: Option<f64>,
    /// Jitter margin on top of the least delay, in ns: for delays that are never shorter.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub jitter_from_least_ns: Option<f64>,
}

/// Amplification of a disturbance beyond which a design is poor; a good one has at most 2 (Astrom and Hagglund, PID Controllers,
/// 1995: 1.2 to 2).
pub const POOR_PEAK: f64 = 2.5;

impl Margins {
    /// The margins of a question's loop, also with a constant delay, and with one that is never shorter than the least.
    pub fn new(question: &SingleTaskLoop, with_delay_ns: i64, least_delay_ns: i64) -> Result<Margins, Error> {
        let SingleTaskLoop { plant, period_ns, .. } = question;
        let controller = question.controller()?;
        let with = |delay, channel| LoopMargins::new(plant, &controller, *period_ns, delay, channel);
        let channels = plant.outputs.iter().enumerate().map(|(channel, name)| {
            let punctual = with(0, channel);
            let delayed = if with_delay_ns == 0 { punctual.clone() } else { with(with_delay_ns, channel) };
            ChannelMargins { name: name.clone(), punctual, delayed }
        });
        let delay = delay_margin(plant, &controller, *period_ns);
        let jitter = JitterMargin::new(plant, &controller, *period_ns);
        let at = |delay_ns| jitter.as_ref().and_then(|jitter| jitter.margin_ns(delay_ns));
        Ok(Margins {
            channels: channels.collect(),
            delay,
            with_delay_ns,
            jitter_ns: at(0),
            jitter_with_delay_ns: at(with_delay_ns),
            jitter_from_least_ns: at(least_delay_ns),
        })
    }

    /// The input whose loop amplifies a disturbance most: its name, the factor, and the frequency in rad/s.
    pub fn peak(&self) -> Option<(&str, f64, f64)> {
        let all = self.channels.iter().filter_map(|c| Some((c.name.as_str(), c.punctual.as_ref()?)));
        all.map(|(name, m)| (name, m.peak, m.peak_rad_per_s)).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// True if the design alone leaves too little margin: it amplifies a disturbance by more than 2.5.
    pub fn is_poor_design(&self) -> bool {
        self.peak().is_some_and(|(_, peak, _)| peak > POOR_PEAK)
    }

    /// Crossover of the slowest loop in rad/s; without one, a frequency that suits the period.
    pub fn crossover_rad_per_s(&self, period_ns: i64) -> f64 {
        let slowest = self.channels.iter().filter_map(|c| c.punctual.as_ref()?.lowest_crossover());
        let slowest = slowest.reduce(f64::min);
        slowest.unwrap_or(0.1 / (period_ns as f64 * 1e-9))
    }
}
