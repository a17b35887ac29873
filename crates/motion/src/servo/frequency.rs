//! Frequency responses: of the plant, of the plant between hold and sampler, of the controller.

use nalgebra::{Complex, DMatrix};

use super::controller::Controller;
use super::krylov::spectral_radius;
use super::numeric::{balance, complex, eigenvalues, exponential};
use super::plant::Plant;

type Matrix = DMatrix<Complex<f64>>;

/// C (zI - A)^-1 B; `None` on a pole.
fn transfer_matrix(a: &DMatrix<f64>, b: &Matrix, c: &DMatrix<f64>, z: Complex<f64>) -> Option<Matrix> {
    let n = a.nrows();
    let system = Matrix::identity(n, n) * z - complex(a);
    system.lu().solve(b).map(|x| complex(c) * x)
}

/// The loop as the task closes it: hold, plant with a constant delay, sampler, controller.
#[derive(Debug, Clone)]
pub(super) struct SampledLoop {
    phi: DMatrix<f64>,
    /// Effect of the inputs of this period and of the one before, for the part of the delay below a period.
    now: DMatrix<f64>,
    before: DMatrix<f64>,
    whole_periods: i32,
    measurement_matrix: DMatrix<f64>,
    controller: Controller,
}

impl SampledLoop {
    /// Loop with a constant delay from sampling to actuation (any length). The plant is discretised exactly (Astrom and
    /// Wittenmark, Computer-Controlled Systems, 3.2).
    pub fn new(plant: &Plant, controller: &Controller, period_ns: i64, delay_ns: i64) -> SampledLoop {
        let (n, m, _) = plant.sizes();
        let mut whole = DMatrix::zeros(n + m, n + m);
        whole.view_mut((0, 0), (n, n)).copy_from(&plant.a);
        whole.view_mut((0, n), (n, m)).copy_from(&plant.b);
        let part_ns = delay_ns.rem_euclid(period_ns);
        let held = |time_ns: i64| exponential(&(&whole * (time_ns as f64 * 1e-9)));
        let (first, second) = (held(part_ns), held(period_ns - part_ns));
        let phi_second = second.view((0, 0), (n, n)).into_owned();
        SampledLoop {
            phi: &phi_second * first.view((0, 0), (n, n)),
            before: phi_second * first.view((0, n), (n, m)),
            now: second.view((0, n), (n, m)).into_owned(),
            whole_periods: (delay_ns / period_ns) as i32,
            measurement_matrix: if controller.reads_states {
                DMatrix::identity(n, n)
            } else {
                plant.c.clone()
            },
            controller: controller.clone(),
        }
    }

    /// Frequency response of the plant from inputs to measurements at z = e^{i theta}; `None` on a pole.
    pub fn plant_response(&self, theta: f64) -> Option<Matrix> {
        let z = Complex::from_polar(1.0, theta);
        let input = complex(&self.now) + complex(&self.before) / z;
        Some(transfer_matrix(&self.phi, &input, &self.measurement_matrix, z)? * z.powi(-self.whole_periods))
    }

    /// Frequency response of the controller from measurements to inputs, signed so that the feedback is negative.
    pub fn controller_response(&self, theta: f64) -> Option<Matrix> {
        let z = Complex::from_polar(1.0, theta);
        let c = &self.controller;
        let through = complex(&c.d);
        let through = if c.state_count() > 0 {
            through + transfer_matrix(&c.a, &complex(&c.b), &c.c, z)?
        } else {
            through
        };
        Some(-through)
    }

    /// The return ratio of one input with the others closed; `None` on a pole. It is det(I + L) / det(I + L without it)
    /// - 1, where L is the loop broken at the inputs: the ordinary loop gain when there is one input.
    pub fn return_ratio(&self, channel: usize, theta: f64) -> Option<Complex<f64>> {
        let broken = self.controller_response(theta)? * self.plant_response(theta)?;
        let m = broken.nrows();
        if m == 1 {
            return Some(broken[(0, 0)]);
        }
        let difference = Matrix::identity(m, m) + broken;
        let others = difference.clone().remove_row(channel).remove_column(channel);
        Some(difference.determinant() / others.determinant() - 1.0)
    }

    /// Eigenvalues of the loop broken at the inputs: its characteristic loci (MacFarlane and Postlethwaite 1977).
    pub fn characteristic_loci(&self, theta: f64) -> Option<Vec<Complex<f64>>> {
        let broken = self.controller_response(theta)? * self.plant_response(theta)?;
        if broken.nrows() == 1 {
            return Some(vec![broken[(0, 0)]]);
        }
        eigenvalues(broken)
    }

