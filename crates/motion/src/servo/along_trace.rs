//! The cost of a loop along a recorded trace: its covariance is carried from event to event, exactly.
//!
//! No assumption on the timing is made (JitterTime's loop, Cervin, Pazzaglia, Barzegaran and Mahfouzi 2019):
//! P <- Phi P Phi' + R between events, E P E' + W at events, and the cost of each stretch is added up.

use nalgebra::DMatrix;
use serde::Serialize;

use super::closed_loop::{Loop, LoopAction};
use super::row_updates::propagate_covariance;
use super::timing::Moment;

/// Between these two values, with a confidence of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower limit.
    pub low: f64,
    /// Upper limit; infinite if the loop may not even be stable.
    #[serde(with = "crate::Infinite")]
    pub high: f64,
}

impl Interval {
    /// True if the value lies in the interval, both ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Cost along a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlongTrace {
    /// Mean cost over the trace.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
    /// Time of the trace in s.
    pub time_s: f64,
    /// Mean cost of successive stretches of equal length.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub curve: Vec<CostStretch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CostStretch {
    pub from_s: f64,
    /// Mean cost; infinite where the loop left all numbers behind.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
}

impl AlongTrace {
    pub fn worst_stretch(&self) -> Option<CostStretch> {
        self.curve.iter().copied().max_by(|a, b| a.cost.total_cmp(&b.cost))
    }
}

/// Interval that a controller with a derivative or integral part uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeBase {
    #[default]
    Nominal,
    /// The time since its last sample, as measured.
    Measured,
}

/// A covariance on its way along a trace. Feed it [`Moment`]s in order.
pub struct CovarianceAlongTrace {
    closed: Loop,
    interval: TimeBase,
    /// P, row by row.
    p: Vec<f64>,
    size: usize,
    scratch: Vec<f64>,
    now: Option<i64>,
    /// Time of each controller's last sample, in ns.
    sampled: Vec<Option<i64>>,
    cost: f64,
    time_ns: i64,
    curve_step_ns: i64,
    curve: Vec<CostStretch>,
    mark: (i64, f64),
}

/// Most stretches of the curve along a trace; of more, two each become one.
const MOST_STRETCHES: usize = 1_000;

impl CovarianceAlongTrace {
    /// Starts from a covariance of the lasting part of the loop's state, such as the stationary one; zero if `None`.
    /// Keeps the mean cost of stretches of `curve_step_ns` (0: none) or of twice that again and again.
    pub fn new(
        closed: &Loop,
        interval: TimeBase,
        begin: Option<&DMatrix<f64>>,
        curve_step_ns: i64,
    ) -> CovarianceAlongTrace {
        let size = closed.order();
        let mut p = vec![0.0; size * size];
        if let Some(begin) = begin {
            for (i, j) in (0..begin.nrows()).flat_map(|i| (0..begin.ncols()).map(move |j| (i, j))) {
                p[i * size + j] = begin[(i, j)];
            }
        }
        let controllers = closed.wirings().len();
        CovarianceAlongTrace {
            closed: closed.clone(),
            interval,
            p,
            size,
            scratch: vec![0.0; size * size],
            now: None,
            sampled: vec![None; controllers],
            cost: 0.0,
            time_ns: 0,
            curve_step_ns,
            curve: Vec::new(),
            mark: (0, 0.0),
        }
    }

    /// Carries the covariance to this moment, and through its event.
    pub fn process(&mut self, moment: Moment) {
        match moment {
            Moment::Cut(time) => {
                self.now = Some(time);
                self.sampled.fill(None);
            }
            Moment::IdleDue(time) => self.flow_until(time),
            Moment::At(time, event) => {
                self.flow_until(time);
                if event.act == LoopAction::Sample {
                    self.measure_interval(time, event.by);
                }
                if let Some(rows) = self.closed.update(event) {
                    rows.apply(&mut self.p, &mut self.scratch, self.size);
                }
            }
        }
    }

    /// Forgets the cost and the time so far, and keeps the covariance: the next moment begins a trace.
    pub(super) fn restart(&mut self) {
        (self.cost, self.time_ns, self.mark, self.now) = (0.0, 0, (0, 0.0), None);
        self.curve.clear();
    }

    /// Adds a stretch of time at a constant cost rate, without a change of the covariance.
    pub(super) fn add_constant_cost(&mut self, from_ns: i64, to_ns: i64, cost: f64) {
        if self.now.is_some() {
            self.flow_until(from_ns);
            self.now = None;
        }
        self.cost += cost * (to_ns - from_ns) as f64 * 1e-9;
        self.time_ns += to_ns - from_ns;
    }

    pub fn finish(self) -> AlongTrace {
        let time_s = self.time_ns as f64 * 1e-9;
        AlongTrace { cost: if time_s > 0.0 { self.cost / time_s } else { 0.0 }, time_s, curve: self.curve }
    }

    fn flow_until(&mut self, time: i64) {
        let stretch = time - *self.now.get_or_insert(time);
        if stretch <= 0 {
            return;
        }
        self.now = Some(time);
        let moving = self.closed.moving_sizes();
        let (p, scratch, size) = (&mut self.p, &mut self.scratch, self.size);
        let mut cost = 0.0;
        self.closed
            .table
            .for_each_flow(stretch, |flow| cost += propagate_covariance(p, scratch, size, moving, flow));
        self.cost += cost;
        self.time_ns += stretch;
        if self.curve_step_ns > 0 && self.time_ns - self.mark.0 >= self.curve_step_ns {
            let span = (self.time_ns - self.mark.0) as f64 * 1e-9;
            let cost = (self.cost - self.mark.1) / span;
            self.curve.push(CostStretch { from_s: self.mark.0 as f64 * 1e-9, cost });
            self.mark = (self.time_ns, self.cost);
            if self.curve.len() == MOST_STRETCHES {
                let pair = |p: &[CostStretch]| CostStretch { cost: 0.5 * (p[0].cost + p[1].cost), ..p[0] };
                self.curve = self.curve.chunks_exact(2).map(pair).collect();
                self.curve_step_ns *= 2;
            }
        }
    }

    /// Gives a controller that computes with the measured interval the time since its last sample.
    fn measure_interval(&mut self, time: i64, by: u8) {
        if self.interval == TimeBase::Nominal {
            return;
        }
        let Some(last) = self.sampled.get_mut(usize::from(by)).map(|last| last.replace(time)) else { return };
        if let Some(last) = last.filter(|last| *last < time) {
            self.closed.set_interval(by, (time - last) as f64 * 1e-9);
        }
    }
}
