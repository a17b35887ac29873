//! Random numbers that are the same on every machine: seeds make results repeatable.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A sequence of random numbers from a seed.
#[derive(Debug, Clone)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// Creates the sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Random(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns a number in 0..1, neither end included.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Returns a whole number below `limit` (Lemire's multiplication; its bias of 2^-32 `limit` does not matter here).
    #[inline]
    pub fn below(&mut self, limit: usize) -> usize {
        ((u64::from(self.0.next_u32()) * limit as u64) >> 32) as usize
    }

    /// Puts items in random order (Fisher and Yates, as in Knuth, volume 2, algorithm 3.4.2P).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// Returns an exponential number with this mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Returns a standard normal number (Box & Muller).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_moments_they_should() {
        let mut random = Random::new(1);
        let n = 100_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.uniform()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || random.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < 0.03);
        assert!((mean(&mut || random.below(10) as f64) - 4.5).abs() < 0.05);
    }
}
