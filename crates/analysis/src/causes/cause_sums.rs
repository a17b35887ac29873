//! Parts of latencies added up by cause, and the worst activations kept whole: in bounded memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jitterlab_model::Activation;
use jitterlab_model::causes::{
    Cause, CauseClass, CauseSum, Certainty, Evidence, ExecutionSpan, InterruptionSum, LateStart, LatencyPart,
    Misses, QuotaCount, SparseHistogram, Step, TaskCauses,
};

use super::event::{NameId, NameTable};
use super::fragment_cause::{CauseId, FragmentCause};
use super::paths::{PathStepId, Paths};
use super::typical_steps::TypicalSteps;
use super::why::is_unusual;
use crate::predict::TAIL_SIZE;
use crate::scan::Peaks;

/// Activations kept with the parts of their latency.
pub(super) const MAX_WORST: usize = 1_024;
/// Of these, activations kept with the spans around them.
pub(super) const MAX_WITH_SPANS: usize = 128;
/// Parts of a latency kept one by one, the longest.
const PARTS: usize = 256;
/// Causes counted separately; further ones are counted by class.
pub(super) const CAUSES: usize = 96;
/// Functions kept apart for each cause.
const FUNCTIONS: usize = 16;
/// Fewest latencies of a cause from which its tail can be judged.
const LEAST_LARGEST: usize = 301;
/// Name given to causes counted together.
pub(super) const OTHERS: &str = "others";

/// A fragment of a latency with its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentWithCause {
    pub at_ns: i64,
    pub ns: i64,
    pub verdict: FragmentCause,
}

/// An activation whose latency is split into fragments.
#[derive(Debug, Clone)]
pub struct SplitActivation {
    pub activation: Activation,
    pub fragments: Vec<FragmentWithCause>,
    pub path: Vec<PathStepId>,
    pub interruptions: Vec<(CauseId, i64)>,
    /// Spans around it, if they are kept.
    pub spans: Vec<(ExecutionSpan, NameId)>,
}

impl SplitActivation {
    /// Returns the length of each step of the usual way in ns.
    fn steps(&self) -> [i64; Step::ALL.len()] {
        let mut lengths = [0; Step::ALL.len()];
        for fragment in &self.fragments {
            if let Some(step) = fragment.verdict.step {
                lengths[step as usize] += fragment.ns;
            }
        }
        lengths
    }
}

/// Interruptions of work, by cause.
#[derive(Debug, Default)]
struct Interruptions(BTreeMap<(CauseClass, Option<NameId>), (InterruptionSum, SparseHistogram)>);

impl Interruptions {
    /// Counts an interruption; of too many causes as one of `others`.
    fn count(&mut self, named: CauseId, ns: i64, others: NameId, names: &NameTable) {
        let mut key = (named.class, named.who);
        if self.0.len() >= CAUSES && !self.0.contains_key(&key) {
            key = (named.class, Some(others));
        }
        let (class, who) = key;
        let (sum, lengths) = self.0.entry(key).or_insert_with(|| {
            let cause = cause(CauseId { class, who }, names);
            (
                InterruptionSum { cause, times: 0, sum_ns: 0, max_ns: 0, p99_ns: None },
                SparseHistogram::default(),
            )
        });
        lengths.record(ns);
        sum.times += 1;
        sum.sum_ns = sum.sum_ns.saturating_add(ns);
        sum.max_ns = sum.max_ns.max(ns);
    }

    fn sums(&self) -> Vec<InterruptionSum> {
        let p99_ns = |lengths: &SparseHistogram, max_ns| lengths.quantile_ns(0.99).map(|ns| ns.min(max_ns));
        let sum = |(sum, lengths): &(InterruptionSum, SparseHistogram)| InterruptionSum {
            p99_ns: p99_ns(lengths, sum.max_ns),
            ..sum.clone()
        };
        self.0.values().map(sum).collect()
    }
}

/// Order of the worst activations: by latency; of equal latencies, the earlier activation is the larger.
type LatenessRank = (i64, Reverse<u64>);

