//! Reference series of the tests: the 1000-point linear congruential generator of NIST SP 1065 (Riley,
//! Handbook of Frequency Stability Analysis, section 12.4) and series derived from it.

/// Returns `count` numbers y_i = n_i / 2147483647 from n_0 = 1234567890, n <- 16807 n mod 2147483647, y_0 first.
pub(crate) fn lcg(count: usize) -> Vec<f64> {
    let mut n = 1_234_567_890u64;
    (0..count)
        .map(|_| {
            let y = n as f64 / 2_147_483_647.0;
            n = n * 16_807 % 2_147_483_647;
            y
        })
        .collect()
}

/// Returns x_0 = 0, x_k = y_1 + ... + y_k: the phase of SP 1065's frequency data.
pub(crate) fn sp1065_phase() -> Vec<f64> {
    let mut phase = vec![0.0];
    let mut sum = 0.0;
    for y in lcg(1_000) {
        sum += y;
        phase.push(sum);
    }
    phase
}

/// Returns X_k = 3 - ln(1 - u_k): independent and one-sided, as latencies are.
pub(crate) fn independent() -> Vec<f64> {
    lcg(1_000).into_iter().map(|u| 3.0 - (1.0 - u).ln()).collect()
}

/// Returns Y_k = 0.5 Y_{k-1} + X_k, Y_0 = X_0: each value depends on the one before.
pub(crate) fn dependent() -> Vec<f64> {
    let mut previous = 0.0;
    independent()
        .into_iter()
        .map(|x| {
            previous = 0.5 * previous + x;
            previous
        })
        .collect()
}

/// Asserts that two numbers agree to `digits` decimals, as printed in a table.
#[track_caller]
pub(crate) fn agrees(found: f64, expected: f64, digits: i32) {
    let tolerance = 0.500_001 * 10f64.powi(-digits);
    assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected}");
}
