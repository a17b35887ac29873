//! Verdicts on a task that seems to work: events alone show that it had the processor without a break.

use jitterlab_model::causes::{CauseClass as Class, Evidence};

use super::fragment_cause::{FragmentCause, FragmentContext, cause_of_whole};
use super::fragments::Fragment;
use super::machine::Platform;
use super::processor::Processor;
use super::silence::{Silence, TickEvidence};

/// Activations from which the usual length of the work is known.
const LEAST_WORK: u64 = 16;
/// Multiples of the median length of the work up to which a silence is taken for work.
const MOST_USUAL: i64 = 4;

impl FragmentContext<'_> {
    /// Returns the cause of a fragment in which the task had not begun to wait.
    pub(super) fn cause_while_working(&self, fragment: &Fragment) -> FragmentCause {
        let Some((silence, ticks, stolen_ns)) = self.silence(fragment) else {
            return cause_of_whole(Class::OwnWork, Evidence::Events);
        };
        let usual_ns = (self.work.count() >= LEAST_WORK).then(|| self.work.quantile_ns(0.5)).flatten();
        let silent_ns = silence.to_ns - silence.from_ns - stolen_ns;
        let is_long = usual_ns.is_some_and(|usual_ns| silent_ns > MOST_USUAL.saturating_mul(usual_ns));
        match (ticks, self.machine.platform) {
            (TickEvidence::Late, _) => cause_of_whole(Class::WorkOrOutside, Evidence::LateTick),
            (TickEvidence::InTime, _) => cause_of_whole(Class::OwnWork, Evidence::Events),
            (_, Platform::Hardware) if is_long => cause_of_whole(Class::OwnWork, Evidence::EventsOrOutside),
            _ if is_long => cause_of_whole(Class::WorkOrOutside, Evidence::Silence),
            (TickEvidence::NotDue, _) => cause_of_whole(Class::OwnWork, Evidence::Events),
            (TickEvidence::Unseen, _) => cause_of_whole(Class::OwnWork, Evidence::EventsOrOutside),
        }
    }

    /// True if no event came on the task's processor since `t_ns`. A fault of a huge page is long, without a visible
    /// end.
    pub(super) fn is_silent_since(&self, t_ns: i64, fragment: &Fragment) -> bool {
        self.silence(fragment).is_some_and(|(silence, ..)| silence.from_ns <= t_ns)
    }

    /// True if a tick due in the silence around a fragment came only at its end: something outside may have had a part.
    pub(super) fn has_late_tick(&self, fragment: &Fragment) -> bool {
        self.silence(fragment).is_some_and(|(_, ticks, _)| ticks == TickEvidence::Late)
    }

    /// Returns the silence around a fragment, its tick evidence and the stolen ns in it; `None` if there was none.
    fn silence(&self, fragment: &Fragment) -> Option<(Silence, TickEvidence, i64)> {
        let on = self.processors.get(&fragment.cpu)?;
        let silence = *on.silences.at(fragment.from_ns)?;
        let stolen_ns = stolen_ns_in(on, &silence);
        Some((silence, on.silences.tick_evidence(&silence, stolen_ns), stolen_ns))
    }
}

fn stolen_ns_in(on: &Processor, silence: &Silence) -> i64 {
    let most = |from_ns: i64, to_ns: i64| to_ns.min(silence.to_ns) - from_ns.max(silence.from_ns);
    let first = on.stolen.partition_point(|stolen| stolen.to_ns <= silence.from_ns);
    let within = on.stolen.range(first..).take_while(|stolen| stolen.from_ns < silence.to_ns);
    within.map(|stolen| stolen.ns.min(most(stolen.from_ns, stolen.to_ns))).sum()
}
