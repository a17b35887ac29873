//! Replay of jobs under another overrun action: the same waits and execution times in turn.

use super::overrun::OverrunPolicy;
use super::timing::Job;

#[derive(Debug, Clone)]
pub struct Replay {
    policy: OverrunPolicy,
    period_ns: i64,
    due_ns: i64,
    free_ns: i64,
    begun: bool,
}

impl Replay {
    /// A task that is due at time zero for the first time.
    pub fn new(policy: OverrunPolicy, period_ns: i64) -> Replay {
        Replay::with_first_due(policy, period_ns, 0)
    }

    /// A task that is due at this time for the first time.
    pub fn with_first_due(policy: OverrunPolicy, period_ns: i64, due_ns: i64) -> Replay {
        Replay { policy, period_ns, due_ns, free_ns: i64::MIN, begun: false }
    }

    pub fn due_ns(&self) -> i64 {
        self.due_ns
    }

    /// The next job: its wait after it is due and the processor is free for it (negative: it starts early),
    /// and its execution time. `after_gap` if the sequence is interrupted before it.
    pub fn next_job(&mut self, wait_ns: i64, execution_ns: i64, after_gap: bool) -> Job {
        if after_gap {
            self.free_ns = i64::MIN;
        }
        let after_gap = after_gap || !std::mem::replace(&mut self.begun, true);
        let (due_ns, period_ns) = (self.due_ns, self.period_ns);
        let start_ns = (due_ns + wait_ns).max(self.free_ns.saturating_add(wait_ns.max(0)));
        let end_ns = start_ns + execution_ns.max(0);
        let next_ns = due_ns + period_ns;
        if self.policy == OverrunPolicy::Kill && end_ns >= next_ns {
            (self.due_ns, self.free_ns) = (next_ns, next_ns);
            return Job { due_ns, start_ns, end_ns: next_ns, killed: true, after_gap };
        }
        self.free_ns = end_ns;
        self.due_ns = match self.policy {
            _ if end_ns < next_ns => next_ns,
            OverrunPolicy::Skip => due_ns + ((end_ns - due_ns) / period_ns + 1) * period_ns,
            OverrunPolicy::RePhase => end_ns + period_ns,
            OverrunPolicy::CatchUp | OverrunPolicy::Kill => next_ns,
        };
        Job { due_ns, start_ns, end_ns, killed: false, after_gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: i64 = 1_000;

    fn replayed(policy: OverrunPolicy, works: &[(i64, i64)]) -> Vec<(i64, i64, i64, bool)> {
        let mut replay = Replay::new(policy, H);
        let jobs = works.iter().map(|(wait, work)| replay.next_job(*wait, *work, false));
        jobs.map(|j| (j.due_ns, j.start_ns, j.end_ns, j.killed)).collect()
    }

    #[test]
    fn each_action_does_with_a_late_job_what_it_is_for() {
        let works = [(10, 1_190), (0, 300), (-5, 100)];
        let done = |due, start, end| (due, start, end, false);
        assert_eq!(
            replayed(OverrunPolicy::Skip, &works),
            [done(0, 10, 1_200), done(2_000, 2_000, 2_300), done(3_000, 2_995, 3_095)]
        );
        assert_eq!(
            replayed(OverrunPolicy::CatchUp, &works),
            [done(0, 10, 1_200), done(1_000, 1_200, 1_500), done(2_000, 1_995, 2_095)]
        );
        assert_eq!(
            replayed(OverrunPolicy::RePhase, &works),
            [done(0, 10, 1_200), done(2_200, 2_200, 2_500), done(3_200, 3_195, 3_295)]
        );
        assert_eq!(
            replayed(OverrunPolicy::Kill, &works),
            [(0, 10, 1_000, true), done(1_000, 1_000, 1_300), done(2_000, 1_995, 2_095)]
        );
    }

    #[test]
    fn an_end_on_a_due_time_has_missed_it() {
        assert_eq!(replayed(OverrunPolicy::Skip, &[(0, 1_000), (0, 1)])[1].0, 2_000);
        assert!(replayed(OverrunPolicy::Kill, &[(0, 1_000)])[0].3);
    }
}
