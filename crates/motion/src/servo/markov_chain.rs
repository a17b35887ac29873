//! The stationary cost of a loop whose stretches of time follow each other at random: a semi-Markov jump linear system.
//!
//! A stretch (a job with the wait for the next, a whole burst of jobs, a period) is a linear map of the covariance with a
//! duration of its own and a cost. Where the schedule's states follow a Markov chain, and the stretch depends on the state it
//! begins in and perhaps on the one it ends in, the covariances solve a linear equation (Ji and Chizeck 1990; Costa and
//! Fragoso 1993), and the cost is a ratio of two means, that of the stretches' costs and that of their durations
//! (renewal-reward): never a mean of ratios.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::flow_map::Flow;
use super::krylov;
use super::numeric::{balance, smallest_eigenvalue};
use super::symmetric::{add_congruence, identity_vector, to_matrix, vector_length, weighted_vector};

/// Largest number of different durations for the rate; beyond it the two nearest become one.
const MOST_DURATIONS: usize = 96;

/// Stretches drawn from one distribution: their mean maps. Shares need not be normalised.
#[derive(Debug, Clone, PartialEq)]
pub struct StretchDistribution {
    order: usize,
    /// Duration in s, share, and the sum of the maps of the covariance of this duration.
    maps: Vec<(f64, f64, DMatrix<f64>)>,
    noise: DVector<f64>,
    cost: DVector<f64>,
    offset: f64,
    time_s: f64,
    weight: f64,
}

impl StretchDistribution {
    pub fn new(order: usize) -> StretchDistribution {
        let size = vector_length(order);
        StretchDistribution {
            order,
            maps: Vec::new(),
            noise: DVector::zeros(size),
            cost: DVector::zeros(size),
            offset: 0.0,
            time_s: 0.0,
            weight: 0.0,
        }
    }

    pub fn from_flow(passage: &Flow, time_s: f64) -> StretchDistribution {
        let mut alone = StretchDistribution::new(passage.phi.nrows());
        alone.add(passage, time_s, 1.0);
        alone
    }

    pub fn add(&mut self, passage: &Flow, time_s: f64, share: f64) {
        let (_, weight, map) = self.duration_entry(time_s);
        *weight += share;
        add_congruence(map, &passage.phi, share);
        self.noise += weighted_vector(&passage.noise) * share;
        self.cost += weighted_vector(&passage.cost) * share;
        self.offset += passage.offset * share;
        self.time_s += time_s * share;
        self.weight += share;
        if self.maps.len() > MOST_DURATIONS {
            self.merge_nearest();
        }
    }

    /// Duration, share and sum of the maps of the stretches of this duration; added if there are none yet.
    fn duration_entry(&mut self, time_s: f64) -> &mut (f64, f64, DMatrix<f64>) {
        let known = self.maps.iter().position(|(time, ..)| *time == time_s);
        let place = known.unwrap_or_else(|| {
            let size = vector_length(self.order);
            self.maps.push((time_s, 0.0, DMatrix::zeros(size, size)));
            self.maps.len() - 1
        });
        &mut self.maps[place]
    }

    /// Merges the two durations that are nearest to each other into their mean.
    fn merge_nearest(&mut self) {
        self.maps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let gap = |i: usize| self.maps[i + 1].0 - self.maps[i].0;
        let Some(i) = (0..self.maps.len() - 1).min_by(|a, b| gap(*a).total_cmp(&gap(*b))) else { return };
        let (time, weight, map) = self.maps.remove(i + 1);
        let into = &mut self.maps[i];
        let all = into.1 + weight;
        if all != 0.0 {
            into.0 = (into.0 * into.1 + time * weight) / all;
        }
        into.1 = all;
        into.2 += map;
    }

    /// Sum of two distributions, weighted by their shares.
    pub fn merged_with(&self, other: &StretchDistribution) -> StretchDistribution {
        let mut all = self.clone();
        for (time, weight, map) in &other.maps {
            let (_, mine, sum) = all.duration_entry(*time);
            *mine += weight;
            *sum += map;
        }
        while all.maps.len() > MOST_DURATIONS {
            all.merge_nearest();
        }
        all.noise += &other.noise;
        all.cost += &other.cost;
        all.offset += other.offset;
        all.time_s += other.time_s;
        all.weight += other.weight;
        all
    }

