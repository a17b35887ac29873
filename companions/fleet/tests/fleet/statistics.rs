//! Statistics of a fleet on simulated machines: days that depend on each other, weekdays, restarts that shift each machine.

use jitterlab_analysis::exact_binomial::binomial_at_least;
use jitterlab_analysis::random::Random;
use jitterlab_fleet::statistics::{
    Course, CourseModel, Rates, ShiftShare, false_discoveries, first_alarm, group_change, placebo_p,
};

/// Correlation of a day with the next, its standard deviation, and that of what a restart does.
const RHO: f64 = 0.6;
const SD: f64 = 0.08;
const RESTART: f64 = 0.05;

/// Days of a machine with a weekly pattern; a restart every so many days, and a change from a day on.
fn course(random: &mut Random, days: i64, restarts: i64, change: (i64, f64)) -> Course {
    let (mut level, mut noise) = (10.0 + random.normal() * 0.3, 0.0);
    (0..days)
        .map(|day| {
            noise = RHO * noise + SD * (1.0 - RHO * RHO).sqrt() * random.normal();
            if restarts > 0 && day > 0 && day % restarts == 0 {
                level += RESTART * random.normal();
            }
            let weekend = if day.rem_euclid(7) > 4 { -0.06 } else { 0.0 };
            let changed = if day >= change.0 { change.1 } else { 0.0 };
            (day, level + noise + weekend + changed)
        })
        .collect()
}

fn mean(course: &Course, from: i64, to: i64) -> f64 {
    let values: Vec<f64> = course.iter().filter(|day| (from..to).contains(&day.0)).map(|day| day.1).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of updates without an effect one in twenty seems to have one, and a hidden change is found.
#[test]
fn machines_are_the_unit_of_what_an_update_did() {
    let mut random = Random::new(3);
    let called = |random: &mut Random, effect: f64, machines: usize| {
        let pairs: Vec<(f64, f64)> = (0..machines)
            .map(|_| {
                let of = course(random, 40, 20, (20, effect));
                (mean(&of, 0, 20).exp(), mean(&of, 20, 40).exp())
            })
            .collect();
        group_change(&pairs).unwrap()
    };
    let innocent = (0..200).filter(|_| called(&mut random, 0.0, 40).is_shown()).count();
    assert!(innocent <= 10, "{innocent} of 200 updates without an effect");
    let found = called(&mut random, 0.12f64.ln_1p(), 238);
    assert!(found.is_shown() && found.low < 0.12 && 0.12 < found.high, "{found:?}");
    assert_eq!(group_change(&[(1.0, 2.0), (1.0, 2.0)]), None);
}

/// Restarts without an update say what is unusual for a machine.
#[test]
fn machines_that_are_accused_are_guilty() {
    let (mut random, mut false_ones, mut found, mut guilty) = (Random::new(9), 0, 0, 0);
    for _ in 0..20 {
        let machines: Vec<(Course, bool)> = (0..100)
            .map(|machine| {
                let is_guilty = machine < 20;
                let change = if is_guilty { 0.25f64.ln_1p() } else { 0.0 };
                (course(&mut random, 168, 28, (84, change)), is_guilty)
            })
            .collect();
        let shift = |of: &Course, at: i64| mean(of, at, at + 28) - mean(of, at - 28, at);
        let placebos: Vec<f64> =
            machines.iter().flat_map(|(of, _)| [28, 140].map(|at| shift(of, at))).collect();
        let p: Vec<f64> = machines.iter().map(|(of, _)| placebo_p(shift(of, 84), &placebos)).collect();
        for (accused, (_, is_guilty)) in false_discoveries(&p, 0.05).into_iter().zip(&machines) {
            false_ones += usize::from(accused && !is_guilty);
            found += usize::from(accused && *is_guilty);
            guilty += usize::from(*is_guilty);
        }
    }
    let accused = false_ones + found;
    assert!(false_ones as f64 <= 0.06 * accused as f64, "{false_ones} of {accused}");
    assert!(found as f64 >= 0.7 * guilty as f64, "{found} of {guilty}");
}

/// A steady machine is hardly ever accused within a year, a step of a quarter is found in days.
#[test]
fn a_change_without_a_known_cause_is_found_and_steady_machines_are_left_alone() {
    let mut random = Random::new(17);
    let steady: Vec<Course> = (0..200).map(|_| course(&mut random, 365, 0, (0, 0.0))).collect();
    let model = CourseModel::new(&steady).unwrap();
    assert!((model.rho - RHO).abs() < 0.1 && (model.sd / (SD * 0.8) - 1.0).abs() < 0.1, "{model:?}");
    let accused = steady.iter().filter(|of| first_alarm(of, &model).is_some()).count();
    assert!(accused <= 4, "{accused} of 200 steady machines");
    let stepped: Vec<Course> = (0..60).map(|_| course(&mut random, 200, 0, (100, 0.25f64.ln_1p()))).collect();
    let days: Vec<i64> =
        stepped.iter().filter_map(|of| first_alarm(of, &model)).map(|found| found.0).collect();
    assert!(days.len() >= 58 && days.iter().filter(|day| (95..110).contains(*day)).count() >= 54, "{days:?}");
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
    let rates = Rates::new(&machines.iter().map(|of| (of.1, of.2)).collect::<Vec<_>>()).unwrap();
    let mut shown: Vec<&(f64, f64, f64)> = machines.iter().collect();
    shown.sort_by(|a, b| rates.lower(b.1, b.2).total_cmp(&rates.lower(a.1, a.2)));
    let mut truly: Vec<f64> = machines.iter().map(|of| of.0).collect();
    truly.sort_by(|a, b| b.total_cmp(a));
    let right = shown.iter().take(10).filter(|of| of.0 >= truly[49]).count();
    assert!(right >= 9, "{right} of 10");
}
