//! The stationary cost of a loop whose periods follow random patterns: a jump linear system.
//!
//! Each period of the grid has a pattern of events; a pattern is a linear map of the covariance. Patterns drawn
//! independently, or within classes that follow a Markov chain, give a linear equation for the stationary
//! covariance (Ji and Chizeck 1990; in this period-map form the same cost as Jitterbug's, Lincoln and Cervin
//! 2002). Latency is measured from the grid of due times, so that independent latencies make independent patterns
//! although successive intervals depend on each other.

use std::f64::consts::TAU;

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::looped::{Event, Loop};
use super::numeric::{balance, smallest_eigenvalue};

/// A class of periods: its patterns with their shares (which sum to one).
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodClass {
    kron: DMatrix<f64>,
    noise: DMatrix<f64>,
    cost: DMatrix<f64>,
    offset: f64,
    weight: f64,
}

impl PeriodClass {
    /// Averages the patterns; shares need not be normalised.
    pub fn new<'a>(
        closed: &mut Loop,
        period_ns: i64,
        patterns: impl IntoIterator<Item = (&'a [(i64, Event)], f64)>,
    ) -> PeriodClass {
        let n = closed.order();
        let mut class = PeriodClass {
            kron: DMatrix::zeros(n * n, n * n),
            noise: DMatrix::zeros(n, n),
            cost: DMatrix::zeros(n, n),
            offset: 0.0,
            weight: 0.0,
        };
        for (pattern, share) in patterns {
            let flow = closed.period(pattern, period_ns);
            class.kron += flow.phi.kronecker(&flow.phi) * share;
            class.noise += flow.noise * share;
            class.cost += flow.cost * share;
            class.offset += flow.offset * share;
            class.weight += share;
        }
        if class.weight > 0.0 {
            let scale = 1.0 / class.weight;
            class.kron *= scale;
            class.noise *= scale;
            class.cost *= scale;
            class.offset *= scale;
        }
        class
    }

    /// The same in coordinates divided by `scale`.
    fn scaled(&self, scale: &DVector<f64>) -> PeriodClass {
        let n = scale.len();
        let pair = |k: usize| scale[k / n] * scale[k % n];
        PeriodClass {
            kron: DMatrix::from_fn(n * n, n * n, |i, j| self.kron[(i, j)] * pair(j) / pair(i)),
            noise: DMatrix::from_fn(n, n, |i, j| self.noise[(i, j)] / (scale[i] * scale[j])),
            cost: DMatrix::from_fn(n, n, |i, j| self.cost[(i, j)] * scale[i] * scale[j]),
            offset: self.offset,
            weight: self.weight,
        }
    }

    /// Sum of the shares given.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The class of two classes together, by their weights.
    #[must_use]
    pub fn with(&self, other: &PeriodClass) -> PeriodClass {
        let total = self.weight + other.weight;
        let (a, b) = if total > 0.0 { (self.weight / total, other.weight / total) } else { (0.0, 0.0) };
        PeriodClass {
            kron: &self.kron * a + &other.kron * b,
            noise: &self.noise * a + &other.noise * b,
            cost: &self.cost * a + &other.cost * b,
            offset: self.offset * a + other.offset * b,
            weight: total,
        }
    }
}

/// Classes of periods that follow each other by a Markov chain.
#[derive(Debug, Clone, PartialEq)]
pub struct JumpLinear {
    classes: Vec<PeriodClass>,
    /// Row i: probabilities of the class after class i.
    transitions: DMatrix<f64>,
    period_s: f64,
}

/// The loop after a long time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stationary {
    /// Mean cost; infinite when the loop is not mean-square stable.
    #[serde(with = "crate::infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub cost: f64,
    /// Spectral radius of the covariance's map over one period: below one if and only if the loop is mean-square
    /// stable.
    #[serde(with = "crate::infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub spectral_radius: f64,
    /// Covariance of the state at due times; `None` when there is none.
    #[serde(skip)]
    pub covariance: Option<DMatrix<f64>>,
}

impl Stationary {
    /// Whether the covariance stays bounded.
    pub fn is_stable(&self) -> bool {
        self.cost.is_finite()
    }
}

impl JumpLinear {
    /// One class: independent patterns.
    pub fn independent(class: PeriodClass, period_ns: i64) -> JumpLinear {
        JumpLinear {
            classes: vec![class],
            transitions: DMatrix::from_element(1, 1, 1.0),
            period_s: period_ns as f64 * 1e-9,
        }
    }

    /// Classes with the counts of their transitions (from row to column), as a trace has them.
    pub fn markov(classes: Vec<PeriodClass>, counts: &DMatrix<f64>, period_ns: i64) -> JumpLinear {
        let mut transitions = counts.clone();
        let classes_total: f64 = classes.iter().map(PeriodClass::weight).sum();
        for mut row in transitions.row_iter_mut() {
            let total = row.sum();
            if total > 0.0 {
                row /= total;
            } else {
                // Never left (the trace's last period): go on as by chance.
                row.iter_mut()
                    .zip(&classes)
                    .for_each(|(to, class)| *to = class.weight / classes_total.max(f64::MIN_POSITIVE));
            }
        }
        JumpLinear { classes, transitions, period_s: period_ns as f64 * 1e-9 }
    }

    /// Stationary probabilities of the classes.
    pub fn probabilities(&self) -> DVector<f64> {
        let m = self.classes.len();
        // pi (T - I) = 0 with sum pi = 1.
        let mut system = self.transitions.transpose() - DMatrix::identity(m, m);
        system.row_mut(m - 1).fill(1.0);
        let mut right = DVector::zeros(m);
        right[m - 1] = 1.0;
        system.lu().solve(&right).unwrap_or_else(|| DVector::from_element(m, 1.0 / m as f64))
    }

