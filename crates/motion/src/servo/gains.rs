//! A controller's numbers, for a program of the user's own.

use nalgebra::DMatrix;
use serde::Serialize;

use super::controller::Controller;
use super::design::Design;
use super::frequency::RationalTransfer;
use super::plant::Plant;

pub type MatrixRows = Vec<Vec<f64>>;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Gains {
    /// u = K (e + h/Ti sum e + Td (e - e_before)/h) for each loop, with the error e = reference - output and the period h.
    Pid { period_s: f64, loops: Vec<PidGains> },
    /// At each sample u = C xc + D y + D_r r, then xc := A xc + B y + B_r r; y are the outputs, or the plant's states, r the reference.
    StateSpace {
        period_s: f64,
        /// True if y are the plant's states, false if its outputs.
        reads_states: bool,
        a: MatrixRows,
        b: MatrixRows,
        b_reference: MatrixRows,
        c: MatrixRows,
        d: MatrixRows,
        d_reference: MatrixRows,
    },
}

/// A PD or PID loop; also in the terms of LinuxCNC's HAL component pid: P + I/s + D s of the error, and FF0, FF1, FF2 of the command
/// and its derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PidGains {
    pub gain: f64,
    /// Ti; `None` without an integral.
    pub integral_time_s: Option<f64>,
    pub derivative_time_s: f64,
    /// Pgain = K.
    pub p: f64,
    /// Igain = K/Ti.
    pub i: f64,
    /// Dgain = K Td.
    pub d: f64,
    /// Factors of the command, its speed and its acceleration with which the plant follows it: the first
    /// terms of 1/G(s). `None` for a plant with several inputs, or one with no response to a constant.
    pub feedforward: Option<[f64; 3]>,
}

impl Gains {
    /// The numbers of a controller; of a PD or PID those of its design.
    pub(super) fn new(plant: &Plant, design: &Design, controller: &Controller, period_ns: i64) -> Gains {
        let period_s = period_ns as f64 * 1e-9;
        let pid = |(gain, ti, td): (f64, Option<f64>, f64)| PidGains {
            gain,
            integral_time_s: ti,
            derivative_time_s: td,
            p: gain,
            i: ti.map_or(0.0, |ti| gain / ti),
            d: gain * td,
            feedforward: feedforward_terms(plant),
        };
        match design.pid_parameters() {
            Some(loops) => Gains::Pid { period_s, loops: loops.into_iter().map(pid).collect() },
            None => Gains::StateSpace {
                period_s,
                reads_states: controller.reads_states,
                a: matrix_rows(&controller.a),
                b: matrix_rows(&controller.b),
                b_reference: matrix_rows(&controller.b_reference),
                c: matrix_rows(&controller.c),
                d: matrix_rows(&controller.d),
                d_reference: matrix_rows(&controller.d_reference),
            },
        }
    }
}

fn matrix_rows(m: &DMatrix<f64>) -> MatrixRows {
    m.row_iter().map(|row| row.iter().copied().collect()).collect()
}

/// f0, f1 and f2 of 1/G(s) = f0 + f1 s + f2 s^2 + ...; `None` for several inputs or a zero at the origin.
fn feedforward_terms(plant: &Plant) -> Option<[f64; 3]> {
    let (_, m, p) = plant.sizes();
    if (m, p) != (1, 1) {
        return None;
    }
    let RationalTransfer { mut numerator, mut denominator } = RationalTransfer::new(plant, 0, 0);
    denominator.reverse();
    numerator.reverse();
    // Rounding turns a zero at the origin into a small coefficient, which is dropped here.
    let largest = numerator.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let first = *numerator.first().filter(|v| v.abs() > 1e-9 * largest)?;
    let at = |of: &[f64], i: usize| of.get(i).copied().unwrap_or(0.0);
    let mut terms = [0.0; 3];
    for i in 0..3 {
        let known: f64 = (0..i).map(|j| terms[j] * at(&numerator, i - j)).sum();
        terms[i] = (at(&denominator, i) - known) / first;
    }
    terms.iter().all(|t| t.is_finite()).then_some(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn the_dc_servo_needs_its_speed_and_acceleration_over_a_thousand() {
        let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
        let [f0, f1, f2] = feedforward_terms(&plant).unwrap();
        assert!(f0.abs() < 1e-15 && (f1 - 1e-3).abs() < 1e-12 && (f2 - 1e-3).abs() < 1e-12);
        let question = crate::servo::SingleTaskLoop::new(plant.clone(), 1_000_000);
        let Gains::Pid { loops, .. } =
            Gains::new(&plant, &plant.design, &question.controller().unwrap(), 1_000_000)
        else {
            panic!("a PD")
        };
        assert!((loops[0].p - 1.5).abs() < 1e-12 && (loops[0].d - 0.0525).abs() < 1e-12 && loops[0].i == 0.0);
    }
}
