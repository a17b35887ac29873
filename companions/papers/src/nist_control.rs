//! NIST, sections 3 and 4: the jitter of each computer, and what it takes from a stepper motor without feedback and from a servo
//! loop with it.

use crate::claims::loads::LoadFigures;
use crate::claims::nist::{CONDITIONS, PERIOD_NS};
use crate::claims::nist_control::{ControlRow, NistControl};
use crate::claims::torques::table_1;
use jitterlab_mcu::{Compiler, is_missing, polled_wait};
use jitterlab_model::{Error, TimingStats};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Plant, Question, Record};
use jitterlab_runs::{Hints, OneTask, Run};

use crate::Workplace;

/// Activations of the microcontroller: a second.
const ACTIVATIONS: usize = 2_000;

/// Judges the systems of figure 3 by their first runs under disk load, and a simulated microcontroller, if its compiler is there.
pub fn measure(at: &Workplace<'_>, loads: &LoadFigures) -> Result<NistControl, Error> {
    let mut found = NistControl::default();
    for system in &loads.systems {
        let file = at.run_file(&format!("{}-{}", system.system, CONDITIONS[2]));
        let task = OneTask::new(Run::open(&file, &Hints::default())?, None, |_| ())?;
        let jitter_ns = task.stats.latency.peak_to_peak_ns().unwrap_or_default();
        found.rows.push(row(format!("{}, disk load", system.system), jitter_ns, &task)?);
    }
    let compiler = match Compiler::new() {
        Err(error) if is_missing(&error) => {
            return Ok(NistControl { without_microcontroller: Some(error.to_string()), ..found });
        }
        compiler => compiler?,
    };
    for locked in [false, true] {
        let run = polled_wait::measure((PERIOD_NS / 1_000) as u32, locked, ACTIVATIONS, &compiler)?;
        let mut stats = TimingStats::new(PERIOD_NS);
        run.activations.iter().for_each(|activation| stats.push(activation));
        let jitter_ns = stats.latency.peak_to_peak_ns().unwrap_or_default();
        let interrupts = if locked { "off" } else { "on" };
        let name = format!("ATmega328P at 16 MHz, interrupts {interrupts}");
        found.rows.push(row(name, jitter_ns, run.activations.as_slice())?);
        found.polled_ns.push(jitter_ns as f64);
    }
    Ok(found)
}

fn row<R: Record + ?Sized>(computer: String, jitter_ns: i64, record: &R) -> Result<ControlRow, Error> {
    let plant: Plant = catalog::known("dc-servo")?;
    let evaluation = Question::new(plant, PERIOD_NS).evaluate(record)?;
    let motor = table_1().into_iter().next();
    let torque = motor.map_or(0.0, |motor| motor.percent(jitter_ns as f64 * 1e-9) / 100.0);
    Ok(ControlRow { computer, jitter_ns: jitter_ns as f64, torque, loop_cost: evaluation.loss().jitter })
}
