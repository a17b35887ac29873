//! Verdicts on a task that cannot run: stopped, frozen, out of budget, waiting for a lock. Its own state
//! decides, regardless of its processor's occupant.

use jitterlab_model::causes::{CauseClass as Class, Evidence};

use super::event::NameId;
use super::fragment_cause::{CauseId, FragmentCause, FragmentContext, all};
use super::fragments::Fragment;
use super::inversion;
use super::thread::{Off, State, ThreadAction, Waker, last_deed};

impl FragmentContext<'_> {
    /// Returns the cause that keeps a task from running; `None` if it waits for a time or for others.
    pub(super) fn held(&self, off: Off, fragment: &Fragment) -> Option<FragmentCause> {
        let thread = self.thread;
        let of = |class, who| Some(all(CauseId { class, who }, Evidence::Events));
        let by = |deed: Option<&ThreadAction>| deed.and_then(|deed| deed.who);
        match off {
            Off::Stopped => of(Class::Stopped, by(last_deed(&thread.stops, fragment.from_ns))),
            Off::Traced => of(Class::Traced, by(last_deed(&thread.tracers, fragment.from_ns))),
            Off::Lock { inherits: true } => {
                let begun_ns = thread.state.since(fragment.from_ns);
                let lent = last_deed(&thread.holders, fragment.from_ns).filter(|deed| deed.t_ns >= begun_ns);
                of(Class::LockInheriting, by(lent).or_else(|| self.let_go_by(fragment)))
            }
            Off::Lock { inherits: false } => {
                Some(all(CauseId { class: Class::Lock, who: self.let_go_by(fragment) }, Evidence::LockValue))
            }
            Off::Fault => of(Class::PageFault, None),
            Off::Budget => of(Class::Budget, None),
            Off::Sleeps | Off::SleepsDeeply | Off::Frozen => {
                let group = thread.frozen.over(fragment.from_ns, fragment.to_ns).next();
                match group.and_then(|(.., by)| by) {
                    Some(by) => of(Class::Frozen, by),
                    None if off == Off::Frozen => of(Class::Frozen, self.let_go_by(fragment)),
                    None => None,
                }
            }
        }
    }

    /// Judges a wait that `who` ended. The cause of an uninterruptible wait is known only with its system call,
    /// and without a name the wake-up may be a timer's, on a processor that is not recorded.
    pub(super) fn blocked(&self, fragment: &Fragment, who: Option<NameId>) -> FragmentCause {
        let is_deep = fragment.state == State::Off(Off::SleepsDeeply);
        let evidence = if is_deep || who.is_none() { Evidence::None } else { Evidence::Events };
        all(CauseId { class: Class::Blocked, who }, evidence)
    }

    /// Judges a fragment; a wait for a lock is split into the parts in which others kept the holder from releasing it.
    pub fn verdicts(&self, fragment: &Fragment) -> Vec<(i64, i64, FragmentCause)> {
        let judged = |from_ns, to_ns, verdict| (from_ns, to_ns, verdict);
        let ends = self.thread.end_of_wait(fragment.to_ns).map(|wake| wake.by);
        if let (State::Off(Off::Lock { inherits: false }), Some(Waker::Thread(holder, _))) =
            (fragment.state, ends)
        {
            let verdict = self.judge(fragment);
            let until_ns = self.thread.end_of_wait(fragment.to_ns).map_or(fragment.to_ns, |wake| wake.t_ns);
            let waits =
                inversion::by_holder(self.processors, holder, until_ns, (fragment.from_ns, fragment.to_ns));
            return waits
                .into_iter()
                .map(|wait| match wait.middle {
                    Some(seen) => {
                        // One that is more urgent than the task would have the processor with priority inheritance, too.
                        let own = self.thread.priority_at(fragment.from_ns);
                        let is_urgent = seen.priority.is_some_and(|priority| priority < own);
                        let class = if is_urgent { Class::Preempted } else { Class::Inversion };
                        let cause = CauseId { class, who: seen.name };
                        judged(wait.from_ns, wait.to_ns, FragmentCause { cause, ..verdict })
                    }
                    None => judged(wait.from_ns, wait.to_ns, verdict),
                })
                .collect();
        }
        vec![judged(fragment.from_ns, fragment.to_ns, self.judge(fragment))]
    }

    /// Returns the causes that took the processor from the task in this fragment of its work, with their times in ns.
    pub fn interruptions(&self, fragment: &Fragment) -> Vec<(CauseId, i64)> {
        match (fragment.state, self.interruption(fragment)) {
            (_, None) => Vec::new(),
            (State::Off(Off::Lock { .. }), _) => {
                let verdicts = self.verdicts(fragment).into_iter();
                verdicts.map(|(from_ns, to_ns, verdict)| (verdict.cause, to_ns - from_ns)).collect()
            }
            (_, Some(cause)) => vec![(cause, fragment.to_ns - fragment.from_ns)],
        }
    }

    /// Returns the name of the thread that ended this by waking the task.
    fn let_go_by(&self, fragment: &Fragment) -> Option<NameId> {
        // A lock that it spins for is let go without a wake-up.
        let (_, end_ns, _) = self.thread.state.over(fragment.from_ns, i64::MAX).next()?;
        self.thread.next_wake(fragment.to_ns).filter(|wake| wake.t_ns <= end_ns)?;
        match self.thread.end_of_wait(fragment.to_ns)?.by {
            Waker::Thread(_, who) => who,
            Waker::Timer(_) | Waker::OtherTimer(_) | Waker::Handler(_) => None,
        }
    }
}
