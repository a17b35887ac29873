//! The cost of a loop along a recorded trace: its covariance is carried from event to event, exactly.
//!
//! No assumption on the timing is made (JitterTime's loop, Cervin, Pazzaglia, Barzegaran and Mahfouzi 2019):
//! P <- Phi P Phi' + R between events, E P E' + W at events, and the cost of each stretch is added up.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::flow::Compact;
use super::looped::{Event, Loop};
use super::timing::Moment;

/// What the trace cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlongTrace {
    /// Mean cost over the trace.
    #[serde(with = "crate::infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub cost: f64,
    /// Time of the trace in s.
    pub time_s: f64,
    /// Mean cost of successive stretches of equal length.
    pub curve: Vec<CostStretch>,
}

/// A stretch of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostStretch {
    /// Begin, in s.
    pub from_s: f64,
    /// Mean cost; infinite where the loop left all numbers behind.
    #[serde(with = "crate::infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub cost: f64,
}

impl AlongTrace {
    /// The stretch that cost most.
    pub fn worst(&self) -> Option<CostStretch> {
        self.curve.iter().copied().max_by(|a, b| a.cost.total_cmp(&b.cost))
    }
}

/// Which interval a controller that differentiates uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeBase {
    /// The nominal period.
    #[default]
    Nominal,
    /// The time since its last sample, as measured.
    Measured,
}

/// A covariance on its way along a trace. Feed it [`Moment`]s in order.
pub struct Walk {
    closed: Loop,
    interval: TimeBase,
    /// P, row by row.
    p: Vec<f64>,
    size: usize,
    scratch: Vec<f64>,
    now: Option<i64>,
    last_sample: Option<i64>,
    cost: f64,
    time_ns: i64,
    curve_step_ns: i64,
    curve: Vec<CostStretch>,
    mark: (i64, f64),
}

impl Walk {
    /// Starts from a covariance of the loop's state (such as the stationary one; zero if `None`), keeping the mean
    /// cost of stretches of `curve_step_ns` (0: none).
    pub fn new(closed: &Loop, interval: TimeBase, begin: Option<&DMatrix<f64>>, curve_step_ns: i64) -> Walk {
        let size = closed.order();
        Walk {
            closed: closed.clone(),
            interval,
            p: begin.map_or_else(|| vec![0.0; size * size], |p| p.iter().copied().collect()),
            size,
            scratch: vec![0.0; size * size],
            now: None,
            last_sample: None,
            cost: 0.0,
            time_ns: 0,
            curve_step_ns,
            curve: Vec::new(),
            mark: (0, 0.0),
        }
    }

    /// The next moment of the trace.
    pub fn pass(&mut self, moment: Moment) {
        match moment {
            Moment::Cut(time) => {
                self.now = Some(time);
                self.last_sample = None;
            }
            Moment::At(time, event) => {
                self.flow_until(time);
                match event {
                    Event::Sample => self.sample(time),
                    Event::Actuate => self.actuate(),
                }
            }
        }
    }

    /// The figures so far.
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
        let states = self.closed.sizes.0;
        let moving = states + self.closed.sizes.1;
        let (p, scratch, size) = (&mut self.p, &mut self.scratch, self.size);
        let mut cost = 0.0;
        self.closed.table.each(stretch, |flow| cost += flow_by(p, scratch, size, states, moving, flow));
        self.cost += cost;
        self.time_ns += stretch;
        if self.curve_step_ns > 0 && self.time_ns - self.mark.0 >= self.curve_step_ns {
            let span = (self.time_ns - self.mark.0) as f64 * 1e-9;
            let cost = (self.cost - self.mark.1) / span;
            self.curve.push(CostStretch { from_s: self.mark.0 as f64 * 1e-9, cost });
            self.mark = (self.time_ns, self.cost);
        }
    }

    /// v and xc become `sampling` times the state, plus noise.
    fn sample(&mut self, time: i64) {
        if self.interval == TimeBase::Measured
            && let Some(last) = self.last_sample.filter(|last| *last < time)
        {
            self.closed.set_interval((time - last) as f64 * 1e-9);
        }
        self.last_sample = Some(time);
        let (size, p, fresh) = (self.size, &mut self.p, &mut self.scratch);
        let gain = &self.closed.sampling;
        let rows = gain.nrows();
        let above = size - rows;
        // fresh = gain P
        for i in 0..rows {
            let row = &mut fresh[i * size..(i + 1) * size];
            row.fill(0.0);
            for k in 0..size {
                let g = gain[(i, k)];
                if g != 0.0 {
                    row.iter_mut().zip(&p[k * size..(k + 1) * size]).for_each(|(r, v)| *r += g * v);
                }
            }
        }
        for i in 0..rows {
            for j in 0..above {
                p[(above + i) * size + j] = fresh[i * size + j];
                p[j * size + above + i] = fresh[i * size + j];
            }
            for j in 0..=i {
                let sum: f64 = (0..size).map(|k| fresh[i * size + k] * gain[(j, k)]).sum();
                let value = sum + self.closed.sampling_noise[(i, j)];
                p[(above + i) * size + above + j] = value;
                p[(above + j) * size + above + i] = value;
            }
        }
    }

    /// u becomes v.
    fn actuate(&mut self) {
        let (n, m, _) = self.closed.sizes;
        let size = self.size;
        for i in 0..m {
            self.p.copy_within((n + m + i) * size..(n + m + i + 1) * size, (n + i) * size);
        }
        for row in self.p.chunks_exact_mut(size) {
            row.copy_within(n + m..n + 2 * m, n);
        }
    }
}

/// P after a stretch; returns its cost. Only the plant's rows and columns move.
fn flow_by(
    p: &mut [f64],
    fresh: &mut [f64],
    size: usize,
    states: usize,
    moving: usize,
    flow: &Compact,
) -> f64 {
    let mut cost = flow.offset;
    for i in 0..moving {
        let weights = &flow.cost[i * moving..(i + 1) * moving];
        cost += weights.iter().zip(&p[i * size..i * size + moving]).map(|(w, v)| w * v).sum::<f64>();
    }
    for i in 0..states {
        let row = &mut fresh[i * size..(i + 1) * size];
        row.fill(0.0);
        for k in 0..moving {
            let t = flow.top[i * moving + k];
            if t != 0.0 {
                row.iter_mut().zip(&p[k * size..(k + 1) * size]).for_each(|(r, v)| *r += t * v);
            }
        }
    }
    for i in 0..states {
        for j in 0..=i {
            let top = &flow.top[j * moving..(j + 1) * moving];
            let sum: f64 = top.iter().zip(&fresh[i * size..i * size + moving]).map(|(t, v)| t * v).sum();
            let value = sum + flow.noise[i * states + j];
            p[i * size + j] = value;
            p[j * size + i] = value;
        }
        for j in states..size {
            p[i * size + j] = fresh[i * size + j];
            p[j * size + i] = fresh[i * size + j];
        }
    }
    cost
}
