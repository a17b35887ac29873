//! Plant, controllers and actuators in one state, and the acts of tasks on it.

use nalgebra::DMatrix;

use super::controller::Controller;
use super::flow_map::{Flow, FlowTable};
use super::plant::Plant;
use super::row_updates::{PassageBuilder, RowUpdate};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LoopAction {
    Sample,
    /// It computes from its last sample, commits its states and writes its output.
    Finish,
    /// It computes from its last sample and commits its states; the output is written later.
    Compute,
    /// It writes the output that it computed last.
    Write,
    Zero,
    /// Its estimator advances by a period without a measurement, and its output is written.
    Predict,
}

/// An act of one of the tasks that close the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Event {
    /// The number of the task's controller.
    pub by: u8,
    pub act: LoopAction,
}

impl LoopAction {
    /// Event of this act by the only controller there is.
    pub const fn as_only_task_event(self) -> Event {
        Event { by: 0, act: self }
    }
}

/// A controller with the signals that it reads and writes.
#[derive(Debug, Clone, PartialEq)]
pub struct ControllerWiring {
    pub controller: Controller,
    /// Outputs of the plant that it reads, by number; not used by one that reads the plant's states.
    pub reads: Vec<usize>,
    /// Held signals that are its reference, by number; empty for a reference from outside.
    pub follows: Vec<usize>,
    /// Held signals that it writes, by number: the plant's inputs, then references of other controllers.
    pub writes: Vec<usize>,
}

impl ControllerWiring {
    /// A controller of all outputs and inputs of a plant.
    pub fn for_all_signals(plant: &Plant, controller: &Controller) -> ControllerWiring {
        let (_, m, p) = plant.sizes();
        ControllerWiring {
            controller: controller.clone(),
            reads: (0..p).collect(),
            follows: Vec::new(),
            writes: (0..m).collect(),
        }
    }

    /// Number of values in a sample.
    fn sample_size(&self, plant: &Plant) -> usize {
        let seen = if self.controller.reads_states { plant.sizes().0 } else { self.reads.len() };
        seen + self.follows.len()
    }
}

/// Effect of an act: `rows` of the state become `gain` times the state, plus noise of this covariance.
struct Jump {
    rows: Vec<usize>,
    gain: DMatrix<f64>,
    noise: DMatrix<f64>,
}

/// First rows of a controller's states, computed outputs and sample in the loop's state.
#[derive(Debug, Clone, PartialEq)]
struct StateLayout {
    states: usize,
    computed: usize,
    sampled: usize,
}

/// The closed loop with the state `[x; u; xc; v; s]`: the plant's states, signals held between writes
/// (inputs, then references of inner loops), the controllers' states, outputs computed and not written yet,
/// and their last samples.
///
/// The last sample is the pending output of a job that runs: it is committed when the job ends, and lost when it is killed.
#[derive(Debug, Clone)]
pub struct Loop {
    pub(super) table: FlowTable,
    plant: Plant,
    wirings: Vec<ControllerWiring>,
    layouts: Vec<StateLayout>,
    held: usize,
    /// Outputs are written after the work is done.
    defers: bool,
    /// Effect of each act of each controller; outputs come before states.
    rows: Vec<[Option<RowUpdate>; 6]>,
}

impl Loop {
    /// Closes the loop by one controller that writes when its work is done.
    pub fn new(plant: &Plant, controller: &Controller) -> Loop {
        Loop::with_controllers(plant, vec![ControllerWiring::for_all_signals(plant, controller)], false)
    }

