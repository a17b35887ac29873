//! The cost of a loop along a recorded trace: its covariance is carried from event to event, exactly.
//!
//! No assumption on the timing is made (JitterTime's loop, Cervin, Pazzaglia, Barzegaran and Mahfouzi 2019):
//! P <- Phi P Phi' + R between events, E P E' + W at events, and the cost of each stretch is added up.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::flow::Compact;
use super::looped::{Act, Event, Jump, Loop};
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
    /// When each controller sampled last.
    sampled: Vec<Option<i64>>,
    /// What each act of each controller does.
    acts: Vec<[Rows; 6]>,
    cost: f64,
    time_ns: i64,
    curve_step_ns: i64,
    curve: Vec<CostStretch>,
    mark: (i64, f64),
}

impl Walk {
    /// Starts from a covariance of the lasting part of the loop's state (such as the stationary one; zero if `None`),
    /// keeping the mean cost of stretches of `curve_step_ns` (0: none).
    pub fn new(closed: &Loop, interval: TimeBase, begin: Option<&DMatrix<f64>>, curve_step_ns: i64) -> Walk {
        let size = closed.order();
        let mut p = vec![0.0; size * size];
        if let Some(begin) = begin {
            for (i, j) in (0..begin.nrows()).flat_map(|i| (0..begin.ncols()).map(move |j| (i, j))) {
                p[i * size + j] = begin[(i, j)];
            }
        }
        let controllers = closed.closings().len();
        Walk {
            closed: closed.clone(),
            interval,
            p,
            size,
            scratch: vec![0.0; size * size],
            now: None,
            sampled: vec![None; controllers],
            acts: (0..controllers).map(|by| Rows::of_all(closed, by as u8)).collect(),
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
                self.sampled.fill(None);
            }
            Moment::Turn(_) => {}
            Moment::At(time, event) => {
                self.flow_until(time);
                if event.act == Act::Sample {
                    self.measure_interval(time, event.by);
                }
                if let Some(rows) = self.acts.get(usize::from(event.by)) {
                    rows[event.act as usize].apply(&mut self.p, &mut self.scratch, self.size);
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
        let (states, moving) = self.closed.moving();
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

    /// A controller that computes with the measured interval learns how long ago its last sample was.
    fn measure_interval(&mut self, time: i64, by: u8) {
        if self.interval == TimeBase::Nominal {
            return;
        }
        let Some(last) = self.sampled.get_mut(usize::from(by)).map(|last| last.replace(time)) else { return };
        if let Some(last) = last.filter(|last| *last < time) {
            self.closed.set_interval(by, (time - last) as f64 * 1e-9);
            self.acts[usize::from(by)] = Rows::of_all(&self.closed, by);
        }
    }
}

/// What an act does, in the form that is quick to apply: rows of the state that become sums of others.
#[derive(Debug, Clone, Default)]
struct Rows {
    rows: Vec<usize>,
    /// For each of them the columns it is a sum of, with their factors.
    terms: Vec<Vec<(usize, f64)>>,
    /// Covariance that is added among them.
    noise: Vec<f64>,
}

impl Rows {
    fn of_all(closed: &Loop, by: u8) -> [Rows; 6] {
        [Act::Sample, Act::Finish, Act::Compute, Act::Write, Act::Zero, Act::Predict]
            .map(|act| closed.jump(Event { by, act }).map_or_else(Rows::default, Rows::of))
    }

    fn of(jump: &Jump) -> Rows {
        let terms = jump
            .gain
            .row_iter()
            .map(|row| row.iter().copied().enumerate().filter(|(_, factor)| *factor != 0.0).collect());
        let noise = jump.noise.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>());
        Rows { rows: jump.rows.clone(), terms: terms.collect(), noise: noise.collect() }
    }

    fn apply(&self, p: &mut [f64], fresh: &mut [f64], size: usize) {
        // fresh = gain P
        for (i, terms) in self.terms.iter().enumerate() {
            let row = &mut fresh[i * size..(i + 1) * size];
            row.fill(0.0);
            for (k, factor) in terms {
                row.iter_mut().zip(&p[k * size..(k + 1) * size]).for_each(|(r, v)| *r += factor * v);
            }
        }
        for (i, at) in self.rows.iter().enumerate() {
            for j in 0..size {
                p[at * size + j] = fresh[i * size + j];
                p[j * size + at] = fresh[i * size + j];
            }
        }
        let count = self.rows.len();
        for (i, at) in self.rows.iter().enumerate() {
            for (j, to) in self.rows.iter().enumerate() {
                let sum: f64 = self.terms[j].iter().map(|(k, factor)| factor * fresh[i * size + k]).sum();
                p[at * size + to] = sum + self.noise[i * count + j];
            }
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