    /// Distribution with shares that add up to one.
    pub fn normalised(&self) -> StretchDistribution {
        self.scaled(if self.weight == 0.0 { 0.0 } else { 1.0 / self.weight })
    }

    pub(super) fn scaled(&self, factor: f64) -> StretchDistribution {
        StretchDistribution {
            order: self.order,
            maps: self.maps.iter().map(|(t, w, m)| (*t, w * factor, m * factor)).collect(),
            noise: &self.noise * factor,
            cost: &self.cost * factor,
            offset: self.offset * factor,
            time_s: self.time_s * factor,
            weight: self.weight * factor,
        }
    }

    pub(super) fn mean_map(&self) -> DMatrix<f64> {
        self.normalised().decayed_map(0.0)
    }

    /// Distribution in coordinates divided by `scale`.
    fn in_scaled_coordinates(&self, scale: &DVector<f64>) -> StretchDistribution {
        let order = self.order;
        let pairs: Vec<f64> =
            (0..order).flat_map(|j| (0..=j).map(move |i| (i, j))).map(|(i, j)| scale[i] * scale[j]).collect();
        let size = pairs.len();
        let map = |m: &DMatrix<f64>| DMatrix::from_fn(size, size, |i, j| m[(i, j)] * pairs[j] / pairs[i]);
        StretchDistribution {
            maps: self.maps.iter().map(|(t, w, m)| (*t, *w, map(m))).collect(),
            noise: DVector::from_fn(size, |i, _| self.noise[i] / pairs[i]),
            cost: DVector::from_fn(size, |i, _| self.cost[i] * pairs[i]),
            ..self.clone()
        }
    }

    /// The mean map of the covariance, each stretch's times e^(-decay duration).
    fn decayed_map(&self, decay: f64) -> DMatrix<f64> {
        let size = vector_length(self.order);
        let mut sum = DMatrix::zeros(size, size);
        for (time, _, map) in &self.maps {
            sum += map * (-decay * time).exp();
        }
        sum
    }
}

/// A way from one state of the schedule to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub stretches: usize,
    /// Factor on their shares, which makes the shares of all edges from one state add up to one.
    pub factor: f64,
}

/// States of a schedule that follow each other by a Markov chain, with the stretches of time between them.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkovChain {
    states: usize,
    stretches: Vec<StretchDistribution>,
    edges: Vec<Edge>,
    period_s: f64,
}

/// The loop after a long time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stationary {
    /// Mean cost per second; infinite when the loop is not mean-square stable.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
    /// Spectral radius of the covariance's map over one step of the schedule (a job, or a cycle of them): below one if and only
    /// if the loop is mean-square stable.
    #[serde(with = "crate::Infinite")]
    pub spectral_radius: f64,
    /// Factor by which the covariance of a disturbance shrinks in each period, whatever the steps are. Below
    /// one if and only if the loop is mean-square stable.
    #[serde(with = "crate::Infinite")]
    pub radius_per_period: f64,
    /// Mean length of a step in periods.
    pub interval_periods: f64,
    /// Covariance of the state at the begin of a step; `None` for an unstable loop.
    #[serde(skip)]
    pub covariance: Option<DMatrix<f64>>,
}

impl Stationary {
    pub fn is_stable(&self) -> bool {
        self.cost.is_finite()
    }

    /// A loop without any known rates (all NaN).
    pub(super) fn unknown() -> Stationary {
        Stationary::unstable(f64::NAN, f64::NAN, f64::NAN)
    }

    fn unstable(radius: f64, per_period: f64, interval_periods: f64) -> Stationary {
        let unstable = |radius: f64| match radius {
            radius if radius.is_nan() => f64::INFINITY,
            radius if radius < 1.0 + MARGINAL => 1.0,
            radius => radius,
        };
        Stationary {
            cost: f64::INFINITY,
            spectral_radius: unstable(radius),
            radius_per_period: unstable(per_period),
            interval_periods,
            covariance: None,
        }
    }
}