    /// Closes the loop by several controllers; `defers` keeps a place for outputs that are written later.
    pub fn with_controllers(plant: &Plant, wirings: Vec<ControllerWiring>, defers: bool) -> Loop {
        let (n, m, _) = plant.sizes();
        let held = wirings.iter().flat_map(|c| &c.writes).map(|signal| signal + 1).fold(m, usize::max);
        let mut next = n + held;
        let mut take = |size: usize| {
            next += size;
            next - size
        };
        let states: Vec<usize> = wirings.iter().map(|c| take(c.controller.state_count())).collect();
        let computed: Vec<usize> =
            wirings.iter().map(|c| take(if defers { c.writes.len() } else { 0 })).collect();
        let sampled: Vec<usize> = wirings.iter().map(|c| take(c.sample_size(plant))).collect();
        let place = |i: usize| StateLayout { states: states[i], computed: computed[i], sampled: sampled[i] };
        let mut input = plant.b.clone().resize_horizontally(held, 0.0);
        input.columns_mut(m, held - m).fill(0.0);
        let mut cost = DMatrix::zeros(n + held, n + held);
        cost.view_mut((0, 0), (n + m, n + m)).copy_from(&plant.cost());
        let mut closed = Loop {
            table: FlowTable::new(&plant.a, &input, &plant.process_noise, &cost),
            plant: plant.clone(),
            layouts: (0..wirings.len()).map(place).collect(),
            rows: Vec::new(),
            wirings,
            held,
            defers,
        };
        closed.rows = (0..closed.wirings.len()).map(|by| closed.all_updates(by)).collect();
        closed
    }

    /// Loop of the plant with another controller of all its outputs.
    #[must_use]
    pub(super) fn with_controller(self, controller: &Controller) -> Loop {
        let closing = ControllerWiring::for_all_signals(&self.plant, controller);
        let other = Loop::with_controllers(&self.plant, vec![closing], self.defers);
        Loop { table: self.table, ..other }
    }

    pub fn plant(&self) -> &Plant {
        &self.plant
    }

    pub fn wirings(&self) -> &[ControllerWiring] {
        &self.wirings
    }

    /// Number of plant states, and of these with the held signals: what moves between events.
    pub(super) fn moving_sizes(&self) -> (usize, usize) {
        let n = self.plant.sizes().0;
        (n, n + self.held)
    }

    pub fn order(&self) -> usize {
        let last =
            self.wirings.iter().zip(&self.layouts).map(|(c, p)| p.sampled + c.sample_size(&self.plant));
        last.max().unwrap_or(self.moving_sizes().1)
    }

    /// Size of the leading part of the state that lives on where no job is running: all but the samples.
    pub fn lasting_size(&self) -> usize {
        self.layouts.iter().map(|p| p.sampled).min().unwrap_or(self.moving_sizes().1)
    }

    /// True if every controller supports this act.
    pub fn supports(&self, act: LoopAction) -> bool {
        self.rows.iter().all(|rows| rows[act as usize].is_some())
    }

    /// Outputs of the plant that are to follow a reference from outside, by number.
    pub fn followed_outputs(&self) -> Vec<usize> {
        let outer = self.wirings.iter().filter(|closing| closing.follows.is_empty());
        outer.flat_map(|closing| closing.reads.iter().copied()).collect()
    }

    pub(super) fn update(&self, event: Event) -> Option<&RowUpdate> {
        self.rows.get(usize::from(event.by)).and_then(|rows| rows[event.act as usize].as_ref())
    }

    /// Makes a controller compute with this interval from the next sample on (see [`Controller::set_interval`]).
    pub(super) fn set_interval(&mut self, by: u8, interval_s: f64) {
        let by = usize::from(by);
        if let Some(closing) = self.wirings.get_mut(by) {
            closing.controller.set_interval(interval_s);
            self.rows[by] = self.all_updates(by);
        }
    }

    /// Effect of each act of a controller, in the order of [`LoopAction`].
    fn all_updates(&self, by: usize) -> [Option<RowUpdate>; 6] {
        let finish = self.writing_jump(by, true);
        let compute = self.defers.then(|| self.writing_jump(by, false));
        let write = self.defers.then(|| {
            let (closing, place) = (&self.wirings[by], &self.layouts[by]);
            let mut jump = self.zero_rows_jump(self.output_rows(by));
            (0..closing.writes.len()).for_each(|i| jump.gain[(i, place.computed + i)] = 1.0);
            jump
        });
        let zero = self.zero_rows_jump(self.output_rows(by));
        let all = [
            Some(self.sampling_jump(by)),
            Some(finish),
            compute,
            write,
            Some(zero),
            self.prediction_jump(by),
        ];
        all.map(|jump| jump.map(|jump| RowUpdate::new(&jump.rows, &jump.gain, &jump.noise)))
    }

    /// Rows of the signals that a controller writes.
    fn output_rows(&self, by: usize) -> Vec<usize> {
        self.wirings[by].writes.iter().map(|signal| self.plant.sizes().0 + signal).collect()
    }

