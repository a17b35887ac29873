//! The Fourier transform of lengths that are powers of two. One algorithm is named instead of a planner, which would bring
//! all of them into the program.

use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

/// A transform of one length, in either direction.
pub(crate) struct Fourier(Radix4<f64>);

impl Fourier {
    /// Plans the transform of `length` values, a power of two.
    pub fn new(length: usize, inverse: bool) -> Self {
        Fourier(Radix4::new(length, if inverse { FftDirection::Inverse } else { FftDirection::Forward }))
    }

    /// Transforms in place, without scaling.
    pub fn process(&self, values: &mut [Complex<f64>]) {
        self.0.process(values);
    }
}
