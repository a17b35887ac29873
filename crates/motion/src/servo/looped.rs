//! Plant, controller and actuator in one state, and what events do to it.

use nalgebra::DMatrix;

use super::controller::Controller;
use super::flow::{Flow, FlowTable};
use super::plant::Plant;

/// Something the task does to the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// It reads the sensors and computes.
    Sample,
    /// It writes what it computed last.
    Actuate,
}

/// What happens in one period of the grid: events and their time after the due time, ascending, below or at the
/// period. Empty for a missed activation.
pub type Pattern = Vec<(i64, Event)>;

/// The closed loop with the state `[x; u; v; xc]`.
#[derive(Debug, Clone)]
pub struct Loop {
    pub(super) table: FlowTable,
    /// Plant states, inputs, controller states.
    pub(super) sizes: (usize, usize, usize),
    /// What sampling puts into v and xc: (inputs + controller states) x all.
    pub(super) sampling: DMatrix<f64>,
    /// Covariance that sampling adds to them.
    pub(super) sampling_noise: DMatrix<f64>,
    pub(super) controller: Controller,
    pub(super) plant: Plant,
}

impl Loop {
    /// Closes the loop.
    pub fn new(plant: &Plant, controller: &Controller) -> Loop {
        let (n, m, _) = plant.sizes();
        let nc = controller.states();
        let mut closed = Loop {
            table: FlowTable::new(&plant.a, &plant.b, &plant.process_noise, &plant.cost()),
            sizes: (n, m, nc),
            sampling: DMatrix::zeros(m + nc, n + 2 * m + nc),
            sampling_noise: DMatrix::zeros(m + nc, m + nc),
            controller: controller.clone(),
            plant: plant.clone(),
        };
        closed.prepare_sampling();
        closed
    }

    /// Size of the state.
    pub fn order(&self) -> usize {
        let (n, m, nc) = self.sizes;
        n + 2 * m + nc
    }

    /// From the next sample on, the controller computes with this interval (see [`Controller::set_interval`]).
    pub(super) fn set_interval(&mut self, interval_s: f64) {
        self.controller.set_interval(interval_s);
        self.prepare_sampling();
    }

    fn prepare_sampling(&mut self) {
        let (n, m, nc) = self.sizes;
        let Controller { a, b, c, d, reads_states, .. } = &self.controller;
        let seen = |gain: &DMatrix<f64>| if *reads_states { gain.clone() } else { gain * &self.plant.c };
        self.sampling.view_mut((0, 0), (m, n)).copy_from(&seen(d));
        self.sampling.view_mut((m, 0), (nc, n)).copy_from(&seen(b));
        self.sampling.view_mut((0, n + 2 * m), (m, nc)).copy_from(c);
        self.sampling.view_mut((m, n + 2 * m), (nc, nc)).copy_from(a);
        if !reads_states {
            let mut gain = DMatrix::zeros(m + nc, d.ncols());
            gain.rows_mut(0, m).copy_from(d);
            gain.rows_mut(m, nc).copy_from(b);
            self.sampling_noise = &gain * &self.plant.measurement_noise * gain.transpose();
        }
    }

    /// An event as a matrix on the whole state, with the covariance it adds.
    fn jump(&self, event: Event) -> (DMatrix<f64>, DMatrix<f64>) {
        let (n, m, nc) = self.sizes;
        let size = self.order();
        let mut e = DMatrix::identity(size, size);
        let mut w = DMatrix::zeros(size, size);
        match event {
            Event::Sample => {
                e.rows_mut(n + m, m + nc).copy_from(&self.sampling);
                w.view_mut((n + m, n + m), (m + nc, m + nc)).copy_from(&self.sampling_noise);
            }
            Event::Actuate => {
                e.view_mut((n, n), (m, m)).fill(0.0);
                e.view_mut((n, n + m), (m, m)).fill_with_identity();
            }
        }
        (e, w)
    }

    /// What a whole period with this pattern does, as one flow of the whole state.
    pub fn period(&mut self, pattern: &[(i64, Event)], period_ns: i64) -> Flow {
        let size = self.order();
        let mut whole = Flow::nothing(size);
        let mut now = 0;
        for (offset_ns, event) in pattern {
            let stretch = self.stretch(offset_ns - now);
            whole = whole.then(&stretch);
            now = now.max(*offset_ns);
            let (phi, noise) = self.jump(*event);
            whole = whole.then(&Flow { phi, noise, cost: DMatrix::zeros(size, size), offset: 0.0 });
        }
        let rest = self.stretch(period_ns - now);
        whole.then(&rest)
    }

    /// A flow of [x; u], with the rest of the state standing still.
    fn stretch(&mut self, time_ns: i64) -> Flow {
        let (moving, size) = (self.sizes.0 + self.sizes.1, self.order());
        let flow = self.table.flow(time_ns);
        let mut whole = Flow::nothing(size);
        whole.phi.view_mut((0, 0), (moving, moving)).copy_from(&flow.phi);
        whole.noise.view_mut((0, 0), (moving, moving)).copy_from(&flow.noise);
        whole.cost.view_mut((0, 0), (moving, moving)).copy_from(&flow.cost);
        whole.offset = flow.offset;
        whole
    }
}
