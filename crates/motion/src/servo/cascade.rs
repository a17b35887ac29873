//! The controllers of a plant with several loops in their places.

use nalgebra::DMatrix;

use jitterlab_model::Error;

use super::closed_loop::ControllerWiring;
use super::controller::Controller;
use super::plant::Plant;
use super::plant_loop::LoopOutput;
use crate::error;

/// The wired controllers of tasks that each close some of a plant's loops (by number) at a period. Loops of one task
/// run one after the other, the outer ones first, each with the reference that was just computed.
pub(super) fn task_wirings(
    plant: &Plant,
    tasks: &[(i64, Vec<usize>)],
) -> Result<Vec<ControllerWiring>, Error> {
    tasks.iter().map(|(period_ns, loops)| task_wiring(plant, *period_ns, loops)).collect()
}

/// Number of the held signal that a loop writes: the inputs, then the references that loops write, in the order of their loops.
fn written_signal(plant: &Plant, writes: LoopOutput) -> usize {
    let is_written = |i: &usize| plant.loops.iter().any(|l| l.writes == LoopOutput::Loop(*i));
    match writes {
        LoopOutput::Input(input) => input,
        LoopOutput::Loop(to) => plant.sizes().1 + (0..to).filter(is_written).count(),
    }
}

fn task_wiring(plant: &Plant, period_ns: i64, loops: &[usize]) -> Result<ControllerWiring, Error> {
    let mut loops = loops.to_vec();
    loops.sort_unstable();
    let of = |i: usize| &plant.loops[i];
    let controllers: Vec<Controller> = loops
        .iter()
        .map(|i| of(*i).design.plant_independent_controller(period_ns, 0.0))
        .collect::<Option<_>>()
        .ok_or_else(|| error::not_a_loop_controller(&plant.name))?;
    let writer = |i: usize| plant.loops.iter().position(|l| l.writes == LoopOutput::Loop(i));
    // References that another task holds.
    let held: Vec<usize> =
        loops.iter().copied().filter(|i| writer(*i).is_some_and(|outer| !loops.contains(&outer))).collect();
    let (count, states) = (loops.len(), controllers.iter().map(Controller::state_count).sum::<usize>());
    // If no other task holds one of its references, the outer loops' reference comes from outside.
    let references = held.len().max(1);
    // The data of a job: the states, the samples, the references.
    let known = states + count + references;
    let mut next = DMatrix::zeros(states, known);
    let mut written: Vec<DMatrix<f64>> = Vec::new();
    let mut first = 0;
    for (place, (i, c)) in loops.iter().zip(&controllers).enumerate() {
        let nc = c.state_count();
        let reference = match writer(*i) {
            Some(outer) => match loops.iter().position(|l| *l == outer) {
                Some(before) => written[before].clone(),
                None => {
                    let mut row = DMatrix::zeros(1, known);
                    let place = held.iter().position(|h| h == i).unwrap_or(0);
                    row[(0, states + count + place)] = 1.0;
                    row
                }
            },
            None => {
                let mut row = DMatrix::zeros(1, known);
                if held.is_empty() {
                    row[(0, states + count)] = 1.0;
                }
                row
            }
        };
        let of_all = |of_states: &DMatrix<f64>, of_sample: &DMatrix<f64>, of_reference: &DMatrix<f64>| {
            let mut rows = of_reference * &reference;
            let rows_of = rows.nrows();
            let mut part = rows.view_mut((0, first), (rows_of, nc));
            part += of_states;
            let mut part = rows.view_mut((0, states + place), (rows_of, 1));
            part += of_sample;
            rows
        };
        next.rows_mut(first, nc).copy_from(&of_all(&c.a, &c.b, &c.b_reference));
        written.push(of_all(&c.c, &c.d, &c.d_reference));
        first += nc;
    }
    let mut outputs = DMatrix::zeros(count, known);
    written.iter().enumerate().for_each(|(i, row)| outputs.row_mut(i).copy_from(&row.row(0)));
    let columns = |m: &DMatrix<f64>, from: usize, count: usize| m.columns(from, count).into_owned();
    let controller = Controller::from_matrices(
        [
            columns(&next, 0, states),
            columns(&next, states, count),
            columns(&next, states + count, references),
        ],
        [
            columns(&outputs, 0, states),
            columns(&outputs, states, count),
            columns(&outputs, states + count, references),
        ],
    );
    Ok(ControllerWiring {
        controller,
        reads: loops.iter().map(|i| of(*i).reads).collect(),
        follows: held.iter().map(|i| written_signal(plant, LoopOutput::Loop(*i))).collect(),
        writes: loops.iter().map(|i| written_signal(plant, of(*i).writes)).collect(),
    })
}
