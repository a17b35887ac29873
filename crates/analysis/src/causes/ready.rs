//! Verdicts on a task that is ready to run: another has its processor, or the kernel holds it off.

use jitterlab_model::causes::{CauseClass as Class, Evidence, Step};

use super::fragment_cause::{
    CauseId, FragmentCause, FragmentContext, InterruptedCode, cause_of_excess, cause_of_whole,
};
use super::fragments::Fragment;
use super::machine::{Limits, Platform};
use super::periods::Limit;
use super::processor::{ORDINARY_PRIORITY, ObservedThread};
use super::thread::{State, WakeUp};

/// Longest time from the end of a limit's period until the scheduler lets threads run.
const RESUMES_WITHIN_NS: i64 = 60_000;
/// Longest time from the end of a quota's period, behind threads that waited longer.
const QUOTA_RESUMES_WITHIN_NS: i64 = 1_000_000;

impl FragmentContext<'_> {
    /// Returns the cause of a fragment in which the task was ready and a thread had its processor.
    pub(super) fn cause_while_ready(&self, fragment: &Fragment, thread: ObservedThread) -> FragmentCause {
        let verdict = self.cause_while_ready_at_begin(fragment, thread);
        // Its own priority was changed meanwhile, and no event shows when.
        let runs_again_ns = self.runs_again_ns(fragment).unwrap_or(fragment.to_ns);
        match self.thread.priority_at(runs_again_ns) == self.thread.priority_at(fragment.from_ns) {
            true => verdict,
            false => FragmentCause { evidence: Evidence::None, ..verdict },
        }
    }

    /// Returns the time in ns at which the task has the processor again.
    fn runs_again_ns(&self, fragment: &Fragment) -> Option<i64> {
        let runs_again = |(from, _, state)| matches!(state, State::Running(_)).then_some(from);
        self.thread.state.segments(fragment.to_ns, i64::MAX).find_map(runs_again)
    }

    /// Returns that cause by the priorities at the beginning of the fragment.
    fn cause_while_ready_at_begin(&self, fragment: &Fragment, thread: ObservedThread) -> FragmentCause {
        let who = thread.name;
        let own = self.thread.priority_at(fragment.from_ns);
        let named = |class| CauseId { class, who };
        let on = self.processor(fragment.cpu);
        // The wake-up that made it ready, if there was one.
        let has_run = |wake: &WakeUp| {
            self.thread
                .state
                .segments(wake.t_ns, fragment.from_ns)
                .any(|(.., state)| matches!(state, State::Running(_)))
        };
        let wake = self.thread.last_wake(i64::MIN, fragment.from_ns).filter(|wake| !has_run(wake));
        // A program goes on only if it is as urgent as the task, or the task is held off.
        let runs_on =
            wake.zip(on).is_some_and(|(wake, on)| on.interrupted_user_code(wake.t_ns, fragment.from_ns));
        if thread.pid != self.thread.pid
            && let Some(limited) = self.cause_of_hold_off(fragment, thread, wake, runs_on)
        {
            return limited;
        }
        if thread.pid == 0 || thread.pid == self.thread.pid {
            let moved = self.previous_cpu.is_some_and(|before| before != fragment.cpu);
            let class = if moved { Class::Migration } else { Class::Idle };
            return cause_of_excess(
                Step::Switch,
                class,
                if moved { Evidence::Events } else { Evidence::WasIdle },
            );
        }
        let shared = match self.is_under_quota(own) {
            // The quota's part of this time is unknown.
            true if self.used_up_quota(self.ready_since_ns(fragment, wake), fragment.to_ns) => Evidence::None,
            true => Evidence::UpTo,
            false => Evidence::Events,
        };
        match thread.priority {
            Some(priority) if priority < own.min(ORDINARY_PRIORITY) => {
                return cause_of_whole(named(Class::Preempted), Evidence::Events);
            }
            Some(priority) if priority == own || own >= ORDINARY_PRIORITY => {
                return cause_of_whole(named(Class::Shared), shared);
            }
            _ => {}
        }
        match on.and_then(|on| on.priority_at_end(fragment.from_ns)) {
            Some(priority) if priority < own => {
                return cause_of_whole(named(Class::Preempted), Evidence::PriorityAtEnd);
            }
            Some(priority) if priority == own => {
                return cause_of_whole(named(Class::Shared), Evidence::PriorityAtEnd);
            }
            _ => {}
        }
        if runs_on {
            return cause_of_whole(named(Class::Preempted), Evidence::None);
        }
        let found = wake.zip(on).and_then(|(wake, on)| on.interrupted_at(wake.t_ns));
        let in_kernel = match self.machine.platform {
            Platform::StealTimeHypervisor | Platform::VirtualTime { .. } => Evidence::KernelMode,
            Platform::Hardware | Platform::Hypervisor => Evidence::KernelModeOrOutside,
        };
        match found.map(|frames| self.interrupted_code(frames)) {
            Some(InterruptedCode::User) if !matches!(self.machine.platform, Platform::VirtualTime { .. }) => {
                cause_of_excess(Step::Switch, Class::Outside, Evidence::UserMode)
            }
            Some(InterruptedCode::LetsIn(function) | InterruptedCode::Kernel(function)) => FragmentCause {
                function,
                ..cause_of_excess(Step::Switch, named(Class::NotPreemptible), in_kernel)
            },
            // If nothing is outside the kernel, the kernel was on its way to the switch.
            Some(InterruptedCode::User) | None => {
                cause_of_excess(Step::Switch, named(Class::NotPreemptible), Evidence::None)
            }
        }
    }

    /// Returns the time in ns of the wake-up that made the task ready, or of the loss of its processor.
    fn ready_since_ns(&self, fragment: &Fragment, wake: Option<&WakeUp>) -> i64 {
        wake.map_or_else(|| self.thread.state.segment_begin(fragment.from_ns), |wake| wake.t_ns)
    }

    fn is_under_quota(&self, priority: i16) -> bool {
        self.thread.quota.is_set && priority >= ORDINARY_PRIORITY
    }

    /// True if the quota was used up about this time: its counter is read now and then.
    fn used_up_quota(&self, from_ns: i64, to_ns: i64) -> bool {
        self.thread.quota.used_up.iter().any(|(from, to)| *from < to_ns && *to > from_ns)
    }

    /// Returns the limit by which the kernel held the task off although it was ready; `None` if no limit did.
    fn cause_of_hold_off(
        &self,
        fragment: &Fragment,
        thread: ObservedThread,
        wake: Option<&WakeUp>,
        runs_on: bool,
    ) -> Option<FragmentCause> {
        let on = self.processor(fragment.cpu)?;
        let own = self.thread.priority_at(fragment.from_ns);
        let since_ns = self.ready_since_ns(fragment, wake);
        let runs_again_ns = self.runs_again_ns(fragment);
        // The thread had the processor when the task became ready, or got it since.
        let got = wake.is_none() || on.thread_span_at(fragment.from_ns).0 > since_ns;
        if self.is_under_quota(own) {
            let counted = self.used_up_quota(since_ns, fragment.to_ns);
            let ended = runs_again_ns.is_some_and(|t| {
                t - since_ns >= QUOTA_RESUMES_WITHIN_NS * 10
                    || self.periods.has_ended(Limit::Quota, QUOTA_RESUMES_WITHIN_NS, t)
            });
            let idles = thread.pid == 0 && got;
            let evidence = if idles { Evidence::Events } else { Evidence::Counted };
            return (counted && ended).then(|| cause_of_whole(Class::Quota, evidence));
        }
        let is_of_deadline = thread.priority.is_some_and(|priority| priority < 0);
        // It got its budget behind the beginning of the fragment.
        let waits_for_budget =
            |t: i64| self.periods.has_ended(Limit::Budget, RESUMES_WITHIN_NS.min(t - fragment.from_ns), t);
        if own < 0 && !is_of_deadline && runs_again_ns.is_some_and(waits_for_budget) {
            return Some(cause_of_whole(Class::Budget, Evidence::Events));
        }
        let is_less =
            thread.pid == 0 || thread.priority.is_some_and(|priority| priority >= ORDINARY_PRIORITY);
        if !(0..ORDINARY_PRIORITY).contains(&own) || !is_less {
            return None;
        }
        let held = on.hold_off_at(fragment.from_ns);
        let by_server = held.is_some_and(|held| held.by_server);
        let ended = held.map(|held| held.to_ns).filter(|t| *t != i64::MAX).or(runs_again_ns);
        let by_limit = ended.is_some_and(|t| self.periods.has_ended(Limit::RealTime, RESUMES_WITHIN_NS, t));
        if held.is_none() && !got && !(runs_on && by_limit) {
            return None;
        }
        let (class, evidence) = match self.machine.limits {
            _ if by_server => (Class::FairServer, Evidence::Events),
            _ if by_limit => (Class::Throttled, Evidence::Events),
            Limits::Bandwidth => (Class::Throttled, Evidence::Events),
            Limits::FairServer => (Class::FairServer, Evidence::Events),
            Limits::Either => (Class::Throttled, Evidence::None),
        };
        Some(cause_of_whole(class, evidence))
    }
}
