//! Pulses: each activation of a task moves a pin, for a capture outside the computer.
//!
//! A pulse is part of an activation's work, so a task without pulses is not affected. It costs a system call
//! for each edge, on the measured thread; that time is measured, and noted in the run.

mod device;
mod dump;
mod error;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use jitterlab_model::{Error, OwnWork, Pulse, PulseAt, TaskSpec, Warning};
use jitterlab_rt::Workload;

/// Something that is high or low. Low again once it is dropped.
trait DigitalOutput: Send {
    /// Makes the pin high or low at a time of the task's clock, without allocation and by one system call.
    ///
    /// # Errors
    /// Error of the system call.
    fn set(&mut self, high: bool, now_ns: i64) -> io::Result<()>;
}

/// Durations of edges, for another thread to read at the end.
#[derive(Debug)]
pub(super) struct EdgeTimes {
    edges: AtomicU64,
    refused: AtomicU64,
    sum_ns: AtomicI64,
    least_ns: AtomicI64,
    longest_ns: AtomicI64,
}

impl EdgeTimes {
    fn new() -> Self {
        EdgeTimes {
            edges: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            sum_ns: AtomicI64::new(0),
            least_ns: AtomicI64::new(i64::MAX),
            longest_ns: AtomicI64::new(0),
        }
    }

    fn count_edge(&self, ns: i64, done: bool) {
        // One thread writes, so that no update is lost.
        let counter = if done { &self.edges } else { &self.refused };
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if done {
            self.sum_ns.store(self.sum_ns.load(Ordering::Relaxed).saturating_add(ns), Ordering::Relaxed);
            self.least_ns.fetch_min(ns, Ordering::Relaxed);
            self.longest_ns.fetch_max(ns, Ordering::Relaxed);
        }
    }

    /// Makes the warning with the edges' durations; `None` if no edge was tried.
    pub(super) fn warning(&self, task: &str, pulse: Pulse) -> Option<Warning> {
        let [edges, refused] = [&self.edges, &self.refused].map(|counter| counter.load(Ordering::Relaxed));
        let mean_ns = i64::try_from(edges)
            .ok()
            .and_then(|edges| self.sum_ns.load(Ordering::Relaxed).checked_div(edges));
        (edges + refused > 0).then(|| Warning::Pulsed {
            task: task.into(),
            pulse,
            edges,
            refused,
            least_ns: if edges > 0 { self.least_ns.load(Ordering::Relaxed) } else { 0 },
            mean_ns: mean_ns.unwrap_or(0),
            longest_ns: self.longest_ns.load(Ordering::Relaxed),
        })
    }
}

/// The work of a task, and the durations of its edges.
type PulsedWork = (Option<Box<dyn OwnWork>>, Option<Arc<EdgeTimes>>);

/// Puts the pulses of a task around its work; returns that work, and the durations of edges to come.
/// Without pulses, the work stays as it is.
pub(super) fn with_pulses(spec: &TaskSpec, work: Option<Box<dyn OwnWork>>) -> Result<PulsedWork, Error> {
    let Some(pulse) = &spec.pulse else { return Ok((work, None)) };
    let (level, direction) = device::open(pulse)?;
    let times = Arc::new(EdgeTimes::new());
    let work = work.map_or_else(|| Work::Described(Workload::new(spec.work)), Work::Own);
    let steps = pulse.steps.as_ref().map(|steps| StepsDue { every_ns: steps.every_ns, next_ns: None });
    let pulsing = PulsedWorkload {
        level,
        at: pulse.at,
        high: false,
        steps,
        work,
        times: times.clone(),
        _direction: direction,
    };
    Ok((Some(Box::new(pulsing)), Some(times)))
}

/// Work of a task between its edges.
enum Work {
    Described(Workload),
    Own(Box<dyn OwnWork>),
}

/// The steps of a move at constant speed, which begins with the first activation.
struct StepsDue {
    every_ns: i64,
    next_ns: Option<i64>,
}

impl StepsDue {
    /// Takes one step if it is due; returns true then. Steps of missed activations follow in the next ones.
    fn take_due_step(&mut self, due_ns: i64) -> bool {
        let next_ns = self.next_ns.get_or_insert(due_ns);
        let is_due = *next_ns <= due_ns;
        if is_due {
            *next_ns = next_ns.saturating_add(self.every_ns);
        }
        is_due
    }
}

/// Work with edges around it.
struct PulsedWorkload {
    level: Box<dyn DigitalOutput>,
    at: PulseAt,
    high: bool,
    steps: Option<StepsDue>,
    work: Work,
    times: Arc<EdgeTimes>,
    /// High as long as it is open.
    _direction: Option<Box<dyn DigitalOutput>>,
}

