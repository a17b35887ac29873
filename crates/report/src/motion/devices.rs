//! Motors, drives and plants as `--list` shows them.

use crate::words::{exact, plural};
use jitterlab_motion::catalog::Devices;
use jitterlab_motion::servo::PlantFigures;
use jitterlab_motion::stepper::{Drive, Motor, StepperDevices};

use crate::section::{Piece, Section};
use crate::table::columns;

/// A table: what is in its rows, its headings, and the cells of a device behind its name.
struct Table<D> {
    header: &'static [&'static str],
    cells: fn(&D) -> Vec<String>,
}

const MOTORS: Table<Motor> = Table {
    header: &["motor", "NEMA", "step deg", "N m", "A", "ohm", "mH", "kg cm2"],
    cells: |m| {
        let number = |v: Option<f64>, scale: f64| v.map_or("-".into(), |v| format!("{:.3}", v * scale));
        vec![
            if m.frame > 0 { m.frame.to_string() } else { "-".into() },
            m.step_angle_deg.to_string(),
            format!("{:.3}", m.holding_torque_nm),
            number(m.current_a, 1.0),
            number(m.resistance_ohm, 1.0),
            number(m.inductance_h, 1e3),
            number(m.rotor_inertia_kg_m2, 1e4),
        ]
    },
};

const DRIVES: Table<Drive> = Table {
    header: &["drive", "step time", "step space", "direction setup", "hold"],
    cells: |d| {
        let times = [d.step_time_ns, d.step_space_ns, d.direction_setup_ns, d.direction_hold_ns];
        times.map(exact).to_vec()
    },
};

const PLANTS: Table<PlantFigures> = Table {
    header: &["plant", "states", "in", "out", "controller", "what"],
    cells: |p| {
        let sizes = [p.states, p.inputs, p.outputs.len()].map(|n| n.to_string());
        let controller = match p.loops.len() {
            0 => p.controller.clone(),
            loops => plural(loops as u64, "loop"),
        };
        sizes.into_iter().chain([controller, p.name.clone()]).collect()
    },
};

impl<D> Table<D> {
    fn rows(&self, devices: &Devices<D>) -> Vec<Vec<String>> {
        let row = |e: &jitterlab_motion::catalog::Entry<D, String>| match &e.device {
            Ok(device) => {
                let name = if e.own { format!("{} (yours)", e.name) } else { e.name.clone() };
                [vec![name], (self.cells)(device)].concat()
            }
            Err(error) => vec![format!("{}: {error}", e.name)],
        };
        devices.entries.iter().map(row).collect()
    }

    /// The devices one a line, where the user's own belong, and what one may begin with.
    fn text(&self, devices: &Devices<D>) -> String {
        let place = devices.own_directory.as_ref();
        let place = place.map_or("nowhere, as HOME is not set".into(), |d| d.display().to_string());
        let (name, content) = &devices.example;
        let example: String = content.lines().map(|line| format!("    {line}\n")).collect();
        let table = columns(self.header, self.rows(devices));
        format!("{table}your own: TOML files in {place},\nsuch as a copy of {name}'s:\n\n{example}")
    }

    fn table(&self, caption: &str, devices: &Devices<D>) -> Piece {
        Piece::table(caption, self.header, self.rows(devices))
    }
}

/// The motors and drives there are.
pub fn stepper_text(devices: &StepperDevices) -> String {
    format!("{}\n{}", MOTORS.text(&devices.motors), DRIVES.text(&devices.drives))
}

/// The same for a page.
pub fn stepper_section(devices: &StepperDevices) -> Section {
    let pieces = vec![MOTORS.table("Motors", &devices.motors), DRIVES.table("Drives", &devices.drives)];
    section("motors", "Motors and drives", pieces)
}

/// The plants there are.
pub fn plants_text(devices: &Devices<PlantFigures>) -> String {
    PLANTS.text(devices)
}

/// The same for a page.
pub fn plants_section(devices: &Devices<PlantFigures>) -> Section {
    section("plants", "Plants", vec![PLANTS.table("Plants", devices)])
}

fn section(id: &str, title: &str, pieces: Vec<Piece>) -> Section {
    let lead = "The devices that jitterlab ships, and your own.".into();
    Section { id: id.into(), title: title.into(), lead, pieces }
}
