//! Noticing a real-time task that cannot keep up, before it takes the machine down.

use jitterlab_model::Overload;

/// Time for which a task is watched before it is judged.
const WINDOW_NS: i64 = 500_000_000;
/// A task must have run at least this often in a window: one long stall is not an overload.
const LEAST_ACTIVATIONS: u64 = 10;
/// Percentage of the processor, or of the period, from which a task counts as not keeping up.
const LIMIT_PERCENT: i64 = 95;

/// Watches one task. As long as nothing is suspicious this is integer arithmetic; processor time, which needs a
/// system call, is read only once a window looked bad, and judged over the window that follows.
#[derive(Debug)]
pub(crate) struct OverloadGuard {
    period_ns: i64,
    window_from_ns: i64,
    last_end_ns: i64,
    waited_ns: i64,
    activations: u64,
    overlong_activations: u64,
    suspected: Option<Suspicion>,
}

#[derive(Debug)]
struct Suspicion {
    cpu_time_ns: i64,
}

impl OverloadGuard {
    pub(crate) fn new(period_ns: i64, now_ns: i64) -> Self {
        OverloadGuard {
            period_ns,
            window_from_ns: now_ns,
            last_end_ns: now_ns,
            waited_ns: 0,
            activations: 0,
            overlong_activations: 0,
            suspected: None,
        }
    }

    /// Adds one activation, from its thread's arrival to its end; returns the overload it proves, if any. `cpu_time_ns`
    /// reads the processor time of the thread.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        arrived_ns: i64,
        end_ns: i64,
        cpu_time_ns: impl FnOnce() -> i64,
    ) -> Option<Overload> {
        self.waited_ns += arrived_ns - self.last_end_ns;
        self.last_end_ns = end_ns;
        self.activations += 1;
        self.overlong_activations += u64::from(end_ns - arrived_ns >= self.period_ns);
        let window_ns = end_ns - self.window_from_ns;
        if window_ns < WINDOW_NS || self.activations < LEAST_ACTIVATIONS {
            return None;
        }
        self.judge_window(window_ns, end_ns, cpu_time_ns)
    }

    #[cold]
    fn judge_window(
        &mut self,
        window_ns: i64,
        end_ns: i64,
        cpu_time_ns: impl FnOnce() -> i64,
    ) -> Option<Overload> {
        let limit = |whole: i64| whole / 100 * LIMIT_PERCENT;
        let never_waits = self.waited_ns < window_ns - limit(window_ns);
        let always_too_long = self.overlong_activations >= self.activations - self.activations / 10;
        let activations = self.activations as i64;
        let suspicious = never_waits || always_too_long;
        let before = self.suspected.take();
        (self.window_from_ns, self.waited_ns, self.activations, self.overlong_activations) =
            (end_ns, 0, 0, 0);
        if !suspicious {
            return None;
        }
        let cpu_time_ns = cpu_time_ns();
        self.suspected = Some(Suspicion { cpu_time_ns });
        // Time that others or a hypervisor took is not the task's fault: only its own processor time convicts.
        let used_ns = cpu_time_ns - before?.cpu_time_ns;
        if never_waits && used_ns >= limit(window_ns) {
            return Some(Overload::NeverWaits { used_ns, of_ns: window_ns });
        }
        let work_ns = used_ns / activations;
        (always_too_long && work_ns >= limit(self.period_ns))
            .then_some(Overload::WorkExceedsPeriod { work_ns, period_ns: self.period_ns })
    }
}
