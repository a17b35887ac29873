//! The continuous-time system under control, with its disturbances and its cost.

use std::path::{Path, PathBuf};

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use jitterlab_model::Error;

use super::description::{Description, StateSpace, TransferFunction, Zpk};
use super::design::{Design, DesignSheet};
use super::matlab_files;
use super::plant_loop::{self, LoopSheet, PlantLoop};
use super::plant_values::{PerChannel, StateMatrix};
use crate::catalog::{self, Device};
use crate::error;

/// x' = A x + B u + w, y = C x, with the cost rate y'Qy + u'Ru and measurements y + e.
#[derive(Debug, Clone, PartialEq)]
pub struct Plant {
    pub name: String,
    /// Source of the figures.
    pub source: String,
    pub a: DMatrix<f64>,
    pub b: DMatrix<f64>,
    pub c: DMatrix<f64>,
    /// Intensity of the process noise w, states x states.
    pub process_noise: DMatrix<f64>,
    /// Variance of the measurement noise e, outputs x outputs.
    pub measurement_noise: DMatrix<f64>,
    /// Q: states x states; weights of outputs and of states, measured or not.
    pub state_weight: DMatrix<f64>,
    pub input_weight: DMatrix<f64>,
    /// Names of the outputs, such as the joints.
    pub outputs: Vec<String>,
    /// The controller its file asks for.
    pub design: Design,
    /// Its loops in place of one controller, the outer ones first; usually none.
    pub loops: Vec<PlantLoop>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct PlantFile {
    name: String,
    #[serde(default)]
    source: String,
    transfer_function: Option<TransferFunction>,
    zpk: Option<Zpk>,
    state_space: Option<StateSpace>,
    /// File of another program, relative to this one.
    file: Option<PathBuf>,
    outputs: Option<Vec<String>>,
    #[serde(default)]
    noise: Noise,
    #[serde(default)]
    cost: Cost,
    controller: Option<DesignSheet>,
    #[serde(default, rename = "loop")]
    loops: Vec<LoopSheet>,
}

/// Intensities of noise at the inputs (one where no noise is named) and on the states, variances of measurements.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Noise {
    input: Option<PerChannel<f64>>,
    state: Option<StateMatrix>,
    measurement: Option<PerChannel<f64>>,
}

/// Weights of outputs (one where neither outputs nor states are named), of states and of inputs.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Cost {
    output: Option<PerChannel<f64>>,
    state: Option<StateMatrix>,
    input: Option<PerChannel<f64>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlantFigures {
    pub name: String,
    pub source: String,
    pub states: usize,
    pub inputs: usize,
    pub outputs: Vec<String>,
    /// The controller its file asks for; `none` where it names none, or has several loops.
    pub controller: String,
    /// Names of its loops, where it has several.
    pub loops: Vec<String>,
}

impl From<Plant> for PlantFigures {
    fn from(plant: Plant) -> Self {
        let (states, inputs, _) = plant.sizes();
        let Plant { name, source, outputs, design, loops, .. } = plant;
        let loops = loops.into_iter().map(|l| l.name).collect();
        PlantFigures { name, source, states, inputs, outputs, controller: design.name().into(), loops }
    }
}

impl Device for Plant {
    const KIND: &'static str = "plant";
    const FOLDER: &'static str = "plants";
    const SHIPPED: &'static [(&'static str, &'static str)] = catalog::shipped::PLANTS;

    fn from_toml(name: &str, text: &str) -> Result<Self, Error> {
        let sheet: PlantFile = catalog::parse_toml(Self::KIND, name, text)?;
        sheet.into_plant(name)
    }

    fn import(path: &Path) -> Option<Result<Self, Error>> {
        let is_export = path.is_dir() || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        is_export.then(|| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // The file itself is the system, so its whole path is used.
            let sheet = PlantFile { name, file: Some(path.into()), ..PlantFile::default() };
            sheet.into_plant("")
        })
    }
}