/// Causes of one task so far.
#[derive(Debug, Default)]
pub struct TaskCauseSums {
    typical: TypicalSteps,
    /// Activations taken before the usual way was known.
    early: Vec<SplitActivation>,
    explained: u64,
    gaps: u64,
    lateness_ns: i64,
    latencies: SparseHistogram,
    max_ns: i64,
    sums: Vec<(CauseId, CauseSum)>,
    numbers: HashMap<CauseId, usize>,
    /// Time each cause was found in kernel functions, in ns.
    functions: Vec<BTreeMap<NameId, i64>>,
    /// The largest latencies of which each cause was the longest part.
    largest: Vec<Peaks>,
    interruptions: Interruptions,
    /// Activations whose work went on until due times were missed; the work is below.
    misses: Misses,
    missing_work: Interruptions,
    worst_starts: BTreeMap<LatenessRank, LateStart>,
    spans: BTreeMap<LatenessRank, Vec<(ExecutionSpan, NameId)>>,
    others: Option<NameId>,
    quota: Option<QuotaCount>,
    paths: Paths,
}

impl TaskCauseSums {
    /// True if an activation of this latency would be kept with the spans around it.
    pub fn wants_spans(&self, latency_ns: i64) -> bool {
        latency_ns > 0
            && (self.spans.len() < MAX_WITH_SPANS
                || self.spans.first_key_value().is_some_and(|(k, _)| latency_ns > k.0))
    }

    /// Counts an activation.
    pub fn push(&mut self, draft: SplitActivation, names: &mut NameTable) {
        let known = self.typical.is_known();
        self.typical.count(&draft.steps());
        if known {
            self.settle(&draft, names);
            return;
        }
        self.early.push(draft);
        if self.typical.is_known() {
            self.settle_early(names);
        }
    }

    fn settle_early(&mut self, names: &mut NameTable) {
        for draft in std::mem::take(&mut self.early) {
            self.settle(&draft, names);
        }
    }

