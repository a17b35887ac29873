//! The current of one phase under a chopper drive, solved exactly.
//!
//! An ideal chopper moves the current towards its reference i* with a time constant,
//! v = R i + e + (L/tau)(i* - i), as far as the supply allows, |v| <= V. With the back-EMF e of a short stretch
//! held, both cases of L di/dt = v - R i - e are exponentials, and v changes in one direction only: it leaves one
//! limit and meets the other at most once each.

/// Time constant of the current loop: a 20 to 40 kHz chopper.
pub(super) const CHOPPER_S: f64 = 25e-6;

/// One phase's winding on its drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chopper {
    resistance: f64,
    supply: f64,
    /// L/tau
    gain: f64,
    /// 1/R
    conductance: f64,
    /// 1/(L/tau - R)
    steepness: f64,
    /// L/R
    winding_s: f64,
    /// R/L
    winding_rate: f64,
}

/// Settling of the current loop in a stretch of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChopperStep {
    time_s: f64,
    /// exp(-time / tau)
    decay: f64,
}

impl ChopperStep {
    pub fn new(time_s: f64) -> Self {
        ChopperStep { time_s, decay: (-time_s / CHOPPER_S).exp() }
    }
}

impl Chopper {
    /// Winding in ohm and H, supply in V; all above zero.
    pub fn new(resistance: f64, inductance: f64, supply: f64) -> Self {
        let gain = inductance / CHOPPER_S;
        Chopper {
            resistance,
            supply,
            gain,
            conductance: 1.0 / resistance,
            steepness: 1.0 / (gain - resistance),
            winding_s: inductance / resistance,
            winding_rate: resistance / inductance,
        }
    }

    /// Voltage in V that the current loop asks for, without the limit of the supply.
    #[inline(always)]
    fn voltage(&self, current: f64, wanted: f64, emf: f64) -> f64 {
        self.resistance * current + emf + self.gain * (wanted - current)
    }

    /// Phase current in A after a stretch of time, towards the `wanted` current against the back EMF.
    #[inline(always)]
    pub fn current_after(&self, stretch: ChopperStep, current: f64, wanted: f64, emf: f64) -> f64 {
        let free = wanted + (current - wanted) * stretch.decay;
        let largest = self.voltage(current, wanted, emf).abs().max(self.voltage(free, wanted, emf).abs());
        if largest <= self.supply {
            free
        } else {
            self.limited_current_after(stretch.time_s, current, wanted, emf)
        }
    }

    /// The current after a time, if the supply is too low in part of it.
    fn limited_current_after(&self, time_s: f64, current: f64, wanted: f64, emf: f64) -> f64 {
        // The current at which the loop asks for exactly the limit, and the final current at that limit.
        let corner_of = |limit: f64| (emf + self.gain * wanted - limit) * self.steepness;
        let end_of = |limit: f64| (limit - emf) * self.conductance;
        let at_limit = |limit: f64, from: f64, time_s: f64| {
            let end = end_of(limit);
            end + (from - end) * exp_of_negative(time_s * self.winding_rate)
        };
        let (mut from, mut left_s) = (current, time_s);
        let first = self.voltage(current, wanted, emf);
        if first.abs() > self.supply {
            let limit = self.supply.copysign(first);
            let still = at_limit(limit, current, time_s);
            if (self.voltage(still, wanted, emf) - limit) * limit >= 0.0 {
                return still;
            }
            from = corner_of(limit);
            left_s -= self.winding_s * ln_of_one_plus((current - from) / (from - end_of(limit)));
        }
        let free = wanted + (from - wanted) * (-left_s / CHOPPER_S).exp();
        let settled = self.resistance * wanted + emf;
        if settled.abs() <= self.supply || self.voltage(free, wanted, emf).abs() <= self.supply {
            return free;
        }
        let limit = self.supply.copysign(settled);
        let corner = corner_of(limit);
        let free_s = CHOPPER_S * ((from - wanted) / (corner - wanted)).ln();
        at_limit(limit, corner, left_s - free_s)
    }
}

/// Up to here the series below are as good as the library's functions: 1e-9.
const SMALL: f64 = 0.05;

/// exp(-x); x is mostly small, since a winding is slow.
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    if x.abs() < SMALL {
        1.0 - x * (1.0 - x * 0.5 * (1.0 - x * (1.0 / 3.0) * (1.0 - x * 0.25)))
    } else {
        (-x).exp()
    }
}

/// ln(1 + x); x is mostly small.
#[inline(always)]
fn ln_of_one_plus(x: f64) -> f64 {
    if x.abs() < SMALL {
        x * (1.0 - x * (0.5 - x * (1.0 / 3.0 - x * (0.25 - x * (0.2 - x * (1.0 / 6.0))))))
    } else {
        x.ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Current after a time by the same equation, in steps of a nanosecond.
    fn stepped(chopper: &Chopper, time_s: f64, mut current: f64, wanted: f64, emf: f64) -> f64 {
        let steps = (time_s * 1e9).round();
        let rate = |i: f64| {
            let applied = chopper.voltage(i, wanted, emf).clamp(-chopper.supply, chopper.supply);
            (applied - chopper.resistance * i - emf) / (chopper.gain * CHOPPER_S)
        };
        for _ in 0..steps as u64 {
            let half = current + 0.5e-9 * rate(current);
            current += 1e-9 * rate(half);
        }
        current
    }

    #[test]
    fn the_series_are_the_functions() {
        for n in -60..60 {
            let x = f64::from(n) * 1e-3;
            assert!(
                (exp_of_negative(x) - (-x).exp()).abs() < 1e-8
                    && (ln_of_one_plus(x) - x.ln_1p()).abs() < 1e-8,
                "{x}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_current_solves_its_equation_within_and_beyond_the_supply(
            time_ns in 1u32..60_000, current in -8.0f64..8.0, wanted in -8.0f64..8.0, emf in -60.0f64..60.0,
            resistance in 0.1f64..10.0, inductance_mh in 0.5f64..10.0
        ) {
            let chopper = Chopper::new(resistance, inductance_mh * 1e-3, 36.0);
            let time_s = f64::from(time_ns) * 1e-9;
            let found = chopper.current_after(ChopperStep::new(time_s), current, wanted, emf);
            let expected = stepped(&chopper, time_s, current, wanted, emf);
            prop_assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }
}
