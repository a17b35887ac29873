//! Figures of an axis: torque over speed, and the step rate of software.

use jitterlab_motion::stepper::{SpeedRow, StepperResult};

use crate::chart::{Axis as ChartAxis, Chart, Layer, Shape, Stroke};
use crate::words::{count, time};

/// Torque over speed, and what jitter leaves of it.
pub(super) fn torque_chart(result: &StepperResult) -> Chart {
    let axis = &result.axis;
    let motor =
        format!("{}, release jitter {}", axis.motor.name, time(result.assessment.timing.jitter_ns as f64));
    let line = |name, colour, stroke, of: &dyn Fn(&SpeedRow) -> Option<f64>| {
        let point = |row: &SpeedRow| Some([axis.revolutions_per_s(row.steps_per_s), of(row)?]);
        let points = result.assessment.rows.iter().filter_map(point).collect();
        Layer::new(name, colour, Shape::Line { points, stroke })
    };
    // Without torque left, the rotor falls out of step: the torque of the field is then no reserve.
    let exact = |row: &SpeedRow| {
        let jitter = row.jitter.filter(|_| row.exact_share.is_finite())?;
        Some(row.torque_nm - jitter.early_nm.abs().max(jitter.late_nm.abs()))
    };
    Chart {
        name: "torque".into(),
        caption: format!(
            "{motor}: torque at constant speed (ideal upper bound), and what is left of it at the moment of the worst step \
             pulse; below the load the motor falls back, and may lose steps; the exact curve ends where jitter leaves \
             nothing."
        ),
        x: ChartAxis::linear("speed, revolutions per second"),
        y: ChartAxis::linear("torque, N m"),
        layers: vec![
            Layer::new("load", 4, Shape::Level(axis.load_torque_nm)),
            line("torque of the motor", 0, Stroke::Dotted, &|row| Some(row.torque_nm)),
            line("left under the jitter, exact", 1, Stroke::Dotted, &exact),
            line("left, NIST's linear formula", 2, Stroke::Dashed, &|row| {
                Some(row.torque_nm - row.jitter?.linear_nm)
            }),
        ],
        height: 380,
    }
}

pub(super) fn step_rate_chart(result: &StepperResult) -> Chart {
    let found = &result.assessment;
    let conf = &found.stepconf;
    let mut names = vec![format!("StepConf, base {}", time(conf.min_period_ns as f64))];
    let mut rates = vec![conf.max_rate_hz];
    let mut caption = format!(
        "Highest rate of software step pulses for this jitter ({}): what LinuxCNC's StepConf computes",
        time(found.timing.jitter_ns as f64)
    );
    if let Some(risk) = &found.unviolated {
        names.push(format!("this run, base {}", time(risk.base_period_ns as f64)));
        rates.push(risk.max_rate_hz(conf.mode));
        caption += &format!(
            ", and the shortest base period that none of the run's {} intervals would have violated",
            count(risk.of)
        );
    }
    let bars = rates.iter().zip(0u32..).map(|(rate, i)| [f64::from(i) - 0.3, f64::from(i) + 0.3, *rate]);
    Chart {
        name: "step-rate".into(),
        caption: caption + ".",
        x: ChartAxis::names("", names),
        y: ChartAxis::linear("steps per second"),
        layers: vec![Layer::new("", 0, Shape::Bars(bars.collect()))],
        height: 320,
    }
}
