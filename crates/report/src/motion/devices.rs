//! Motors, drives and plants as `--list` shows them.

use jitterlab_motion::catalog::{Devices, Entry};
use jitterlab_motion::servo::PlantFigures;
use jitterlab_motion::stepper::{Drive, Motor, StepperDevices};

use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::section::{Cell, Piece, Section};
use crate::words::plural;

impl Present for StepperDevices {
    const KIND: &'static str = "stepper-devices";

    fn conclusion(&self) -> Option<Conclusion> {
        None
    }

    fn sections(&self) -> Vec<Section> {
        let pieces = [MOTORS.device_pieces(&self.motors), DRIVES.device_pieces(&self.drives)].concat();
        vec![devices_section("motors", "Motors and drives", pieces)]
    }
}

impl Present for Devices<PlantFigures> {
    const KIND: &'static str = "plants";

    fn conclusion(&self) -> Option<Conclusion> {
        None
    }

    fn sections(&self) -> Vec<Section> {
        vec![devices_section("plants", "Plants", PLANTS.device_pieces(self))]
    }
}

/// A table of devices: its headings, and the cells of a device behind its name.
struct Table<D> {
    header: &'static [&'static str],
    cells: fn(&D) -> Vec<Cell>,
}

const MOTORS: Table<Motor> = Table {
    header: &["motor", "NEMA", "step deg", "N m", "A", "ohm", "mH", "kg cm2"],
    cells: |m| {
        let number =
            |v: Option<f64>, scale: f64| Cell::optional(v, |v| Cell::Text(format!("{:.3}", v * scale)));
        vec![
            if m.frame > 0 { Cell::Count(m.frame.into()) } else { Cell::Nothing },
            Cell::Text(m.step_angle_deg.to_string()),
            number(Some(m.holding_torque_nm), 1.0),
            number(m.current_a, 1.0),
            number(m.resistance_ohm, 1.0),
            number(m.inductance_h, 1e3),
            number(m.rotor_inertia_kg_m2, 1e4),
        ]
    },
};

const DRIVES: Table<Drive> = Table {
    header: &["drive, µs", "step time", "step space", "direction setup", "hold"],
    cells: |d| {
        let times = [d.step_time_ns, d.step_space_ns, d.direction_setup_ns, d.direction_hold_ns];
        times.map(|ns| Cell::time(ns as f64)).to_vec()
    },
};

const PLANTS: Table<PlantFigures> = Table {
    header: &["plant", "states", "in", "out", "controller", "what"],
    cells: |p| {
        let sizes = [p.states, p.inputs, p.outputs.len()].map(|n| Cell::Count(n as u64));
        let controller = match p.loops.len() {
            0 => p.controller.clone(),
            loops => plural(loops as u64, "loop"),
        };
        sizes.into_iter().chain([controller, p.name.clone()].map(Cell::Text)).collect()
    },
};

impl<D> Table<D> {
    /// The devices one a line, the folder for the user's own, and an example to start from.
    fn device_pieces(&self, devices: &Devices<D>) -> Vec<Piece> {
        let row = |entry: &Entry<D, String>| match &entry.device {
            Ok(device) => {
                let name = if entry.own { format!("{} (yours)", entry.name) } else { entry.name.clone() };
                [vec![Cell::Text(name)], (self.cells)(device)].concat()
            }
            Err(error) => vec![Cell::Text(format!("{}: {error}", entry.name))],
        };
        let place = devices.own_directory.as_ref();
        let place = place.map_or("nowhere, as HOME is not set".into(), |d| d.display().to_string());
        let (name, content) = &devices.example;
        let heading = format!("Your own are TOML files, such as a copy of {name}'s:");
        let text = content.lines().map(|line| format!("    {line}\n")).collect();
        vec![
            Piece::table("", self.header, devices.entries.iter().map(row)),
            Piece::Verbatim { heading, text },
            Piece::text(format!("Yours belong in {place}.")),
        ]
    }
}

fn devices_section(id: &str, title: &str, pieces: Vec<Piece>) -> Section {
    let lead = "The devices that jitterlab ships, and your own.";
    Section::new(id, title, lead, pieces)
}
