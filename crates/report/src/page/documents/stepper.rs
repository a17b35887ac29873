//! What a run's timing means for a stepper axis: `jitterlab stepper --json`.

use crate::words::count;
use jitterlab_model::units::Human;
use serde::Deserialize;

use super::caveats;
use crate::chart::{Axis as ChartAxis, Chart, Layer, Shape, Stroke};
use crate::section::{Block, Section};

#[derive(Deserialize)]
pub struct Document {
    answer: String,
    axis: Axis,
    assessment: Assessment,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Axis {
    motor: Motor,
    load_torque_nm: f64,
}

#[derive(Deserialize)]
struct Motor {
    name: String,
    step_angle_deg: f64,
}

#[derive(Deserialize)]
struct Assessment {
    timing: Timing,
    stepconf: StepConf,
    unviolated: Option<Unviolated>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Timing {
    jitter_ns: i64,
}

#[derive(Deserialize)]
struct StepConf {
    mode: String,
    min_period_ns: i64,
    max_rate_hz: f64,
}

#[derive(Deserialize)]
struct Unviolated {
    base_period_ns: i64,
    of: u64,
}

#[derive(Deserialize)]
struct Row {
    steps_per_s: f64,
    torque_nm: f64,
    jitter: Option<JitterTorque>,
    linear_share: Option<f64>,
    exact_share: Option<f64>,
}

#[derive(Deserialize)]
struct JitterTorque {
    linear_nm: f64,
    early_nm: f64,
    late_nm: f64,
}

pub fn section(document: &Document) -> Section {
    let mut blocks = vec![Block::Text { text: document.answer.clone() }];
    blocks.push(Block::Figure(torque(document)));
    blocks.push(Block::Figure(shares(document)));
    blocks.push(Block::Figure(step_rate(document)));
    blocks.extend(caveats(&document.caveats));
    Section {
        id: "stepper".into(),
        title: "What it does to the stepper motor".into(),
        lead: "A step pulse that comes early or late turns the field away from where the rotor should be: part of the torque goes into that. The faster the motor turns, the more.".into(),
        blocks,
    }
}

impl Document {
    fn curve(&self, of: impl Fn(&Row) -> Option<f64>) -> Vec<[f64; 2]> {
        let revolutions = |row: &Row| row.steps_per_s * self.axis.motor.step_angle_deg / 360.0;
        self.assessment.rows.iter().filter_map(|row| Some([revolutions(row), of(row)?])).collect()
    }

    fn told(&self) -> String {
        format!("{}, release jitter {}", self.axis.motor.name, Human(self.assessment.timing.jitter_ns as f64))
    }
}

fn torque(document: &Document) -> Chart {
    let line = |points, stroke| Shape::Line { points, stroke };
    // Where no torque is left the rotor falls out of step: what the field does to it then is no reserve.
    let exact = |row: &Row| {
        let (jitter, _) = row.jitter.as_ref().zip(row.exact_share)?;
        Some(row.torque_nm - jitter.early_nm.abs().max(jitter.late_nm.abs()))
    };
    let linear = |row: &Row| Some(row.torque_nm - row.jitter.as_ref()?.linear_nm);
    Chart {
        name: "torque",
        caption: format!(
            "{}: torque at constant speed (ideal upper bound), and what is left of it at the moment of the worst step pulse; below the load the motor falls back, and may lose steps; the exact curve ends where jitter leaves nothing.",
            document.told()
        ),
        x: ChartAxis::linear("speed, revolutions per second"),
        y: ChartAxis::linear("torque, N m"),
        layers: vec![
            Layer::new("load", 4, Shape::Level(document.axis.load_torque_nm)),
            Layer::new(
                "torque of the motor",
                0,
                line(document.curve(|row| Some(row.torque_nm)), Stroke::Dotted),
            ),
            Layer::new("left under the jitter, exact", 1, line(document.curve(exact), Stroke::Dotted)),
            Layer::new("left, NIST's linear formula", 2, line(document.curve(linear), Stroke::Dashed)),
        ],
        height: 380,
    }
}

fn shares(document: &Document) -> Chart {
    let percent = |share: Option<f64>| share.map(|s| 100.0 * s);
    let line = |points, stroke| Shape::Line { points, stroke };
    Chart {
        name: "torque",
        caption: format!(
            "{}: share of the torque that jitter takes. Exact: of what the motor has left at the load; NIST: of half the holding torque. At 100 % nothing is left.",
            document.told()
        ),
        x: ChartAxis::linear("speed, revolutions per second"),
        y: ChartAxis::log("torque of the jitter, %"),
        layers: vec![
            Layer::new("", 4, Shape::Level(100.0)),
            Layer::new("exact", 1, line(document.curve(|row| percent(row.exact_share)), Stroke::Dotted)),
            Layer::new(
                "NIST's linear formula",
                2,
                line(document.curve(|row| percent(row.linear_share)), Stroke::Dashed),
            ),
        ],
        height: 340,
    }
}

fn step_rate(document: &Document) -> Chart {
    let conf = &document.assessment.stepconf;
    let periods_per_step = if conf.mode == "single-step" { 2.0 } else { 1.0 };
    let mut names = vec![format!("StepConf, base {}", Human(conf.min_period_ns as f64))];
    let mut rates = vec![conf.max_rate_hz];
    let mut caption = format!(
        "Highest rate of software step pulses for this jitter ({}): what LinuxCNC's StepConf computes",
        Human(document.assessment.timing.jitter_ns as f64)
    );
    if let Some(risk) = &document.assessment.unviolated {
        names.push(format!("this run, base {}", Human(risk.base_period_ns as f64)));
        rates.push(1e9 / risk.base_period_ns as f64 / periods_per_step);
        caption += &format!(
            ", and the shortest base period that none of the run's {} intervals would have violated",
            count(risk.of)
        );
    }
    let bars = rates.iter().zip(0u32..).map(|(rate, i)| [f64::from(i) - 0.3, f64::from(i) + 0.3, *rate]);
    Chart {
        name: "step-rate",
        caption: caption + ".",
        x: ChartAxis::names("", names),
        y: ChartAxis::linear("steps per second"),
        layers: vec![Layer::new("", 0, Shape::Bars(bars.collect()))],
        height: 320,
    }
}