impl PlantFile {
    fn into_plant(mut self, name: &str) -> Result<Plant, Error> {
        let own = Description {
            transfer_function: self.transfer_function.take(),
            zpk: self.zpk.take(),
            state_space: self.state_space.take(),
        };
        let (description, name) = match &self.file {
            None => (own, name.to_owned()),
            Some(_) if !own.is_empty() => return Err(error::several_descriptions(name)),
            Some(file) => {
                let path = Path::new(name).with_file_name(file);
                (matlab_files::read_description(&path)?, path.display().to_string())
            }
        };
        let name = name.as_str();
        let (a, b, c) = description.realise(name)?;
        if !description.has_named_states() && (self.noise.state.is_some() || self.cost.state.is_some()) {
            return Err(Error::bad_use(
                "noise.state and cost.state need states with a meaning: describe the plant by [state_space]",
            )
            .within(name));
        }
        let (n, m, p) = (a.nrows(), b.ncols(), c.nrows());
        let each = |what: &'static str, values: Option<PerChannel<f64>>, unnamed: f64, channels: usize| {
            let values = values.unwrap_or(PerChannel::One(unnamed)).per_channel(name, what, channels)?;
            if values.iter().any(|v| !(*v >= 0.0 && v.is_finite())) {
                return Err(Error::bad_use(format!(
                    "{what} has a value that is negative or not a number: intensities and weights are at least zero"
                ))
                .within(name));
            }
            Ok(DMatrix::from_diagonal(&values.into()))
        };
        let of_states =
            |what, values: &Option<StateMatrix>| StateMatrix::to_matrix(values.as_ref(), name, what, n);
        let (noise, cost) = (self.noise, self.cost);
        let unnamed_noise = if noise.state.is_some() { 0.0 } else { 1.0 };
        let unnamed_weight = if cost.state.is_some() { 0.0 } else { 1.0 };
        let input_noise = each("noise.input", noise.input, unnamed_noise, m)?;
        let output_weight = each("cost.output", cost.output, unnamed_weight, p)?;
        let design = self.controller.map(|sheet| Design::from_sheet(name, sheet, (n, m, p))).transpose()?;
        let outputs = self.outputs.unwrap_or_else(|| match p {
            1 => vec!["output".into()],
            p => (1..=p).map(|n| format!("output {n}")).collect(),
        });
        if design.is_some() && !self.loops.is_empty() {
            return Err(
                Error::bad_use("it has a [controller] and loops of its own: keep one of both").within(name)
            );
        }
        Plant {
            loops: plant_loop::parse_loops(name, self.loops, &outputs, m)?,
            process_noise: &b * input_noise * b.transpose() + of_states("noise.state", &noise.state)?,
            measurement_noise: each("noise.measurement", noise.measurement, 0.0, p)?,
            state_weight: c.transpose() * output_weight * &c + of_states("cost.state", &cost.state)?,
            input_weight: each("cost.input", cost.input, 0.0, m)?,
            design: design.unwrap_or(Design::Unnamed),
            name: self.name,
            source: self.source,
            outputs,
            a,
            b,
            c,
        }
        .checked()
    }
}

/// Most states of plant and controller together; the stationary cost solves a system of the square of it.
const MOST_STATES: usize = 12;

impl Plant {
    /// The plant itself, if its size, names and weights are possible.
    pub fn checked(self) -> Result<Self, Error> {
        let (n, _, p) = self.sizes();
        let fail = |fault: Error| Err(fault.within(&self.name));
        if n > MOST_STATES {
            return fail(Error::bad_use(format!(
                "{n} states are too many: at most {MOST_STATES} can be handled"
            )));
        }
        if self.outputs.len() != p {
            let names = self.outputs.len();
            return fail(Error::bad_use(format!("{names} names are given for {p} outputs")));
        }
        if self.state_weight.amax() == 0.0 && self.input_weight.amax() == 0.0 {
            return fail(Error::bad_use(
                "the cost weighs nothing: give cost.output, cost.state or cost.input a value above zero",
            ));
        }
        Ok(self)
    }

    /// Number of states, inputs and outputs.
    pub fn sizes(&self) -> (usize, usize, usize) {
        (self.a.nrows(), self.b.ncols(), self.c.nrows())
    }

