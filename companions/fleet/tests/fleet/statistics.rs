//! Statistics of a fleet on simulated machines of known truth.

#[path = "../../calibration/mod.rs"]
mod calibration;

use jitterlab_analysis::exact_binomial::binomial_at_least;
use jitterlab_analysis::random::Random;
use jitterlab_fleet::statistics::{GammaRates, ShiftShare, group_change};

use calibration::{DEPENDENT, KINDS, accused_updates, detected_steps, steady_alarms, update_effect};

/// Of updates without an effect one in twenty seems to have one, and a hidden change is found.
#[test]
fn machines_are_the_unit_of_what_an_update_did() {
    for kind in KINDS {
        let mut random = Random::new(3);
        let called = (0..200)
            .filter(|_| update_effect(&mut random, kind, 0.0, 40).is_some_and(|of| of.is_shown()))
            .count();
        assert!(called <= 10, "{}: {called} of 200 updates without an effect", kind.name);
        let found = update_effect(&mut random, kind, 0.12, 238).unwrap();
        assert!(found.is_shown() && found.low < 0.12 && 0.12 < found.high, "{}: {found:?}", kind.name);
    }
    assert_eq!(group_change(&[(1.0, 2.0), (1.0, 2.0)]), None);
}

/// Restarts without an update say what is unusual for a machine.
#[test]
fn machines_that_are_accused_are_guilty() {
    for kind in KINDS {
        let all = accused_updates(&mut Random::new(9), kind, 0.25, 20);
        assert!(all.false_share() <= 0.06, "{}: {all:?}", kind.name);
    }
    let all = accused_updates(&mut Random::new(9), DEPENDENT, 0.25, 20);
    assert!(all.guilty as f64 >= 0.6 * all.of as f64, "{all:?}");
}

/// A steady machine is hardly ever accused within a year, a step of a quarter is found in days.
#[test]
fn a_change_without_a_known_cause_is_found_and_steady_machines_are_left_alone() {
    let mut random = Random::new(17);
    let (model, accused) = steady_alarms(&mut random, DEPENDENT, 200).unwrap();
    assert!((model.rho - 0.6).abs() < 0.1 && (model.sd / (0.08 * 0.8) - 1.0).abs() < 0.1, "{model:?}");
    assert!(accused <= 4, "{accused} of 200 steady machines");
    let found = detected_steps(&mut random, DEPENDENT, &model, 0.25, 60);
    assert!(found >= 54, "{found} of 60");
}

/// Shifts are counted, not starts: late ones come in bursts.
#[test]
fn the_share_of_late_shifts_is_held_by_its_interval() {
    let none = ShiftShare::new(0, 90).unwrap();
    assert!((none.high - 0.0327).abs() < 1e-3 && none.low == 0.0, "{none:?}");
    let (mut random, mut held) = (Random::new(23), 0);
    for _ in 0..400 {
        let late = (0..90).filter(|_| random.uniform() < 0.05).count() as u64;
        let share = ShiftShare::new(late, 90).unwrap();
        held += u64::from(share.low <= 0.05 && 0.05 <= share.high);
    }
    assert!(binomial_at_least((400 - held) as f64, 400.0, 0.05) > 1e-3, "{held} of 400");
}

/// A machine seen for a few shifts is not among the worst by chance.
#[test]
fn the_ten_worst_are_among_the_truly_worst() {
    let mut random = Random::new(29);
    let machines: Vec<(f64, f64, f64)> = (0..1_000)
        .map(|machine| {
            let rate = 0.02 * (random.normal() * 0.9).exp();
            let shifts = if machine % 5 == 0 { 14.0 } else { 1_000.0 };
            let events = (0..shifts as u64).filter(|_| random.uniform() < rate.min(1.0)).count() as f64;
            (rate, events, shifts)
        })
        .collect();
    let rates = GammaRates::new(&machines.iter().map(|of| (of.1, of.2)).collect::<Vec<_>>()).unwrap();
    let mut shown: Vec<&(f64, f64, f64)> = machines.iter().collect();
    shown.sort_by(|a, b| rates.lower(b.1, b.2).total_cmp(&rates.lower(a.1, a.2)));
    let mut truly: Vec<f64> = machines.iter().map(|of| of.0).collect();
    truly.sort_by(|a, b| b.total_cmp(a));
    let right = shown.iter().take(10).filter(|of| of.0 >= truly[49]).count();
    assert!(right >= 9, "{right} of 10");
}