    /// Solves for the stationary covariance and cost.
    pub fn stationary(&self) -> Stationary {
        // Volts, radians and millimetres differ by many powers of ten: balance the coordinates first.
        let scale = self.balance();
        let n = scale.len();
        let solved = JumpLinear {
            classes: self.classes.iter().map(|c| c.scaled(&scale)).collect(),
            transitions: self.transitions.clone(),
            period_s: self.period_s,
        }
        .solve();
        let unscale = |x: DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| x[(i, j)] * scale[i] * scale[j]);
        Stationary { covariance: solved.covariance.map(unscale), ..solved }
    }

    /// Scales of the coordinates in which the mean size of the period maps is balanced (Parlett and Reinsch 1969).
    fn balance(&self) -> DVector<f64> {
        let n = self.classes[0].noise.nrows();
        let mut size = DMatrix::zeros(n, n);
        for class in &self.classes {
            // The diagonal blocks of the Kronecker square hold the mean squares of the map's elements.
            size += DMatrix::from_fn(n, n, |i, j| class.kron[(i * n + i, j * n + j)].max(0.0));
        }
        let mut size = size.map(f64::sqrt);
        balance(&mut size)
    }

    fn solve(&self) -> Stationary {
        let n = self.classes[0].noise.nrows();
        let (m, nn) = (self.classes.len(), n * n);
        let pi = self.probabilities();
        let mut system = DMatrix::identity(m * nn, m * nn);
        // Two right sides: the loop's own noise, and a unit one for the question of stability.
        let mut right = DMatrix::zeros(m * nn, 2);
        let unit = DVector::from_column_slice(DMatrix::<f64>::identity(n, n).as_slice());
        for j in 0..m {
            right.view_mut((j * nn, 1), (nn, 1)).copy_from(&unit);
            for i in 0..m {
                let t = self.transitions[(i, j)];
                if t != 0.0 {
                    let mut block = system.view_mut((j * nn, i * nn), (nn, nn));
                    block -= &self.classes[i].kron * t;
                    let mut part = right.view_mut((j * nn, 0), (nn, 1));
                    part += DVector::from_column_slice(self.classes[i].noise.as_slice()) * (pi[i] * t);
                }
            }
        }
        let spectral_radius = self.spectral_radius(n);
        let part = |x: &DMatrix<f64>, i: usize, column: usize| {
            DMatrix::from_column_slice(n, n, x.view((i * nn, column), (nn, 1)).into_owned().as_slice())
        };
        // Stable if and only if the equation with unit noise has a positive definite solution (Costa and Fragoso
        // 1993); that is sharper than the sign of an iterated radius.
        let stable = |x: &DMatrix<f64>| {
            let positive = |i| is_positive(&part(x, i, 1));
            x.iter().all(|v| v.is_finite()) && (0..m).all(positive)
        };
        let Some(solution) = system.lu().solve(&right).filter(stable) else {
            return Stationary {
                cost: f64::INFINITY,
                spectral_radius: spectral_radius.max(1.0),
                covariance: None,
            };
        };
        let mut covariance = DMatrix::zeros(n, n);
        let mut cost = 0.0;
        for (i, class) in self.classes.iter().enumerate() {
            let x = part(&solution, i, 0);
            cost += class.cost.dot(&x) + pi[i] * class.offset;
            covariance += x;
        }
        Stationary { cost: cost / self.period_s, spectral_radius, covariance: Some(covariance) }
    }

    /// Spectral radius of the covariance's map: it keeps positive semidefinite matrices so, and its largest
    /// eigenvalue is real.
    fn spectral_radius(&self, n: usize) -> f64 {
        let unit = DVector::from_column_slice(DMatrix::<f64>::identity(n, n).as_slice());
        let mut x: Vec<DVector<f64>> = vec![unit; self.classes.len()];
        // Power iteration. The growth beats where the loop rotates; a window that begins and ends softly averages that out.
        const STEPS: u32 = 1_000;
        let mut log_growth = 0.0;
        for step in 0..2 * STEPS {
            let moved: Vec<DVector<f64>> = self.classes.iter().zip(&x).map(|(c, x)| &c.kron * x).collect();
            for (j, to) in x.iter_mut().enumerate() {
                to.fill(0.0);
                for (i, from) in moved.iter().enumerate() {
                    to.axpy(self.transitions[(i, j)], from, 1.0);
                }
            }
            let norm = x.iter().map(DVector::norm_squared).sum::<f64>().sqrt();
            if norm == 0.0 {
                return 0.0;
            }
            x.iter_mut().for_each(|part| *part /= norm);
            if step >= STEPS {
                let phase = TAU * f64::from(step - STEPS) / f64::from(STEPS);
                log_growth += norm.ln() * (1.0 - phase.cos());
            }
        }
        (log_growth / f64::from(STEPS)).exp()
    }
}

/// Positive definite, judged in coordinates of unit variance.
fn is_positive(x: &DMatrix<f64>) -> bool {
    let n = x.nrows();
    if x.diagonal().iter().any(|v| v.is_nan() || *v <= 0.0) {
        return false;
    }
    let unit = DMatrix::from_fn(n, n, |i, j| 0.5 * (x[(i, j)] + x[(j, i)]) / (x[(i, i)] * x[(j, j)]).sqrt());
    smallest_eigenvalue(unit).is_some_and(|smallest| smallest > -1e-9)
}