    /// The cost rate's matrix on [x; u].
    pub fn cost(&self) -> DMatrix<f64> {
        let (n, m, _) = self.sizes();
        let mut q = DMatrix::zeros(n + m, n + m);
        q.view_mut((0, 0), (n, n)).copy_from(&self.state_weight);
        q.view_mut((n, n), (m, m)).copy_from(&self.input_weight);
        q
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLLER: &str = "[controller]\nkind = 'pd'\ngain = 1.0\nderivative_time = '10ms'\n";

    #[test]
    fn every_shipped_plant_is_whole() {
        for entry in catalog::list_entries::<Plant>(None) {
            assert!(!entry.device.unwrap().source.is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn the_three_descriptions_of_one_plant_agree() {
        let read = |table: &str| Plant::from_toml("x", &format!("name = 'x'\n{CONTROLLER}{table}")).unwrap();
        let tf = read("[transfer_function]\nnumerator = [1000]\ndenominator = [1, 1, 0]");
        let zpk = read("[zpk]\npoles = [0, '-1']\ngain = 1000");
        let ss = read("[state_space]\na = [[-1, 0], [1, 0]]\nb = [[1], [0]]\nc = [[0, 1000]]");
        assert_eq!((&tf.a, &tf.b, &tf.c), (&zpk.a, &zpk.b, &zpk.c));
        // Balancing may scale states, so compare quantities that do not depend on it: C B and C A B.
        let markov = |p: &Plant| [(&p.c * &p.b)[(0, 0)], (&p.c * &p.a * &p.b)[(0, 0)]];
        assert_eq!(markov(&tf), markov(&ss));
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| {
            Plant::from_toml("my.toml", &format!("name = 'x'\n{CONTROLLER}{text}")).unwrap_err().to_string()
        };
        assert!(message("").contains("[zpk]"));
        assert!(message("[state_space]\na = [[1, 2]]\nb = [[1]]\nc = [[1, 0]]").contains("square"));
        assert!(message("[zpk]\npoles = ['-1+1i']\ngain = 1").contains("conjugate"));
        let tf = "[transfer_function]\nnumerator = [1]\ndenominator = [1, 1]\n";
        assert!(message(&format!("{tf}[noise]\ninput = -1.0")).contains("negative"));
        assert!(message(&format!("{tf}[noise]\ninput = nan")).contains("not a number"));
        assert!(message(&format!("{tf}[noise]\ninput = '1'")).contains("a number such as 1.5"));
        assert!(message(&format!("{tf}[cost]\nstate = [1.0]")).contains("[state_space]"));
        let ss = "[state_space]\na = [[0, 1], [0, 0]]\nb = [[0], [1]]\nc = [[1, 0]]\n";
        assert!(message(&format!("{ss}[cost]\nstate = [1.0]")).contains("for 1 states"));
        assert!(message(&format!("{ss}[cost]\nstate = 1.0")).contains("[1.0, 0.1]"));
        assert!(message(&format!("{ss}[noise]\nstate = [[0, 1], [0, 1]]")).contains("symmetric"));
        assert!(message(&format!("{ss}[cost]\nstate = [1.0, -1.0]")).contains("semidefinite"));
        assert!(message(&format!("{ss}[cost]\noutput = 0.0")).contains("weighs nothing"));
        assert!(message(&format!("{tf}[cost]\noutput = [1.0, 2.0]")).contains("2 values for 1"));
        assert!(
            message("[transfer_function]\nnumerator = [1, 0]\ndenominator = [1, 1]").contains("improper")
        );
        let alone = Plant::from_toml("my.toml", &format!("name = 'x'\n{tf}")).unwrap();
        let alone = alone.design.controller(&alone, 1_000_000, 0).unwrap_err().to_string();
        assert!(alone.contains("add a table [controller]"), "{alone}");
        let no_unit = "name = 'x'\n[controller]\nkind = 'pd'\ngain = 1.0\nderivative_time = '10'\n";
        let error = Plant::from_toml("my.toml", &format!("{no_unit}{tf}")).unwrap_err();
        assert!(error.to_string().contains("without a unit"), "{error}");
    }

    #[test]
    fn mistakes_in_a_controller_are_named() {
        let message = |keys: &str| {
            let ss = "[state_space]\na = [[0, 1], [0, 0]]\nb = [[0], [1]]\nc = [[1, 0]]\n";
            let text = format!("name = 'x'\n{ss}[controller]\n{keys}");
            Plant::from_toml("my.toml", &text).unwrap_err().to_string()
        };
        assert!(message("kind = 'pd'\ngain = 1.0\nderivative_time = 0.01").contains("\"10 ms\""));
        assert!(message("kind = 'pd'\ngain = nan\nderivative_time = '1ms'").contains("finite"));
        assert!(message("kind = 'lqg'\ngain = 1.0").contains("gain"));
        assert!(message("kind = 'fuzzy'").contains("transfer-function"));
        assert!(message("kind = 'state-feedback'\ngain = [[1.0]]").contains("(2)"));
        let improper = "kind = 'transfer-function'\nnumerator = [1, 0]\ndenominator = [1]";
        assert!(message(improper).contains("higher degree"));
        let unfitting = "kind = 'state-space'\na = [[0]]\nb = [[1, 1]]\nc = [[1]]\nd = [[1]]";
        assert!(message(unfitting).contains("b 1x1"));
    }

    #[test]
    fn weights_and_noises_of_states_take_the_place_of_what_is_not_named() {
        let read = |tables: &str| {
            let ss = "[state_space]\na = [[0, 1], [0, -1]]\nb = [[0], [1]]\nc = [[1, 0]]\n";
            Plant::from_toml("x", &format!("name = 'x'\n{ss}{tables}{CONTROLLER}")).unwrap()
        };
        let plant = read("[cost]\nstate = [0.0, 0.3]\n[noise]\nstate = [[2.0, 1.0], [1.0, 2.0]]\n");
        assert_eq!(plant.state_weight, DMatrix::from_row_slice(2, 2, &[0.0, 0.0, 0.0, 0.3]));
        assert_eq!(plant.process_noise, DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 2.0]));
        let both =
            read("[cost]\nstate = [0.0, 0.3]\noutput = 4.0\n[noise]\nstate = [1.0, 0.0]\ninput = 5.0\n");
        assert_eq!(both.state_weight.diagonal().as_slice(), [4.0, 0.3]);
        assert_eq!(both.process_noise.diagonal().as_slice(), [1.0, 5.0]);
        let neither = read("");
        assert_eq!(neither.state_weight.diagonal().as_slice(), [1.0, 0.0]);
        assert_eq!(neither.process_noise.diagonal().as_slice(), [0.0, 1.0]);
    }
}