/// Distance from one within which a radius may belong to an unstable loop: eigenvalues that several states
/// share (of an integrator and a held output, say) are found with a third of the digits.
const MARGINAL: f64 = 1e-5;
/// Numbers of the covariances of a chain that is soon solved.
const SOON_SOLVED: usize = 1_000;
/// Factor by which a sum exceeds the disturbance from which on it counts as endless.
const ENDLESS: f64 = 1e12;

impl MarkovChain {
    /// Chain of one state: stretches drawn independently.
    pub fn independent(stretches: &StretchDistribution, period_ns: i64) -> MarkovChain {
        let edge = Edge { from: 0, to: 0, stretches: 0, factor: 1.0 };
        MarkovChain::new(1, vec![stretches.normalised()], vec![edge], period_ns)
    }

    /// Chain of these edges, of which those with the same state and the same stretches follow each other.
    pub fn new(
        states: usize,
        stretches: Vec<StretchDistribution>,
        edges: Vec<Edge>,
        period_ns: i64,
    ) -> MarkovChain {
        MarkovChain { states, stretches, edges, period_s: period_ns as f64 * 1e-9 }
    }

    fn probability(&self, edge: &Edge) -> f64 {
        edge.factor * self.stretches[edge.stretches].weight
    }

    /// Stationary probabilities of the states; `None` for a singular chain.
    pub fn probabilities(&self) -> Option<DVector<f64>> {
        let m = self.states;
        if m == 1 {
            return Some(DVector::from_element(1, 1.0));
        }
        // pi (I - T) = 0 and sum pi = 1, as one equation: pi (I - T + 1/m) = 1/m.
        let share = 1.0 / m as f64;
        let mut system = DMatrix::from_element(m, m, share) + DMatrix::identity(m, m);
        for edge in &self.edges {
            system[(edge.to, edge.from)] -= self.probability(edge);
        }
        system.lu().solve(&DVector::from_element(m, share))
    }

    /// Stationary cost, spectral radii and covariance of the loop.
    pub fn stationary(&self) -> Stationary {
        // Volts, radians and millimetres differ by many powers of ten: balance the coordinates first.
        let scale = self.balancing_scale();
        let Some(pi) = self.probabilities() else {
            return Stationary::unknown();
        };
        let balanced = BalancedChain::new(self, &scale, &pi);
        let time_s = balanced.mean_over_edges(&pi, |s| s.time_s);
        let (radius, per_period, interval) = balanced.spectral_radii(time_s);
        let stable = || {
            if radius.is_nan() || radius >= 1.0 + MARGINAL {
                return None;
            }
            let covariances = balanced.covariances(&pi)?;
            // Stable if and only if the equation with unit noise has a positive definite solution (Costa and Fragoso 1993):
            // that is sharper than the radius where it is nearly one.
            let clearly = radius < 1.0 - MARGINAL;
            (clearly
                || balanced.covariances_of_unit_noise().is_some_and(|x| balanced.are_positive_definite(&x)))
            .then_some(covariances)
        };
        let Some(covariances) = stable() else { return Stationary::unstable(radius, per_period, interval) };
        let paid = |edge: &Edge| {
            let s = &balanced.stretches[edge.stretches];
            edge.factor * (s.cost.dot(&covariances[edge.from]) + pi[edge.from] * s.offset)
        };
        let cost = self.edges.iter().map(paid).sum::<f64>() / time_s;
        let unscaled = |v: &DVector<f64>| {
            let order = scale.len();
            let x = to_matrix(v.as_slice(), order);
            DMatrix::from_fn(order, order, |i, j| x[(i, j)] * scale[i] * scale[j])
        };
        let mean = covariances.iter().map(unscaled).sum();
        Stationary {
            cost,
            spectral_radius: radius,
            radius_per_period: per_period,
            interval_periods: interval,
            covariance: Some(mean),
        }
    }

    /// Stationary loop with its spectral radii alone; the cost is left infinite.
    pub(super) fn spectral_radii(&self) -> Stationary {
        let Some(pi) = self.probabilities() else { return Stationary::unknown() };
        let balanced = BalancedChain::new(self, &self.balancing_scale(), &pi);
        let (spectral_radius, radius_per_period, interval_periods) =
            balanced.spectral_radii(balanced.mean_over_edges(&pi, |s| s.time_s));
        Stationary { spectral_radius, radius_per_period, interval_periods, ..Stationary::unknown() }
    }