impl PulsedWorkload {
    /// Changes the pin's level, and counts the time from `from_ns` to its end as the edge's duration.
    fn make_edge(&mut self, from_ns: i64, now_ns: &dyn Fn() -> i64) {
        self.high = !self.high;
        let done = self.level.set(self.high, from_ns).is_ok();
        self.times.count_edge(now_ns() - from_ns, done);
    }
}

impl OwnWork for PulsedWorkload {
    fn activate(&mut self, due_ns: i64, start_ns: i64, now_ns: &dyn Fn() -> i64) {
        let moves = self.steps.as_mut().is_none_or(|steps| steps.take_due_step(due_ns));
        if moves && self.at != PulseAt::End {
            self.make_edge(start_ns, now_ns);
        }
        match &mut self.work {
            Work::Described(workload) => workload.run_by_clock(now_ns, start_ns),
            Work::Own(own) => own.activate(due_ns, start_ns, now_ns),
        }
        if moves && self.at != PulseAt::Start {
            self.make_edge(now_ns(), now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Records its calls.
    struct Noted(Arc<Mutex<Vec<(bool, i64)>>>);

    impl DigitalOutput for Noted {
        fn set(&mut self, high: bool, now_ns: i64) -> io::Result<()> {
            self.0.lock().unwrap().push((high, now_ns));
            if now_ns == 13 { Err(io::ErrorKind::Other.into()) } else { Ok(()) }
        }
    }

    /// The edges of activations at these times, with each start at its due time.
    fn edges_of(
        at: PulseAt,
        steps: Option<StepsDue>,
        activations: &[i64],
    ) -> (Vec<(bool, i64)>, Option<Warning>) {
        let noted = Arc::new(Mutex::new(Vec::new()));
        let times = Arc::new(EdgeTimes::new());
        let mut pulsing = PulsedWorkload {
            level: Box::new(Noted(noted.clone())),
            at,
            high: false,
            steps,
            work: Work::Described(Workload::new(jitterlab_model::Work::None)),
            times: times.clone(),
            _direction: None,
        };
        // Every look at the clock takes 4 ns.
        let clock = AtomicI64::new(0);
        for &start_ns in activations {
            clock.store(start_ns, Ordering::Relaxed);
            pulsing.activate(start_ns, start_ns, &|| clock.fetch_add(4, Ordering::Relaxed) + 4);
        }
        let said = noted.lock().unwrap().clone();
        (said, times.warning("t", "ttyS0:rts".parse().unwrap()))
    }

    fn edges(at: PulseAt) -> (Vec<(bool, i64)>, Option<Warning>) {
        edges_of(at, None, &[10, 110])
    }

    #[test]
    fn steps_are_made_when_they_are_due_and_none_is_left_out() {
        // The activation at 200 was missed.
        let steps = Some(StepsDue { every_ns: 150, next_ns: None });
        let made = edges_of(PulseAt::Both, steps, &[0, 100, 300, 400, 500, 600]).0;
        let rising: Vec<i64> = made.iter().filter(|(high, _)| *high).map(|(_, at)| *at).collect();
        assert_eq!(rising, [0, 300, 400, 500, 600]);
        assert_eq!(made.len(), 10);
    }

    #[test]
    fn an_activation_makes_the_edges_asked_for() {
        assert_eq!(edges(PulseAt::Both).0, [(true, 10), (false, 18), (true, 110), (false, 118)]);
        assert_eq!(edges(PulseAt::Start).0, [(true, 10), (false, 110)]);
        assert_eq!(edges(PulseAt::End).0, [(true, 14), (false, 114)]);
    }

    #[test]
    fn what_edges_take_is_told() {
        let Some(Warning::Pulsed { edges, refused, least_ns, mean_ns, longest_ns, .. }) =
            edges(PulseAt::Both).1
        else {
            panic!("nothing is told")
        };
        assert_eq!((edges, refused, least_ns, mean_ns, longest_ns), (4, 0, 4, 4, 4));
        assert!(EdgeTimes::new().warning("t", "ttyS0:rts".parse().unwrap()).is_none());
    }

    #[test]
    fn a_device_that_is_not_there_says_what_would_bring_it() {
        for (pulse, remedy) in [
            ("gpiochip99:0", "gpiodetect"),
            ("parport99:D0", "ppdev"),
            ("ttyNOWHERE:rts", "ls /dev/tty"),
            ("file:/nowhere/at/all.vcd", "folder"),
        ] {
            let spec = TaskSpec { pulse: Some(pulse.parse().unwrap()), ..TaskSpec::default() };
            let Err(error) = with_pulses(&spec, None) else { panic!("{pulse}") };
            assert!(error.to_string().contains(remedy), "{error}");
        }
        assert!(with_pulses(&TaskSpec::default(), None).unwrap().0.is_none());
    }
}