    /// A, B and K of the loop with its inputs open: z s = A s + B v with u = K s. v is sent to the inputs, u is
    /// computed for them by the controller. Closed it is A + B K.
    pub fn state_space(&self) -> (DMatrix<f64>, DMatrix<f64>, DMatrix<f64>) {
        let (n, m, nc) = (self.phi.nrows(), self.now.ncols(), self.controller.state_count());
        // State: x, then the inputs computed 1, 2, ... periods ago, then the controller's.
        let past = self.whole_periods as usize + 1;
        let size = n + m * past + nc;
        let c = &self.controller;
        let mut output = DMatrix::zeros(m, size);
        output.columns_mut(0, n).copy_from(&(&c.d * &self.measurement_matrix));
        output.columns_mut(n + m * past, nc).copy_from(&c.c);
        let (mut next, mut input) = (DMatrix::zeros(size, size), DMatrix::zeros(size, m));
        next.view_mut((0, 0), (n, n)).copy_from(&self.phi);
        // The input computed j periods ago; j = 0 is the output of this sample.
        let mut enter = |j: usize, gain: &DMatrix<f64>| {
            let mut block = if j == 0 {
                input.view_mut((0, 0), (n, m))
            } else {
                next.view_mut((0, n + m * (j - 1)), (n, m))
            };
            block += gain;
        };
        enter(past - 1, &self.now);
        enter(past, &self.before);
        input.view_mut((n, 0), (m, m)).fill_with_identity();
        for j in 1..past {
            next.view_mut((n + m * j, n + m * (j - 1)), (m, m)).fill_with_identity();
        }
        next.view_mut((n + m * past, 0), (nc, n)).copy_from(&(&c.b * &self.measurement_matrix));
        next.view_mut((n + m * past, n + m * past), (nc, nc)).copy_from(&c.a);
        (next, input, output)
    }

    pub fn closed_loop_matrix(&self) -> DMatrix<f64> {
        let (open, input, output) = self.state_space();
        open + input * output
    }

    /// True if the loop is stable: in the long run the map from sample to sample is a contraction.
    pub fn is_stable(&self) -> bool {
        is_contraction(self.closed_loop_matrix())
    }
}

/// True if the spectral radius of a matrix is below one by more than its rounding.
fn is_contraction(mut map: DMatrix<f64>) -> bool {
    balance(&mut map);
    spectral_radius(&map) < 1.0 - 1e-12
}

/// A single-input single-output plant as polynomials, for very many evaluations.
#[derive(Debug, Clone)]
pub(super) struct RationalTransfer {
    /// Coefficients in descending powers of s.
    pub numerator: Vec<f64>,
    pub denominator: Vec<f64>,
}

impl RationalTransfer {
    /// Polynomials from one input to one output (Faddeev and LeVerrier's recursion).
    pub fn new(plant: &Plant, input: usize, output: usize) -> RationalTransfer {
        let n = plant.a.nrows();
        let (b, c) = (plant.b.columns(input, 1), plant.c.rows(output, 1));
        let mut m = DMatrix::identity(n, n);
        let mut rational = RationalTransfer { numerator: Vec::new(), denominator: vec![1.0] };
        for k in 1..=n {
            rational.numerator.push((c * &m * b)[(0, 0)]);
            let am = &plant.a * &m;
            let coefficient = -am.trace() / k as f64;
            rational.denominator.push(coefficient);
            m = am + DMatrix::identity(n, n) * coefficient;
        }
        rational
    }

    /// Frequency response P(i w), w in rad/s.
    pub fn response(&self, w: f64) -> Complex<f64> {
        let s = Complex::new(0.0, w);
        let value = |p: &[f64]| p.iter().fold(Complex::new(0.0, 0.0), |v, c| v * s + c);
        value(&self.numerator) / value(&self.denominator)
    }

    /// True if it falls at least as 1/s and its input reaches the output.
    pub fn is_strictly_proper(&self) -> bool {
        self.numerator.iter().any(|c| *c != 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_tell_on_which_side_of_one_the_radius_is() {
        let rotation = |radius: f64| {
            let (s, c) = 0.3f64.sin_cos();
            DMatrix::from_row_slice(2, 2, &[c, -s, s, c]) * radius
        };
        assert!(is_contraction(rotation(1.0 - 1e-9)) && !is_contraction(rotation(1.0 + 1e-9)));
        // Large at first, and yet it shrinks.
        assert!(is_contraction(DMatrix::from_row_slice(2, 2, &[0.9, 1e9, 0.0, 0.9])));
        assert!(is_contraction(DMatrix::from_row_slice(2, 2, &[0.0, 1e9, 0.0, 0.0])));
        assert!(!is_contraction(DMatrix::identity(3, 3)));
        // One that changes its sign in each step.
        assert!(!is_contraction(DMatrix::from_diagonal(&vec![-1.5, 0.2].into())));
    }
}
