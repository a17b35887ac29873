//! Loop between events: the plant moves, noise enters, cost accumulates.

use nalgebra::{DMatrix, DVector};

use super::numeric::exponential;

/// The exact effect of a stretch of time on z = [x; u] (Van Loan 1978, "Computing integrals involving the matrix
/// exponential").
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// z after = phi z before + noise.
    pub phi: DMatrix<f64>,
    /// Covariance of that noise.
    pub noise: DMatrix<f64>,
    /// Expected cost of the stretch = tr(cost P) + offset, where P is the covariance of z at its begin.
    pub cost: DMatrix<f64>,
    /// The cost that the stretch's own noise adds.
    pub offset: f64,
}

/// A stretch that would have to be halved more often (e^(2^60)) overflows, or only its slowest parts are left.
const MOST_HALVINGS: f64 = 60.0;

impl Flow {
    pub fn identity(n: usize) -> Flow {
        Flow {
            phi: DMatrix::identity(n, n),
            noise: DMatrix::zeros(n, n),
            cost: DMatrix::zeros(n, n),
            offset: 0.0,
        }
    }

    /// Flow over `time_s` of z' = A z + noise of intensity R, with the cost rate z'Qz.
    pub fn new(a: &DMatrix<f64>, r: &DMatrix<f64>, q: &DMatrix<f64>, time_s: f64) -> Flow {
        // Halve until the exponentials of -A are harmless, then double.
        let size = a.amax() * a.nrows() as f64 * time_s;
        let halvings = if size > 0.5 { (size / 0.5).log2().ceil().min(MOST_HALVINGS) as i32 } else { 0 };
        let mut flow = Self::van_loan(a, r, q, time_s / 2f64.powi(halvings));
        for _ in 0..halvings {
            flow = flow.then(&flow);
        }
        flow
    }

    fn van_loan(a: &DMatrix<f64>, r: &DMatrix<f64>, q: &DMatrix<f64>, time_s: f64) -> Flow {
        let n = a.nrows();
        let mut first = DMatrix::zeros(2 * n, 2 * n);
        first.view_mut((0, 0), (n, n)).copy_from(&-a.transpose());
        first.view_mut((0, n), (n, n)).copy_from(q);
        first.view_mut((n, n), (n, n)).copy_from(a);
        let first = exponential(&(first * time_s));
        let phi: DMatrix<f64> = first.view((n, n), (n, n)).into();
        let cost = phi.transpose() * first.view((0, n), (n, n));

        let mut second = DMatrix::zeros(3 * n, 3 * n);
        second.view_mut((0, 0), (n, n)).copy_from(&-a);
        second.view_mut((0, n), (n, n)).fill_with_identity();
        second.view_mut((n, n), (n, n)).copy_from(&-a);
        second.view_mut((n, 2 * n), (n, n)).copy_from(r);
        second.view_mut((2 * n, 2 * n), (n, n)).copy_from(&a.transpose());
        let second = exponential(&(second * time_s));
        let turned = second.view((2 * n, 2 * n), (n, n)).transpose();
        let noise = &turned * second.view((n, 2 * n), (n, n));
        let offset = (q * &turned * second.view((0, 2 * n), (n, n))).trace();
        Flow { phi, noise: symmetric(noise), cost: symmetric(cost), offset }
    }

    /// This flow followed by another.
    pub fn then(&self, next: &Flow) -> Flow {
        Flow {
            phi: &next.phi * &self.phi,
            noise: symmetric(&next.noise + &next.phi * &self.noise * next.phi.transpose()),
            cost: symmetric(&self.cost + self.phi.transpose() * &next.cost * &self.phi),
            offset: self.offset + next.offset + next.cost.dot(&self.noise),
        }
    }
}

fn symmetric(m: DMatrix<f64>) -> DMatrix<f64> {
    let transposed = m.transpose();
    (m + transposed) * 0.5
}

/// Digits of a time in this many bits each.
const DIGIT_BITS: u32 = 10;
const DIGITS: usize = 7;

/// Flows of any whole number of nanoseconds, each put together from at most a few precomputed ones: times are
/// written in base 1024, and the flow of each digit is put together when first needed.
#[derive(Debug, Clone)]
pub struct FlowTable {
    a: DMatrix<f64>,
    r: DMatrix<f64>,
    q: DMatrix<f64>,
    /// Flows of the digits of each place, as far as they were needed.
    digits: Vec<Vec<Option<CompactFlow>>>,
    inputs: usize,
}

/// A flow for the fast path: only the moving rows, row by row.
#[derive(Debug, Clone)]
pub(super) struct CompactFlow {
    /// Rows of phi for x: `states` rows of `states + inputs`.
    pub top: Vec<f64>,
    /// Upper left of the noise: `states` x `states`.
    pub noise: Vec<f64>,
    /// Cost on z.
    pub cost: Vec<f64>,
    pub offset: f64,
    full: Flow,
}

