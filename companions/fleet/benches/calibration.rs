//! Error rates of the statistics of a fleet: the table of `docs/evidence/calibration.md`.
//!
//!     cargo bench -p jitterlab-fleet --bench calibration

#[path = "../calibration/mod.rs"]
mod calibration;

use calibration::{KINDS, accused_updates, detected_steps, steady_alarms, update_effect};
use jitterlab_analysis::random::Random;

fn main() {
    println!(
        "| days | updates called, of 200 | +12 % found, in its interval | innocent, share of accused | +25 % found | steady accused, of 400 | +25 % found in ten days |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for kind in KINDS {
        let mut random = Random::new(1);
        let is_called =
            |random: &mut Random| update_effect(random, kind, 0.0, 40).is_some_and(|of| of.is_shown());
        let called = (0..200).filter(|_| is_called(&mut random)).count();
        let hidden: Vec<_> = (0..20).filter_map(|_| update_effect(&mut random, kind, 0.12, 238)).collect();
        let found = hidden.iter().filter(|of| of.is_shown()).count();
        let held = hidden.iter().filter(|of| of.low < 0.12 && 0.12 < of.high).count();
        let accused = accused_updates(&mut random, kind, 0.25, 40);
        let share = |part: usize, of: usize| format!("{:.3}", part as f64 / of as f64);
        let Some((model, alarms)) = steady_alarms(&mut random, kind, 400) else { continue };
        let steps = detected_steps(&mut random, kind, &model, 0.25, 200);
        println!(
            "| {} | {called} | {}/{} | {:.3} | {} | {alarms} | {} |",
            kind.name,
            share(found, hidden.len()),
            share(held, hidden.len()),
            accused.false_share(),
            share(accused.guilty, accused.of),
            share(steps, 200)
        );
    }
}