    /// Subtracts the usual way and counts the rest by cause.
    fn settle(&mut self, draft: &SplitActivation, names: &mut NameTable) {
        let SplitActivation { activation, interruptions, spans, .. } = draft;
        let latency_ns = activation.latency_ns();
        self.explained += 1;
        self.lateness_ns = self.lateness_ns.saturating_add(latency_ns.max(0));
        self.latencies.record(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        if latency_ns > 0 {
            self.paths.count(&draft.path, latency_ns);
        }
        let others = self.others(names);
        for (cause, ns) in interruptions {
            self.interruptions.count(*cause, *ns, others, names);
        }
        if activation.missed > 0 {
            self.count_misses(draft, others, names);
        }
        let parts = self.parts(draft, names);
        self.count(&parts, latency_ns);
        if let Some(cause) = self.main_cause(&parts) {
            self.largest[cause].push(activation.index, latency_ns);
        }
        if parts.iter().any(|part| self.sums[part.cause].0.class == CauseClass::Lost) {
            self.gaps += 1;
        }
        let Activation { index, due_ns, cpu, .. } = *activation;
        let key = (latency_ns, Reverse(index));
        if !spans.is_empty() {
            self.spans.insert(key, spans.clone());
            if self.spans.len() > MAX_WITH_SPANS {
                self.spans.pop_first();
            }
        }
        let enters = self.worst_starts.len() < MAX_WORST
            || self.worst_starts.first_key_value().is_some_and(|(k, _)| key > *k);
        if latency_ns > 0 && enters {
            let parts = self.longest(parts, names);
            self.worst_starts
                .insert(key, LateStart { index, due_ns, latency_ns, cpu, parts, spans: Vec::new() });
            if self.worst_starts.len() > MAX_WORST {
                self.worst_starts.pop_first();
            }
        }
    }

    /// Returns the parts of a latency: the usual part of each step, and its causes. Neighbours of one cause are joined.
    fn parts(&mut self, draft: &SplitActivation, names: &mut NameTable) -> Vec<LatencyPart> {
        let mut left = draft.steps();
        for (step, ns) in Step::ALL.into_iter().zip(&mut left) {
            *ns = self.typical.of(step, *ns);
        }
        let mut parts: Vec<LatencyPart> = Vec::new();
        let mut add = |this: &mut Self, at_ns: i64, ns: i64, verdict: &FragmentCause| {
            if ns <= 0 {
                return;
            }
            let cause = this.number(verdict.cause, names);
            let function = verdict.function.map(|name| name.0 as usize);
            this.count_function(cause, verdict.function, ns);
            match parts.last_mut() {
                Some(last)
                    if (last.cause, last.evidence, last.function) == (cause, verdict.evidence, function) =>
                {
                    last.ns += ns;
                }
                _ => parts.push(LatencyPart { cause, at_ns, ns, evidence: verdict.evidence, function }),
            }
        };
        let usual = FragmentCause {
            step: None,
            cause: CauseClass::TypicalWakeUp.into(),
            evidence: Evidence::Events,
            function: None,
        };
        for FragmentWithCause { at_ns, ns, verdict } in &draft.fragments {
            let usual = match verdict.step {
                Some(Step::StackRecording) => FragmentCause { cause: CauseClass::Tracer.into(), ..usual },
                _ => usual,
            };
            let usual_ns = verdict.step.map_or(0, |step| left[step as usize].min(*ns));
            if let Some(step) = verdict.step {
                left[step as usize] -= usual_ns;
            }
            add(self, *at_ns, usual_ns, &usual);
            add(self, at_ns + usual_ns, ns - usual_ns, verdict);
        }
        parts
    }

    /// Returns as many parts as are kept: the longest ones, with all between two of them joined.
    fn longest(&mut self, parts: Vec<LatencyPart>, names: &mut NameTable) -> Vec<LatencyPart> {
        if parts.len() <= PARTS {
            return parts;
        }
        // One more part may lie between two that are kept.
        let mut lengths: Vec<i64> = parts.iter().map(|part| part.ns).collect();
        let (_, least_ns, _) = lengths.select_nth_unstable_by(PARTS / 2 - 1, |a, b| b.cmp(a));
        let least_ns = *least_ns;
        let mixed = self.number(CauseClass::Mixed.into(), names);
        let mut kept: Vec<LatencyPart> = Vec::new();
        for part in parts {
            match kept.last_mut() {
                _ if part.ns > least_ns => kept.push(part),
                Some(last) if last.cause == mixed => last.ns += part.ns,
                _ => {
                    kept.push(LatencyPart { cause: mixed, evidence: Evidence::None, function: None, ..part });
                }
            }
        }
        kept
    }

    /// Adds the throttling by a CPU quota.
    pub fn count_quota(&mut self, more: QuotaCount) {
        let sum = self.quota.get_or_insert_default();
        sum.periods += more.periods;
        sum.throttled += more.throttled;
        sum.ns = sum.ns.saturating_add(more.ns);
    }

    fn count(&mut self, parts: &[LatencyPart], latency_ns: i64) {
        let mut of_cause: BTreeMap<usize, [i64; 3]> = BTreeMap::new();
        for part in parts {
            let [sum, proven, likely] = of_cause.entry(part.cause).or_default();
            *sum += part.ns;
            match part.evidence.certainty() {
                Certainty::Proven => *proven += part.ns,
                Certainty::Likely => *likely += part.ns,
                Certainty::Undecided => {}
            }
        }
        for (cause, [sum, proven, likely]) in of_cause {
            self.sums[cause].1.add_activation(latency_ns, sum, proven, likely);
        }
    }

    /// Returns the cause of the longest part beyond the usual way, or of the first part if there is none.
    fn main_cause(&self, parts: &[LatencyPart]) -> Option<usize> {
        let unusual = |part: &&LatencyPart| is_unusual(self.sums[part.cause].0.class);
        let longest = parts.iter().filter(unusual).max_by_key(|part| part.ns);
        longest.or(parts.first()).map(|part| part.cause)
    }

    fn count_function(&mut self, cause: usize, function: Option<NameId>, ns: i64) {
        let (Some(function), Some(sums)) = (function, self.functions.get_mut(cause)) else { return };
        if sums.len() < FUNCTIONS || sums.contains_key(&function) {
            *sums.entry(function).or_default() += ns;
        }
    }

    /// Returns the number of a cause: a known one, a new one, or that of its class if there are too many.
    fn number(&mut self, named: CauseId, names: &mut NameTable) -> usize {
        if let Some(number) = self.numbers.get(&named) {
            return *number;
        }
        let rare = CauseId { who: Some(self.others(names)), ..named };
        let named = if self.sums.len() < CAUSES { named } else { rare };
        if let Some(number) = self.numbers.get(&named) {
            return *number;
        }
        let number = self.sums.len();
        self.sums.push((named, CauseSum::new(cause(named, names))));
        self.functions.push(BTreeMap::new());
        self.largest.push(Peaks::new(TAIL_SIZE));
        self.numbers.insert(named, number);
        number
    }

    fn others(&mut self, names: &mut NameTable) -> NameId {
        *self.others.get_or_insert_with(|| names.number(OTHERS))
    }

    fn count_misses(&mut self, draft: &SplitActivation, others: NameId, names: &NameTable) {
        let SplitActivation { activation, interruptions, .. } = draft;
        self.misses.activations += 1;
        self.misses.due_times += u64::from(activation.missed);
        self.misses.late_ns = self.misses.late_ns.saturating_add(activation.latency_ns().max(0));
        let interrupted_ns: i64 = interruptions.iter().map(|(_, ns)| ns).sum();
        let own = (CauseClass::OwnWork.into(), (activation.execution_ns() - interrupted_ns).max(0));
        for (cause, ns) in interruptions.iter().chain([&own]) {
            self.missing_work.count(*cause, *ns, others, names);
        }
    }

    /// All of it since the last piece, once the usual way is known.
    pub fn take(&mut self, names: &mut NameTable) -> TaskCauses {
        if !self.early.is_empty() {
            return TaskCauses::default();
        }
        let causes = self.causes(names);
        let typical = std::mem::take(&mut self.typical);
        *self = TaskCauseSums { typical, others: self.others, ..TaskCauseSums::default() };
        causes
    }

    /// Returns all causes so far.
    pub fn causes(&mut self, names: &mut NameTable) -> TaskCauses {
        if !self.early.is_empty() {
            self.typical.learn();
            self.settle_early(names);
        }
        let sums = self.sums.iter().zip(&self.functions).zip(&self.largest);
        let sums = sums.map(|(((_, sum), functions), largest)| {
            let named = functions.iter().map(|(name, ns)| (names.name(*name).to_owned(), *ns));
            let mut largest: Vec<(u64, i64)> =
                largest.largest().iter().map(|peak| (peak.index, peak.latency_ns)).collect();
            if largest.len() < LEAST_LARGEST {
                largest.clear();
            }
            CauseSum { functions: named.collect(), largest, ..sum.clone() }
        });
        let mut causes = TaskCauses {
            explained: self.explained,
            gaps: self.gaps,
            lateness_ns: self.lateness_ns,
            latencies: self.latencies.clone(),
            max_ns: self.max_ns,
            typical_steps: self.typical.steps(),
            causes: sums.collect(),
            interruptions: self.interruptions.sums(),
            misses: Misses { work: self.missing_work.sums(), ..self.misses.clone() },
            worst_starts: Vec::new(),
            left_out: 0,
            quota: self.quota,
            paths: self.paths.named(names),
            names: Vec::new(),
        };
        let mut numbers: HashMap<NameId, usize> = HashMap::new();
        let mut number = |name: NameId| {
            *numbers.entry(name).or_insert_with(|| {
                causes.names.push(names.name(name).into());
                causes.names.len() - 1
            })
        };
        for (key, late) in self.worst_starts.iter().rev() {
            let mut late = late.clone();
            for part in &mut late.parts {
                part.function = part.function.map(|function| number(NameId(function as u32)));
            }
            let spans = self.spans.get(key).into_iter().flatten();
            late.spans.extend(spans.map(|(span, name)| ExecutionSpan { name: number(*name), ..*span }));
            causes.worst_starts.push(late);
        }
        causes
    }
}

fn cause(named: CauseId, names: &NameTable) -> Cause {
    let who = named.who.map(|name| names.name(name).to_owned()).filter(|name| !name.is_empty());
    Cause { class: named.class, who }
}