    /// True if the loop is stable; near one the exact solution of a small chain decides.
    pub(super) fn is_stable(&self, rates: &Stationary) -> bool {
        let size = self.states * self.stretches.first().map_or(0, |s| s.cost.len());
        let is_near = (rates.spectral_radius - 1.0).abs() <= MARGINAL && size <= SOON_SOLVED;
        if is_near { self.stationary().is_stable() } else { rates.spectral_radius < 1.0 }
    }

    /// Scales of the coordinates in which the mean size of the maps is balanced (Parlett and Reinsch 1969).
    fn balancing_scale(&self) -> DVector<f64> {
        let order = self.stretches.first().map_or(0, |s| s.order);
        let diagonal = |k: usize| k * (k + 1) / 2 + k;
        let mut size = DMatrix::<f64>::zeros(order, order);
        for stretches in &self.stretches {
            for (_, _, map) in &stretches.maps {
                // Between diagonal elements of the covariance the map has the mean squares of the elements.
                size += DMatrix::from_fn(order, order, |i, j| map[(diagonal(i), diagonal(j))].max(0.0));
            }
        }
        let mut size = size.map(f64::sqrt);
        balance(&mut size)
    }
}

/// Smallest share of a state that counts as nonzero.
const RAREST: f64 = 1e-15;

/// A chain in balanced coordinates: those of the loop, and of each state by the root of its probability, without which rare
/// states would hide the others behind their rounding.
struct BalancedChain<'a> {
    chain: &'a MarkovChain,
    stretches: Vec<StretchDistribution>,
    roots: Vec<f64>,
    size: usize,
}

