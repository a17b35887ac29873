//! A probe around a loop that exists already: when its activations began and ended, and which due times they served.
//!
//! `begin` and `end` read the clock and store one record. They allocate nothing, take no lock and make no system call.

use std::io;
use std::sync::Arc;

use jitterlab_model::bounds::SPAN_NS;
use jitterlab_model::{Activation, Flags, Granted, Overrun, Policy, TaskResult, TaskSpec};

use crate::counters::{CounterWriter, TaskCounters};
use crate::linux::Linux;
use crate::record::Recorder;
use crate::schedule::{DueTime, Schedule};
use crate::sys;
use crate::system::{Kernel, System};
use crate::wake::Arrival;

/// Stage of the activation that was begun last, together with its due times: one question answers both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It runs, and was due when the loop stated.
    BegunAt,
    /// It runs, and serves the grid from the first activation.
    BegunOnGrid,
    /// It runs, and the receiver of its record finds its due time.
    BegunDueLater,
    /// It is recorded, and the next one is due on the grid.
    OnGrid,
    /// It ended, and the due time of the next one will show which were left out between them.
    Waiting,
    /// It is recorded, or there is none yet, and the due time of the next one is found later, too.
    DueLater,
    /// There was none yet.
    Nothing,
}

/// Time and processor of an activation's start.
#[derive(Debug, Clone, Copy)]
struct ActivationStart {
    start_ns: i64,
    cpu: u16,
}

impl ActivationStart {
    /// Returns true if the start is within two years of this due time.
    #[inline]
    fn can_be_due_at(self, due_ns: i64) -> bool {
        // Not further off than the span, by one comparison.
        let from_earliest_ns = self.start_ns.wrapping_sub(due_ns).wrapping_add(SPAN_NS);
        (from_earliest_ns as u64) < 2 * SPAN_NS as u64
    }
}

/// Watches a loop from within, on the thread that runs it.
///
/// ```
/// use jitterlab_model::TaskSpec;
/// use jitterlab_rt::probe::Probe;
/// use jitterlab_rt::record;
///
/// let (recorder, mut drain) = record::ring(1_024);
/// let mut probe = Probe::new(&TaskSpec::default(), Some(recorder));
/// for _ in 0..3 {
///     probe.begin();
///     // The work of the loop; its wait comes after the end.
///     probe.end();
/// }
/// assert_eq!(probe.finish().executed, 3);
/// let mut activations = Vec::new();
/// assert_eq!(drain.pop_into(&mut activations, usize::MAX), 3);
/// ```
#[derive(Debug)]
pub struct Probe<S: System = Linux> {
    system: S,
    period_ns: i64,
    /// The earliest latency, below 0, with which a start still serves its due time, in nanoseconds.
    earliest_ns: i64,
    overrun: Overrun,
    /// The grid from the first activation, in the stages that are on it.
    grid: Schedule,
    /// True if the loop states its due times.
    states_due_times: bool,
    stage: Stage,
    last: Activation,
    phase_loss_ns: i64,
    early: u64,
    counters: CounterWriter,
    recorder: Option<Recorder>,
}

impl Probe<Linux> {
    /// A probe for a loop of this period and overrun policy (the rest of the description is the loop's own affair).
    pub fn new(spec: &TaskSpec, recorder: Option<Recorder>) -> Self {
        Probe::with_system(Linux, spec, recorder)
    }

    /// A probe for a loop whose due times are found later, by whoever takes its activations out of the ring.
    /// Here each counts as due when it begins, is numbered in turn, and none is missed.
    pub fn without_due_times(spec: &TaskSpec, recorder: Recorder) -> Self {
        Probe { stage: Stage::DueLater, ..Probe::with_system(Linux, spec, Some(recorder)) }
    }
}