    fn state_rows(&self, by: usize) -> impl Iterator<Item = usize> + use<> {
        let from = self.layouts[by].states;
        from..from + self.wirings[by].controller.state_count()
    }

    /// Jump after which these rows are zero.
    fn zero_rows_jump(&self, rows: Vec<usize>) -> Jump {
        let (count, size) = (rows.len(), self.order());
        Jump { rows, gain: DMatrix::zeros(count, size), noise: DMatrix::zeros(count, count) }
    }

    /// Jump of the measurements and references into the rows of the sample.
    fn sampling_jump(&self, by: usize) -> Jump {
        let (closing, from) = (&self.wirings[by], self.layouts[by].sampled);
        let (n, _) = self.moving_sizes();
        let mut jump = self.zero_rows_jump((from..from + closing.sample_size(&self.plant)).collect());
        if closing.controller.reads_states {
            jump.gain.view_mut((0, 0), (n, n)).fill_with_identity();
        } else {
            for (i, output) in closing.reads.iter().enumerate() {
                jump.gain.view_mut((i, 0), (1, n)).copy_from(&self.plant.c.row(*output));
                for (j, other) in closing.reads.iter().enumerate() {
                    jump.noise[(i, j)] = self.plant.measurement_noise[(*output, *other)];
                }
            }
        }
        let seen = closing.sample_size(&self.plant) - closing.follows.len();
        for (i, signal) in closing.follows.iter().enumerate() {
            jump.gain[(seen + i, n + signal)] = 1.0;
        }
        jump
    }

    /// Jump of the output to where it is held (`at_once`) or waits to be written; the states are committed.
    fn writing_jump(&self, by: usize, at_once: bool) -> Jump {
        let (closing, place) = (&self.wirings[by], &self.layouts[by]);
        let (c, m) = (&closing.controller, closing.writes.len());
        let outputs =
            if at_once { self.output_rows(by) } else { (place.computed..place.computed + m).collect() };
        let mut jump = self.zero_rows_jump(outputs.into_iter().chain(self.state_rows(by)).collect());
        let (nc, seen, followed) = (c.state_count(), c.d.ncols(), closing.follows.len());
        jump.gain.view_mut((0, place.states), (m, nc)).copy_from(&c.c);
        jump.gain.view_mut((m, place.states), (nc, nc)).copy_from(&c.a);
        jump.gain.view_mut((0, place.sampled), (m, seen)).copy_from(&c.d);
        jump.gain.view_mut((m, place.sampled), (nc, seen)).copy_from(&c.b);
        if followed > 0 {
            jump.gain.view_mut((0, place.sampled + seen), (m, followed)).copy_from(&c.d_reference);
            jump.gain.view_mut((m, place.sampled + seen), (nc, followed)).copy_from(&c.b_reference);
        }
        jump
    }

    fn prediction_jump(&self, by: usize) -> Option<Jump> {
        let (closing, place) = (&self.wirings[by], &self.layouts[by]);
        let (a, c) = closing.controller.prediction.as_ref()?;
        let mut jump =
            self.zero_rows_jump(self.output_rows(by).into_iter().chain(self.state_rows(by)).collect());
        let (m, nc) = (c.nrows(), a.nrows());
        jump.gain.view_mut((0, place.states), (m, nc)).copy_from(c);
        jump.gain.view_mut((m, place.states), (nc, nc)).copy_from(a);
        Some(jump)
    }

    /// Map, noise and cost of the lasting part of the state over a stretch of time with these events. Their times are
    /// in ns from its begin, ascending. Samples must be taken within the stretch before they are used.
    pub fn passage(&mut self, events: &[(f64, Event)], length_ns: f64) -> Flow {
        let mut fold = PassageBuilder::new(self.order(), self.lasting_size(), self.moving_sizes());
        let mut now = 0.0;
        for (time, event) in events {
            self.table.for_each_flow((time - now).round() as i64, |flow| fold.append_flow(flow));
            now = f64::max(now, *time);
            if let Some(rows) = self.update(*event) {
                fold.append_update(rows);
            }
        }
        self.table.for_each_flow((length_ns - now).round() as i64, |flow| fold.append_flow(flow));
        fold.finish()
    }
}
