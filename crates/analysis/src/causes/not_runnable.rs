//! Verdicts on a task that cannot run: stopped, frozen, out of budget, waiting for a lock. Its own state
//! decides, regardless of its processor's occupant.

use jitterlab_model::causes::{CauseClass as Class, Evidence};

use super::event::NameId;
use super::fragment_cause::{CauseId, FragmentCause, FragmentContext, cause_of_whole};
use super::fragments::Fragment;
use super::inversion;
use super::thread::{OffReason, State, ThreadAction, Waker, last_action};

impl FragmentContext<'_> {
    /// Returns the cause that keeps a task from running; `None` if it waits for a time or for others.
    pub(super) fn cause_of_off_state(&self, off: OffReason, fragment: &Fragment) -> Option<FragmentCause> {
        let thread = self.thread;
        let of = |class, who| Some(cause_of_whole(CauseId { class, who }, Evidence::Events));
        let by = |action: Option<&ThreadAction>| action.and_then(|action| action.who);
        match off {
            OffReason::Stopped => of(Class::Stopped, by(last_action(&thread.stops, fragment.from_ns))),
            OffReason::Traced => of(Class::Traced, by(last_action(&thread.tracers, fragment.from_ns))),
            OffReason::Lock { inherits: true } => {
                let begun_ns = thread.state.segment_begin(fragment.from_ns);
                let lent =
                    last_action(&thread.holders, fragment.from_ns).filter(|action| action.t_ns >= begun_ns);
                of(Class::LockInheriting, by(lent).or_else(|| self.waking_thread(fragment)))
            }
            OffReason::Lock { inherits: false } => Some(cause_of_whole(
                CauseId { class: Class::Lock, who: self.waking_thread(fragment) },
                Evidence::LockValue,
            )),
            OffReason::Fault => of(Class::PageFault, None),
            OffReason::Budget => of(Class::Budget, None),
            OffReason::Sleeps | OffReason::SleepsDeeply | OffReason::Frozen => {
                let group = thread.frozen.segments(fragment.from_ns, fragment.to_ns).next();
                match group.and_then(|(.., by)| by) {
                    Some(by) => of(Class::Frozen, by),
                    None if off == OffReason::Frozen => of(Class::Frozen, self.waking_thread(fragment)),
                    None => None,
                }
            }
        }
    }

    /// Returns the cause of a wait that `who` ended. That of an uninterruptible wait is known only with its system call,
    /// and without a name the wake-up may be a timer's, on a processor that is not recorded.
    pub(super) fn cause_of_block(&self, fragment: &Fragment, who: Option<NameId>) -> FragmentCause {
        let is_deep = fragment.state == State::Off(OffReason::SleepsDeeply);
        let evidence = if is_deep || who.is_none() { Evidence::None } else { Evidence::Events };
        cause_of_whole(CauseId { class: Class::Blocked, who }, evidence)
    }

    /// Returns a fragment with its cause; a wait for a lock is split where others kept the holder from releasing it.
    pub fn split_by_cause(&self, fragment: &Fragment) -> Vec<(i64, i64, FragmentCause)> {
        let judged = |from_ns, to_ns, verdict| (from_ns, to_ns, verdict);
        let ends = self.thread.wake_ending_wait(fragment.to_ns).map(|wake| wake.by);
        if let (State::Off(OffReason::Lock { inherits: false }), Some(Waker::Thread(holder, _))) =
            (fragment.state, ends)
        {
            let verdict = self.cause_of(fragment);
            let until_ns =
                self.thread.wake_ending_wait(fragment.to_ns).map_or(fragment.to_ns, |wake| wake.t_ns);
            let waits = inversion::split_by_holder(
                self.processors,
                holder,
                until_ns,
                (fragment.from_ns, fragment.to_ns),
            );
            return waits
                .into_iter()
                .map(|wait| match wait.preemptor {
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
        vec![judged(fragment.from_ns, fragment.to_ns, self.cause_of(fragment))]
    }

    /// Returns the causes that took the processor from the task in this fragment of its work, with their times in ns.
    pub fn interruptions(&self, fragment: &Fragment) -> Vec<(CauseId, i64)> {
        match (fragment.state, self.interrupting_cause(fragment)) {
            (_, None) => Vec::new(),
            (State::Off(OffReason::Lock { .. }), _) => {
                let split_by_cause = self.split_by_cause(fragment).into_iter();
                split_by_cause.map(|(from_ns, to_ns, verdict)| (verdict.cause, to_ns - from_ns)).collect()
            }
            (_, Some(cause)) => vec![(cause, fragment.to_ns - fragment.from_ns)],
        }
    }

    /// Returns the name of the thread that ended a fragment by waking the task; `None` if unknown or no thread.
    fn waking_thread(&self, fragment: &Fragment) -> Option<NameId> {
        // A lock that it spins for is let go without a wake-up.
        let (_, end_ns, _) = self.thread.state.segments(fragment.from_ns, i64::MAX).next()?;
        self.thread.next_wake(fragment.to_ns).filter(|wake| wake.t_ns <= end_ns)?;
        match self.thread.wake_ending_wait(fragment.to_ns)?.by {
            Waker::Thread(_, who) => who,
            Waker::Timer(_) | Waker::OtherTimer(_) | Waker::Handler(_) => None,
        }
    }
}