impl<S: System> Probe<S> {
    /// Creates a probe by another system's clock, as in tests.
    pub fn with_system(system: S, spec: &TaskSpec, recorder: Option<Recorder>) -> Self {
        Probe {
            system,
            period_ns: spec.period_ns.max(1),
            earliest_ns: -(spec.period_ns.max(1) / 2),
            overrun: spec.overrun,
            grid: Schedule::new(0, spec.period_ns, spec.overrun),
            states_due_times: false,
            stage: Stage::Nothing,
            last: Activation::default(),
            phase_loss_ns: 0,
            early: 0,
            counters: CounterWriter::new(Arc::default()),
            recorder,
        }
    }

    /// Begins an activation that was due a period after the one before it, or as the overrun policy has it.
    /// The first one of all is taken as punctual, so that all latencies are known up to the same amount.
    ///
    /// One that was begun before and not ended ends here.
    #[inline]
    pub fn begin(&mut self) {
        let began = self.read_start();
        if self.stage == Stage::OnGrid {
            self.begin_on_grid(began);
        } else {
            self.begin_without_grid(began);
        }
    }

    /// Begins an activation that is not on a grid yet, or on none.
    #[inline(never)]
    fn begin_without_grid(&mut self, began: ActivationStart) {
        if self.stage == Stage::DueLater {
            self.begin_due_later(began);
        } else {
            self.begin_unusual(None, began);
        }
    }

    /// Begins an activation that was due at this time of CLOCK_MONOTONIC, in nanoseconds: the end of the loop's sleep.
    ///
    /// One that was begun before and not ended ends here. A time that is years off, as of another clock, counts as two years
    /// off: no run file holds more.
    #[inline]
    pub fn begin_at(&mut self, due_ns: i64) {
        let began = self.read_start();
        let distance_ns = due_ns.wrapping_sub(self.last.due_ns);
        let is_next = self.stage == Stage::Waiting && distance_ns == self.period_ns;
        if is_next && began.can_be_due_at(due_ns) && self.record_if_usual() {
            self.set_begun(self.due_after(due_ns, 1, Flags::default()), began, Stage::BegunAt);
        } else {
            self.begin_unusual(Some(due_ns), began);
        }
    }

    /// Reads time and processor when an activation begins.
    #[inline]
    fn read_start(&self) -> ActivationStart {
        let start_ns = self.system.now_ns();
        ActivationStart { start_ns, cpu: self.system.kernel().current_cpu() }
    }

    /// Begins an activation in a way that is not the short usual one; ends one that has begun.
    #[cold]
    fn begin_unusual(&mut self, due_ns: Option<i64>, began: ActivationStart) {
        let start_ns = began.start_ns;
        self.end_at(start_ns);
        if self.stage == Stage::DueLater {
            return self.begin_due_later(began);
        }
        match due_ns {
            Some(due_ns) if began.can_be_due_at(due_ns) => self.begin_with_due_time(due_ns, began),
            Some(due_ns) if due_ns < start_ns => self.begin_with_due_time(start_ns - SPAN_NS, began),
            Some(_) => self.begin_with_due_time(start_ns + SPAN_NS, began),
            None if self.states_due_times => {
                self.begin_with_due_time(self.last.due_ns.saturating_add(self.period_ns), began);
            }
            None => {
                if self.stage == Stage::Nothing {
                    self.grid = Schedule::new(start_ns, self.period_ns, self.overrun);
                }
                self.begin_on_grid(began);
            }
        }
    }

    /// Begins an activation that was due on the grid from the first.
    #[inline]
    fn begin_on_grid(&mut self, began: ActivationStart) {
        let due = self.grid.next();
        // No clock reads less than 0, so that this does not overflow.
        if began.start_ns.wrapping_sub(due.due_ns) < self.earliest_ns {
            self.early += 1;
        }
        self.set_begun(due, began, Stage::BegunOnGrid);
    }