impl<'a> BalancedChain<'a> {
    fn new(chain: &'a MarkovChain, scale: &DVector<f64>, pi: &DVector<f64>) -> BalancedChain<'a> {
        BalancedChain {
            chain,
            stretches: chain.stretches.iter().map(|s| s.in_scaled_coordinates(scale)).collect(),
            roots: pi.iter().map(|share| share.max(RAREST).sqrt()).collect(),
            size: vector_length(scale.len()),
        }
    }

    fn balanced_factor(&self, edge: &Edge) -> f64 {
        edge.factor * self.roots[edge.from] / self.roots[edge.to]
    }

    fn mean_over_edges(&self, pi: &DVector<f64>, of: impl Fn(&StretchDistribution) -> f64) -> f64 {
        let edges = self.chain.edges.iter();
        edges.map(|e| pi[e.from] * e.factor * of(&self.stretches[e.stretches])).sum()
    }

    /// Moves the covariances of all states over a step of the chain.
    fn propagate_step(&self, maps: &[DMatrix<f64>], x: &DVector<f64>) -> DVector<f64> {
        let size = self.size;
        let mut next = DVector::zeros(x.len());
        // Edges of one state and one kind follow each other: their map is applied once.
        let (mut of, mut moved) = (None, DVector::zeros(size));
        for edge in &self.chain.edges {
            if of != Some((edge.from, edge.stretches)) {
                of = Some((edge.from, edge.stretches));
                moved.gemv(1.0, &maps[edge.stretches], &x.rows(edge.from * size, size), 0.0);
            }
            next.rows_mut(edge.to * size, size).axpy(self.balanced_factor(edge), &moved, 1.0);
        }
        next
    }

    /// Spectral radius of the map whose stretches are each weighed by e^(-decay duration).
    fn decayed_radius(&self, decay: f64) -> f64 {
        let maps: Vec<DMatrix<f64>> = self.stretches.iter().map(|s| s.decayed_map(decay)).collect();
        krylov::largest_eigenvalue(|x| self.propagate_step(&maps, x), &self.unit_covariances())
    }

    fn unit_covariances(&self) -> DVector<f64> {
        let order = self.stretches.first().map_or(0, |s| s.order);
        let unit = identity_vector(order);
        DVector::from_fn(self.chain.states * self.size, |i, _| unit[i % self.size])
    }

    /// The radius of a step, that of a period, and the mean length of a step in periods.
    fn spectral_radii(&self, time_s: f64) -> (f64, f64, f64) {
        let (radius, period_s) = (self.decayed_radius(0.0), self.chain.period_s);
        (radius, self.radius_per_period(radius, time_s, period_s), time_s / period_s)
    }

    /// Spectral radius per period: e^(rate period) with the rate at which the radius of the decayed map is one.
    fn radius_per_period(&self, radius: f64, time_s: f64, period_s: f64) -> f64 {
        if radius == 0.0 || !radius.is_finite() || !time_s.is_finite() {
            return radius;
        }
        let durations = self.stretches.iter().flat_map(|s| &s.maps).map(|m| m.0);
        let (least, most) = durations.fold((f64::INFINITY, 0.0f64), |(l, m), t| (l.min(t), m.max(t)));
        if most - least <= 1e-12 * most {
            return radius.powf(period_s / most);
        }
        // ln radius(rate) is convex and falls with the rate: secants.
        let value = |rate: f64| self.decayed_radius(rate).ln();
        let (mut before, mut at_before) = (0.0, radius.ln());
        let mut rate = at_before / time_s;
        for _ in 0..40 {
            let at = value(rate);
            let change = at * (rate - before) / (at - at_before);
            if !change.is_finite() {
                break;
            }
            (before, at_before) = (rate, at);
            rate -= change;
            if change.abs() * period_s < 1e-13 {
                break;
            }
        }
        (rate * period_s).exp()
    }

    /// The covariance in each state times its share, as vectors; `None` if the equation has no solution. pi_j P_j = sum
    /// over ways i -> j of p pi_i (F P_i F' + noise).
    fn covariances(&self, pi: &DVector<f64>) -> Option<Vec<DVector<f64>>> {
        let mut right = DVector::zeros(self.chain.states * self.size);
        for edge in &self.chain.edges {
            let noise = &self.stretches[edge.stretches].noise;
            let share = edge.factor * pi[edge.from] / self.roots[edge.to];
            right.rows_mut(edge.to * self.size, self.size).axpy(share, noise, 1.0);
        }
        let x = self.solve_covariances(&right)?;
        Some(
            self.roots.iter().enumerate().map(|(i, root)| x.rows(i * self.size, self.size) * *root).collect(),
        )
    }

    /// Covariances under unit noise in every state, as one vector.
    fn covariances_of_unit_noise(&self) -> Option<DVector<f64>> {
        self.solve_covariances(&self.unit_covariances())
    }

    fn solve_covariances(&self, right: &DVector<f64>) -> Option<DVector<f64>> {
        let maps: Vec<DMatrix<f64>> = self.stretches.iter().map(|s| s.decayed_map(0.0)).collect();
        krylov::solve_fixed_point(|x| self.propagate_step(&maps, x), right)
    }

    fn are_positive_definite(&self, x: &DVector<f64>) -> bool {
        let order = self.stretches.first().map_or(0, |s| s.order);
        let settles = x.norm() < ENDLESS * self.unit_covariances().norm();
        settles
            && (0..self.chain.states)
                .all(|i| is_positive_definite(&to_matrix(x.rows(i * self.size, self.size).as_slice(), order)))
    }
}

/// Scales of the coordinates in which the mean size of some maps of the state is balanced.
pub(super) fn balancing_scale<'a>(maps: impl IntoIterator<Item = &'a DMatrix<f64>>) -> DVector<f64> {
    let mut size = maps.into_iter().fold(DMatrix::zeros(0, 0), |size: DMatrix<f64>, map| {
        let squares = map.map(|v| v * v);
        if size.is_empty() { squares } else { size + squares }
    });
    size.apply(|v| *v = v.sqrt());
    balance(&mut size)
}

/// True if positive definite, judged in coordinates of unit variance.
fn is_positive_definite(x: &DMatrix<f64>) -> bool {
    let n = x.nrows();
    if x.diagonal().iter().any(|v| v.is_nan() || *v <= 0.0) {
        return false;
    }
    let unit = DMatrix::from_fn(n, n, |i, j| x[(i, j)] / (x[(i, i)] * x[(j, j)]).sqrt());
    smallest_eigenvalue(unit).is_some_and(|smallest| smallest > -1e-9)
}
