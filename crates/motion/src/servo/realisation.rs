//! From transfer functions and zeros, poles and gain to state space.

use nalgebra::{Complex, DMatrix};

use jitterlab_model::Error;

use super::numeric::balance;
use crate::error;

/// State-space matrices A, B, C of a strictly proper system.
pub(super) type Realisation = (DMatrix<f64>, DMatrix<f64>, DMatrix<f64>);

/// The controllable canonical form of num/den, coefficients in descending powers of s.
///
/// # Errors
/// No or a zero denominator, a numerator of zero, or one that is not of lower degree: such a plant would answer a
/// step at once, which no motor does.
pub(super) fn realise_transfer_function(name: &str, num: &[f64], den: &[f64]) -> Result<Realisation, Error> {
    let (num, den) = (without_leading_zeros(num), without_leading_zeros(den));
    let n = den.len().saturating_sub(1);
    if num.iter().chain(&den).any(|c| !c.is_finite()) {
        return Err(error::not_a_number(name));
    }
    if n == 0 || num.is_empty() {
        return Err(Error::bad_use(
            "a transfer function needs a numerator that is not zero and a denominator with at least one power of s, such as \
             numerator = [1000], denominator = [1, 1, 0] for 1000/(s^2 + s)",
        )
        .within(name));
    }
    if num.len() > n {
        return Err(Error::bad_use(format!(
            "the transfer function is improper (numerator of degree {}, denominator of degree {n}): a plant's numerator has to be \
             of lower degree; leave the derivative to the controller, or add the fast pole the real machine has",
            num.len() - 1
        ))
        .within(name));
    }
    let (mut a, mut b, mut c, _) = controllable_form(&num, &den);
    // The companion form's numbers differ by powers of the fastest pole: balance them (scales are powers of two).
    let scale = balance(&mut a);
    for i in 0..n {
        b[(i, 0)] /= scale[i];
        c[(0, i)] *= scale[i];
    }
    Ok((a, b, c))
}

/// Coefficients without leading zeros.
pub(super) fn without_leading_zeros(coefficients: &[f64]) -> Vec<f64> {
    coefficients.iter().skip_while(|c| **c == 0.0).copied().collect()
}

/// A, B, C and the direct term of num/den, which is proper and whose first coefficients are not zero.
pub(super) fn controllable_form(num: &[f64], den: &[f64]) -> (DMatrix<f64>, DMatrix<f64>, DMatrix<f64>, f64) {
    let n = den.len() - 1;
    // Both from the same power on: b0 is the direct term, and the states carry b_i - b0 a_i.
    let missing = std::iter::repeat_n(&0.0, den.len() - num.len());
    let full: Vec<f64> = missing.chain(num).map(|v| v / den[0]).collect();
    let mut a = DMatrix::zeros(n, n);
    let mut b = DMatrix::zeros(n, 1);
    b.fill_diagonal(1.0);
    for i in 0..n {
        a[(0, i)] = -den[i + 1] / den[0];
        if i > 0 {
            a[(i, i - 1)] = 1.0;
        }
    }
    let c = DMatrix::from_fn(1, n, |_, i| full[i + 1] + full[0] * a[(0, i)]);
    (a, b, c, full[0])
}

/// The polynomial with these roots, in descending powers.
pub(super) fn polynomial_from_roots(name: &str, roots: &[Complex<f64>]) -> Result<Vec<f64>, Error> {
    let mut coefficients = vec![Complex::new(1.0, 0.0)];
    for root in roots {
        let shifted = coefficients.iter().map(|c| -c * root).collect::<Vec<_>>();
        coefficients.push(Complex::new(0.0, 0.0));
        for (i, s) in shifted.into_iter().enumerate() {
            coefficients[i + 1] += s;
        }
    }
    let largest = coefficients.iter().map(|c| c.norm()).fold(0.0, f64::max);
    if coefficients.iter().any(|c| c.im.abs() > 1e-9 * largest) {
        return Err(Error::bad_use(
            "complex zeros and poles come in conjugate pairs: give both -1+2i and -1-2i",
        )
        .within(name));
    }
    Ok(coefficients.into_iter().map(|c| c.re).collect())
}

/// Reads `-1`, `2.5e3`, `-1+2i`, `-3i`.
pub(super) fn parse_complex(text: &str) -> Option<Complex<f64>> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let finite = |c: Complex<f64>| (c.re.is_finite() && c.im.is_finite()).then_some(c);
    let Some(body) = text.strip_suffix(['i', 'j']) else {
        return finite(Complex::new(text.parse().ok()?, 0.0));
    };
    // The sign between the parts is the last one that does not belong to an exponent.
    let split = body
        .char_indices()
        .rev()
        .find(|(i, c)| *i > 0 && matches!(c, '+' | '-') && !body[..*i].ends_with(['e', 'E']))
        .map_or(0, |(i, _)| i);
    let (re, im) = body.split_at(split);
    let re = if re.is_empty() { 0.0 } else { re.parse().ok()? };
    let im = match im {
        "" | "+" => 1.0,
        "-" => -1.0,
        im => im.parse().ok()?,
    };
    finite(Complex::new(re, im))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn complex_numbers_are_read() {
        for (text, re, im) in
            [("-1", -1.0, 0.0), ("-1+2i", -1.0, 2.0), ("1e-3 - 2.5e+1j", 1e-3, -25.0), ("-i", 0.0, -1.0)]
        {
            assert_eq!(parse_complex(text), Some(Complex::new(re, im)), "{text}");
        }
        assert_eq!(parse_complex("one"), None);
    }

    #[test]
    fn conjugate_pairs_give_real_polynomials() {
        let roots = [Complex::new(-1.0, 2.0), Complex::new(-1.0, -2.0)];
        assert_eq!(polynomial_from_roots("x", &roots).unwrap(), [1.0, 2.0, 5.0]);
        assert!(polynomial_from_roots("x", &roots[..1]).unwrap_err().to_string().contains("conjugate"));
    }

    #[test]
    fn improper_systems_are_refused() {
        let message = |n: &[f64], d: &[f64]| realise_transfer_function("x", n, d).unwrap_err().to_string();
        assert!(message(&[1.0, 0.0], &[1.0, 1.0]).contains("improper"));
        assert!(message(&[0.0], &[1.0, 1.0]).contains("not zero"));
        assert!(message(&[1.0], &[2.0]).contains("at least one power"));
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,20}") {
            let _ = parse_complex(&text);
        }

        #[test]
        fn the_realisation_has_the_transfer_function_s_value(
            num in prop::collection::vec(-5.0f64..5.0, 1..3), den in prop::collection::vec(-5.0f64..5.0, 3), s in 20.0f64..30.0
        ) {
            let den: Vec<f64> = std::iter::once(1.0).chain(den).collect();
            prop_assume!(num.iter().any(|c| *c != 0.0));
            let (a, b, c) = realise_transfer_function("x", &num, &den).unwrap();
            let at = |p: &[f64]| p.iter().fold(0.0, |v, c| v * s + c);
            let inverse = (DMatrix::identity(3, 3) * s - a).try_inverse().unwrap();
            let value = (c * inverse * b)[(0, 0)];
            prop_assert!((value - at(&num) / at(&den)).abs() < 1e-9);
        }
    }
}