    /// Begins an activation whose due time is found later.
    #[inline]
    fn begin_due_later(&mut self, began: ActivationStart) {
        let due =
            DueTime { index: self.counters.executed(), due_ns: began.start_ns, flags: Flags::default() };
        self.set_begun(due, began, Stage::BegunDueLater);
    }

    /// Begins an activation whose due time the loop stated, after the record of the one before it.
    fn begin_with_due_time(&mut self, due_ns: i64, began: ActivationStart) {
        if self.stage == Stage::Waiting {
            let (steps, flags) = self.count_periods(due_ns.wrapping_sub(self.last.due_ns));
            let due = self.due_after(due_ns, steps, flags);
            self.record_last();
            return self.set_begun(due, began, Stage::BegunAt);
        }
        let mut due = DueTime { index: 0, due_ns, flags: Flags::default() };
        if self.stage == Stage::OnGrid {
            // A loop that changes its mind begins a new grid.
            let next = self.grid.next();
            self.phase_loss_ns = self.grid.phase_loss_ns().saturating_add(due_ns.saturating_sub(next.due_ns));
            due = DueTime { index: next.index, due_ns, flags: Flags::RE_PHASED };
        }
        self.states_due_times = true;
        self.set_begun(due, began, Stage::BegunAt);
    }

    /// The due time `due_ns` with its number on the grid, `steps` after the last, and its flags.
    #[inline]
    fn due_after(&self, due_ns: i64, steps: u64, flags: Flags) -> DueTime {
        let flags = if due_ns <= self.last.end_ns { flags.with(Flags::CAUGHT_UP) } else { flags };
        DueTime { index: self.last.index.wrapping_add(steps), due_ns, flags }
    }

    /// Counts periods since the last due time, notes missed ones and the shift; returns number and flags.
    fn count_periods(&mut self, distance_ns: i64) -> (u64, Flags) {
        let period_ns = self.period_ns;
        let steps = (distance_ns.saturating_add(period_ns / 2) / period_ns).max(1);
        let off_ns = distance_ns.saturating_sub(period_ns.saturating_mul(steps));
        // Periods may be a little off; a new grid is off by any part of a period.
        let flags = if off_ns.saturating_abs() > period_ns / 8 { Flags::RE_PHASED } else { Flags::default() };
        self.last.missed = u32::try_from(steps - 1).unwrap_or(u32::MAX);
        self.phase_loss_ns = self.phase_loss_ns.saturating_add(off_ns);
        self.counters.set_phase_loss_ns(self.phase_loss_ns);
        (steps as u64, flags)
    }

    #[inline]
    fn set_begun(&mut self, due: DueTime, began: ActivationStart, stage: Stage) {
        let (DueTime { index, due_ns, flags }, ActivationStart { start_ns, cpu }) = (due, began);
        self.last = Activation { index, due_ns, start_ns, missed: 0, cpu, flags, ..self.last };
        self.stage = stage;
    }

    /// Ends the activation: its work is done, and the loop goes to wait. Without one that has begun, nothing happens.
    #[inline]
    pub fn end(&mut self) {
        // Asked first, it is shorter for loops that say their due times.
        if self.stage == Stage::BegunAt {
            (self.last.end_ns, self.stage) = (self.system.now_ns(), Stage::Waiting);
        } else {
            self.end_at(self.system.now_ns());
        }
    }

    /// Ends the activation at a time that was read.
    #[inline(always)]
    fn end_at(&mut self, end_ns: i64) {
        if self.stage == Stage::BegunAt {
            self.last.end_ns = end_ns;
            self.stage = Stage::Waiting;
        } else if self.stage == Stage::BegunOnGrid {
            let missed = self.grid.complete(end_ns);
            if missed > 0 {
                self.note_missed(missed);
            }
            self.finish_activation(end_ns, Stage::OnGrid);
        } else if self.stage == Stage::BegunDueLater {
            self.finish_activation(end_ns, Stage::DueLater);
        }
    }