impl FlowTable {
    /// Table for x' = A x + B u + noise of intensity R1, with the cost rate z'Qz on z = [x; u].
    pub fn new(a: &DMatrix<f64>, b: &DMatrix<f64>, r1: &DMatrix<f64>, q: &DMatrix<f64>) -> FlowTable {
        let (n, m) = (a.nrows(), b.ncols());
        let mut whole = DMatrix::zeros(n + m, n + m);
        whole.view_mut((0, 0), (n, n)).copy_from(a);
        whole.view_mut((0, n), (n, m)).copy_from(b);
        let mut r = DMatrix::zeros(n + m, n + m);
        r.view_mut((0, 0), (n, n)).copy_from(r1);
        let digits = vec![vec![None; 1 << DIGIT_BITS]; DIGITS];
        FlowTable { a: whole, r, q: q.clone(), digits, inputs: m }
    }

    /// The flow over a time; the identity for a time that is not positive.
    pub fn flow(&mut self, time_ns: i64) -> Flow {
        let mut flow = Flow::identity(self.a.nrows());
        self.for_each_flow(time_ns, |digit| flow = flow.then(&digit.full));
        flow
    }

    /// Gives the flows that make up a time, one after the other.
    pub(super) fn for_each_flow(&mut self, time_ns: i64, mut give: impl FnMut(&CompactFlow)) {
        let time_ns = time_ns.max(0) as u64;
        for place in 0..DIGITS {
            let digit = (time_ns >> (place as u32 * DIGIT_BITS)) as usize & ((1 << DIGIT_BITS) - 1);
            if digit == 0 {
                continue;
            }
            self.ensure_digit(place, digit);
            if let Some(compact) = &self.digits[place][digit] {
                give(compact);
            }
        }
    }

    /// Computes a digit's flow from those of its bits, unless it is known: only powers of two need exponentials.
    fn ensure_digit(&mut self, place: usize, digit: usize) {
        if self.digits[place][digit].is_some() {
            return;
        }
        let lowest = digit & digit.wrapping_neg();
        let rest = digit ^ lowest;
        let full = if rest == 0 {
            let time_s = digit as u64 as f64 * (1u64 << (place as u32 * DIGIT_BITS)) as f64 * 1e-9;
            Flow::new(&self.a, &self.r, &self.q, time_s)
        } else {
            self.ensure_digit(place, rest);
            self.ensure_digit(place, lowest);
            match (&self.digits[place][rest], &self.digits[place][lowest]) {
                (Some(rest), Some(lowest)) => rest.full.then(&lowest.full),
                _ => return,
            }
        };
        self.digits[place][digit] = Some(self.compact(full));
    }

    fn compact(&self, full: Flow) -> CompactFlow {
        let n = self.a.nrows() - self.inputs;
        CompactFlow {
            top: full.phi.rows(0, n).transpose().iter().copied().collect(),
            noise: full.noise.view((0, 0), (n, n)).iter().copied().collect(),
            cost: full.cost.iter().copied().collect(),
            offset: full.offset,
            full,
        }
    }

    /// Advances z by a time, without noise.
    pub fn advance(&mut self, z: &mut DVector<f64>, time_ns: i64) {
        self.for_each_flow(time_ns, |digit| *z = &digit.full.phi * &*z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servo() -> FlowTable {
        let a = DMatrix::from_row_slice(2, 2, &[-1.0, 0.0, 1.0, 0.0]);
        let b = DMatrix::from_row_slice(2, 1, &[1.0, 0.0]);
        let r1 = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.0, 0.0]);
        let q = DMatrix::from_row_slice(3, 3, &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        FlowTable::new(&a, &b, &r1, &q)
    }

    #[test]
    fn a_first_order_flow_is_the_textbook_s() {
        // x' = -x + u + w, cost x^2, over t: e^-t, (1 - e^-2t)/2, and the integral of the variance.
        let one = |v| DMatrix::from_element(1, 1, v);
        let q = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.0, 0.0]);
        let mut table = FlowTable::new(&one(-1.0), &one(1.0), &one(1.0), &q);
        let t: f64 = 0.7;
        let flow = table.flow(700_000_000);
        assert!((flow.phi[(0, 0)] - (-t).exp()).abs() < 1e-14);
        assert!((flow.phi[(0, 1)] - (1.0 - (-t).exp())).abs() < 1e-14);
        assert!((flow.noise[(0, 0)] - 0.5 * (1.0 - (-2.0 * t).exp())).abs() < 1e-14);
        assert!((flow.cost[(0, 0)] - 0.5 * (1.0 - (-2.0 * t).exp())).abs() < 1e-14);
        let offset = 0.5 * (t - 0.5 * (1.0 - (-2.0 * t).exp()));
        assert!((flow.offset - offset).abs() < 1e-14);
    }

    #[test]
    fn digits_make_the_same_flow_as_one_stretch() {
        let mut table = servo();
        for time_ns in [1, 1_023, 1_024, 6_000_000, 1_420_000_007] {
            let whole = Flow::new(&table.a, &table.r, &table.q, time_ns as f64 * 1e-9);
            let put_together = table.flow(time_ns);
            assert!((&whole.phi - put_together.phi).amax() < 1e-13);
            assert!((&whole.noise - put_together.noise).amax() < 1e-13);
            assert!((&whole.cost - put_together.cost).amax() < 1e-12);
            assert!((whole.offset - put_together.offset).abs() < 1e-12);
        }
    }
}