    /// Records the activation, whose end and due time are known.
    #[inline(always)]
    fn finish_activation(&mut self, end_ns: i64, stage: Stage) {
        self.last.end_ns = end_ns;
        self.stage = stage;
        if !self.record_if_usual() {
            self.record_last();
        }
    }

    /// Sets the number of due times that the grid left out after the last activation.
    #[cold]
    fn note_missed(&mut self, missed: u64) {
        self.last.missed = u32::try_from(missed).unwrap_or(u32::MAX);
        self.counters.set_phase_loss_ns(self.grid.phase_loss_ns());
    }

    #[cold]
    fn record_last(&mut self) {
        let last = &self.last;
        self.counters.count(last, last.missed.into(), &Arrival::without_polling(last.start_ns));
        if let Some(recorder) = &mut self.recorder
            && !recorder.push(last)
        {
            self.counters.set_dropped(recorder.dropped());
        }
    }

    /// Records the activation if nothing is special about it, and returns true then. Nothing is called from here.
    #[inline(always)]
    fn record_if_usual(&mut self) -> bool {
        let last = &self.last;
        let is_usual = self.counters.is_usual(last)
            && self.recorder.as_mut().is_none_or(|recorder| recorder.push_if_room(last));
        if is_usual {
            self.counters.update_figures(last, &Arrival::without_polling(last.start_ns));
        }
        is_usual
    }

    /// Returns true if the loop states its due times; otherwise they count from its first activation.
    pub fn has_stated_due_times(&self) -> bool {
        self.states_due_times
    }

    /// Number of activations that began over half a period too early; 0 where due times are stated. They are
    /// of a loop that catches up, although its description does not state this.
    pub fn early_starts(&self) -> u64 {
        self.early
    }

    /// The counters, for another thread to read at any time.
    pub fn counters(&self) -> &Arc<TaskCounters> {
        self.counters.counters()
    }

    /// Records the waiting activations and returns the loop's result. Due times it still has to catch up
    /// count as missed. An activation that was not ended ends now.
    pub fn finish(&mut self) -> TaskResult {
        self.end();
        if self.stage == Stage::Waiting {
            self.stage = Stage::Nothing;
            let late_ns = self.last.end_ns.saturating_sub(self.last.due_ns).max(0);
            self.last.missed = u32::try_from(late_ns / self.period_ns).unwrap_or(u32::MAX);
            self.record_last();
        }
        let backlog = if self.stage == Stage::OnGrid { self.grid.backlog() } else { 0 };
        let result = self.counters.counters().snapshot();
        TaskResult { missed: result.missed + backlog, ..result }
    }
}

/// Returns the scheduling of the calling thread, read from the system, where nothing was requested.
///
/// # Errors
/// The system's error.
pub fn current_scheduling() -> io::Result<Granted> {
    Ok(Granted {
        policy: sys::sched::policy().unwrap_or(Policy::Other),
        cpus: sys::sched::cpus()?,
        memory_locked: sys::memory::is_locked(),
        timer_slack_ns: sys::sched::timer_slack_ns(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;
    use crate::record;

    const T: i64 = 1_000;

    /// Records and result of a loop that runs from each start to each end; each with its due time, if it states one.
    fn probed(overrun: Overrun, runs: &[(Option<i64>, i64, i64)]) -> (Vec<Activation>, TaskResult) {
        let (recorder, mut drain) = record::ring(64);
        let system = FakeSystem::new(0);
        let spec = TaskSpec { period_ns: T, overrun, ..TaskSpec::default() };
        let mut probe = Probe::with_system(system.clone(), &spec, Some(recorder));
        for (due_ns, start_ns, end_ns) in runs {
            system.preempt(start_ns - system.now_ns());
            match due_ns {
                Some(due_ns) => probe.begin_at(*due_ns),
                None => probe.begin(),
            }
            system.preempt(end_ns - system.now_ns());
            probe.end();
        }
        let result = probe.finish();
        let mut rows = Vec::new();
        drain.pop_into(&mut rows, usize::MAX);
        (rows, result)
    }

    fn served(rows: &[Activation]) -> Vec<(u64, i64, u32)> {
        rows.iter().map(|a| (a.index, a.latency_ns(), a.missed)).collect()
    }

    /// Invariant of every result.
    fn check(result: &TaskResult) {
        let length_ns = result.last_end_ns - result.first_due_ns - result.phase_loss_ns;
        assert_eq!((result.executed + result.missed) as i64, length_ns.div_euclid(T) + 1, "{result:?}");
    }

    #[test]
    fn due_times_that_are_said_show_what_was_late_and_what_was_left_out() {
        let at = |due_ns: i64, late_ns: i64| (Some(due_ns), due_ns + late_ns, due_ns + late_ns + 100);
        let (rows, result) =
            probed(Overrun::Skip, &[at(5_000, 7), at(6_000, 2_400), at(9_000, 3), at(10_000, -5)]);
        assert_eq!(served(&rows), [(0, 7, 0), (1, 2_400, 2), (4, 3, 0), (5, -5, 0)]);
        assert_eq!((result.executed, result.missed, result.max_latency_ns), (4, 2, 2_400));
        check(&result);
        // A loop that catches up states the due times that others would leave out.
        let (rows, result) =
            probed(Overrun::Skip, &[at(0, 2_400), at(1_000, 1_600), at(2_000, 800), at(3_000, 0)]);
        assert_eq!(served(&rows), [(0, 2_400, 0), (1, 1_600, 0), (2, 800, 0), (3, 0, 0)]);
        assert!(rows[1].flags.contains(Flags::CAUGHT_UP) && !rows[3].flags.contains(Flags::CAUGHT_UP));
        check(&result);
        // One that begins a new grid.
        let (rows, result) = probed(Overrun::Skip, &[at(0, 0), at(1_000, 0), at(2_400, 0), at(3_400, 0)]);
        assert_eq!(served(&rows).len(), 4);
        assert!(rows[2].flags.contains(Flags::RE_PHASED) && !rows[3].flags.contains(Flags::RE_PHASED));
        assert_eq!(result.phase_loss_ns, 400);
        check(&result);
    }

    #[test]
    fn without_due_times_they_count_from_the_first_activation() {
        let at = |start_ns: i64| (None, start_ns, start_ns + 100);
        let (rows, result) = probed(Overrun::Skip, &[at(700), at(1_690), at(2_750), at(6_000), at(6_700)]);
        assert_eq!(served(&rows), [(0, 0, 0), (1, -10, 0), (2, 50, 0), (3, 2_300, 2), (6, 0, 0)]);
        assert_eq!((result.executed, result.missed), (5, 2));
        check(&result);
        let (rows, result) = probed(Overrun::CatchUp, &[at(0), at(3_200), at(3_300), at(3_400), at(4_000)]);
        assert_eq!(served(&rows), [(0, 0, 0), (1, 2_200, 0), (2, 1_300, 0), (3, 400, 0), (4, 0, 0)]);
        check(&result);
    }

    #[test]
    fn an_activation_without_an_end_ends_where_the_next_begins_or_the_loop_does() {
        let (recorder, mut drain) = record::ring(4);
        let system = FakeSystem::new(0);
        let spec = TaskSpec { period_ns: T, ..TaskSpec::default() };
        let mut probe = Probe::with_system(system.clone(), &spec, Some(recorder));
        probe.end();
        probe.begin();
        system.preempt(900);
        probe.begin();
        system.preempt(50);
        let result = probe.finish();
        let mut rows = Vec::new();
        drain.pop_into(&mut rows, usize::MAX);
        assert_eq!(rows.iter().map(Activation::execution_ns).collect::<Vec<_>>(), [900, 50]);
        assert_eq!((result.executed, result.min_latency_ns), (2, -100));
    }
}
