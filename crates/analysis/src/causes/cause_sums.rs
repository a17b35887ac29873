//! Sums of the parts of latencies by cause, and the activations with the largest latency, in bounded memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jitterlab_model::Activation;
use jitterlab_model::causes::{
    CauseClass, CauseSum, Certainty, Evidence, ExecutionSpan, InterruptionSum, LateStart, LatencyPart,
    Misses, QuotaCount, SparseHistogram, Step, TaskCauses,
};

use super::event::{NameId, NameTable};
use super::fragment_cause::{CauseId, FragmentCause, cause_of_whole};
use super::paths::{PathStepId, Paths};
use super::typical_steps::TypicalSteps;
use super::why::is_unusual;
use crate::predict::TAIL_SIZE;
use crate::scan::Peaks;

/// Activations kept with the parts of their latency.
pub(super) const MAX_WORST: usize = 1_024;
/// Activations kept with the execution around them, too.
pub(super) const MAX_WITH_SPANS: usize = 128;
/// Parts of a latency kept one by one, the longest.
const MAX_PARTS: usize = 256;
/// Causes counted separately; further ones are counted by class.
pub(super) const MAX_CAUSES: usize = 96;
/// Functions kept apart for each cause.
const MAX_FUNCTIONS: usize = 16;
/// Fewest latencies of a cause from which its tail can be judged.
const MIN_TAIL: usize = 301;
/// Name given to causes counted together.
pub(super) const OTHERS_NAME: &str = "others";

/// Fragment of a latency, with its begin after the due time and its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentWithCause {
    pub at_ns: i64,
    pub ns: i64,
    pub cause: FragmentCause,
}

/// Activation whose latency is split into fragments.
#[derive(Debug, Clone)]
pub struct SplitActivation {
    pub activation: Activation,
    pub fragments: Vec<FragmentWithCause>,
    pub path: Vec<PathStepId>,
    pub interruptions: Vec<(CauseId, i64)>,
    /// Execution around it, if that is kept.
    pub spans: Vec<(ExecutionSpan, NameId)>,
}

impl SplitActivation {
    /// Returns the length of each step of the wake-up in ns.
    fn step_lengths_ns(&self) -> [i64; Step::ALL.len()] {
        let mut lengths = [0; Step::ALL.len()];
        for fragment in &self.fragments {
            if let Some(step) = fragment.cause.step {
                lengths[step as usize] += fragment.ns;
            }
        }
        lengths
    }
}

/// Interruptions of work added up by cause, with the histogram of their lengths.
#[derive(Debug, Default)]
struct Interruptions(BTreeMap<CauseId, (InterruptionSum, SparseHistogram)>);

impl Interruptions {
    /// Adds an interruption of this length; of too many causes, under the name `others_name`.
    fn add(&mut self, cause: CauseId, ns: i64, others_name: NameId, names: &NameTable) {
        let mut cause = cause;
        if self.0.len() >= MAX_CAUSES && !self.0.contains_key(&cause) {
            cause.who = Some(others_name);
        }
        let (sum, lengths) = self.0.entry(cause).or_insert_with(|| {
            let cause = cause.to_cause(names);
            let sum = InterruptionSum { cause, times: 0, sum_ns: 0, max_ns: 0, p99_ns: None };
            (sum, SparseHistogram::default())
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

/// Rank among the worst activations: by latency; of equal latencies, the earlier activation is the larger.
type LatenessRank = (i64, Reverse<u64>);

/// Causes of one task's latencies, added up so far.
#[derive(Debug, Default)]
pub struct TaskCauseSums {
    typical: TypicalSteps,
    /// Activations that came before the typical steps were known.
    unattributed: Vec<SplitActivation>,
    explained: u64,
    gaps: u64,
    lateness_ns: i64,
    latencies: SparseHistogram,
    max_ns: i64,
    sums: Vec<(CauseId, CauseSum)>,
    indices: HashMap<CauseId, usize>,
    /// For each cause, time in ns by the kernel function that it was found in.
    functions: Vec<BTreeMap<NameId, i64>>,
    /// For each cause, the largest latencies of which it was the longest part.
    largest: Vec<Peaks>,
    interruptions: Interruptions,
    /// Activations whose work went on until due times were missed, and that work.
    misses: Misses,
    missing_work: Interruptions,
    worst_starts: BTreeMap<LatenessRank, LateStart>,
    spans: BTreeMap<LatenessRank, Vec<(ExecutionSpan, NameId)>>,
    others: Option<NameId>,
    quota: Option<QuotaCount>,
    paths: Paths,
}

impl TaskCauseSums {
    /// True if an activation of this latency would be kept with the execution around it.
    pub fn wants_spans(&self, latency_ns: i64) -> bool {
        latency_ns > 0
            && (self.spans.len() < MAX_WITH_SPANS
                || self.spans.first_key_value().is_some_and(|(k, _)| latency_ns > k.0))
    }

    /// Adds an activation; its latency is attributed to causes once the typical steps are known.
    pub fn add(&mut self, split: SplitActivation, names: &mut NameTable) {
        let known = self.typical.is_known();
        self.typical.add_lengths(&split.step_lengths_ns());
        if known {
            self.attribute(&split, names);
            return;
        }
        self.unattributed.push(split);
        if self.typical.is_known() {
            self.attribute_pending(names);
        }
    }

    fn attribute_pending(&mut self, names: &mut NameTable) {
        for split in std::mem::take(&mut self.unattributed) {
            self.attribute(&split, names);
        }
    }

    /// Adds an activation to all sums: the typical part of its latency to the wake-up, the excess to causes.
    fn attribute(&mut self, split: &SplitActivation, names: &mut NameTable) {
        let SplitActivation { activation, interruptions, spans, .. } = split;
        let latency_ns = activation.latency_ns();
        self.explained += 1;
        self.lateness_ns = self.lateness_ns.saturating_add(latency_ns.max(0));
        self.latencies.record(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        if latency_ns > 0 {
            self.paths.count(&split.path, latency_ns);
        }
        let others_name = self.others_name(names);
        for (cause, ns) in interruptions {
            self.interruptions.add(*cause, *ns, others_name, names);
        }
        if activation.missed > 0 {
            self.count_misses(split, others_name, names);
        }
        let parts = self.latency_parts(split, names);
        self.add_delays(&parts, latency_ns);
        if let Some(cause) = self.main_cause_index(&parts) {
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
            let parts = self.limit_parts(parts, names);
            self.worst_starts
                .insert(key, LateStart { index, due_ns, latency_ns, cpu, parts, spans: Vec::new() });
            if self.worst_starts.len() > MAX_WORST {
                self.worst_starts.pop_first();
            }
        }
    }

    /// Splits a latency into typical parts and causes of the rest, and adds up the time by kernel function. Neighbours
    /// of one cause are joined.
    fn latency_parts(&mut self, split: &SplitActivation, names: &mut NameTable) -> Vec<LatencyPart> {
        let mut left = split.step_lengths_ns();
        for (step, ns) in Step::ALL.into_iter().zip(&mut left) {
            *ns = self.typical.typical_part(step, *ns);
        }
        let mut parts: Vec<LatencyPart> = Vec::new();
        let mut add = |this: &mut Self, at_ns: i64, ns: i64, found: &FragmentCause| {
            if ns <= 0 {
                return;
            }
            let (cause, evidence) = (this.cause_index(found.cause, names), found.evidence);
            let function = found.function.map(|name| name.0 as usize);
            this.add_function_time(cause, found.function, ns);
            match parts.last_mut() {
                Some(last) if (last.cause, last.evidence, last.function) == (cause, evidence, function) => {
                    last.ns += ns;
                }
                _ => parts.push(LatencyPart { cause, at_ns, ns, evidence, function }),
            }
        };
        for FragmentWithCause { at_ns, ns, cause } in &split.fragments {
            let typical = match cause.step {
                Some(Step::StackRecording) => CauseClass::Tracer,
                _ => CauseClass::TypicalWakeUp,
            };
            let typical_ns = cause.step.map_or(0, |step| left[step as usize].min(*ns));
            if let Some(step) = cause.step {
                left[step as usize] -= typical_ns;
            }
            add(self, *at_ns, typical_ns, &cause_of_whole(typical, Evidence::Events));
            add(self, at_ns + typical_ns, ns - typical_ns, cause);
        }
        parts
    }

    /// Limits the number of parts: keeps the longest ones, and joins all between two of them.
    fn limit_parts(&mut self, parts: Vec<LatencyPart>, names: &mut NameTable) -> Vec<LatencyPart> {
        if parts.len() <= MAX_PARTS {
            return parts;
        }
        // One more part may lie between two that are kept.
        let mut lengths: Vec<i64> = parts.iter().map(|part| part.ns).collect();
        let (_, least_ns, _) = lengths.select_nth_unstable_by(MAX_PARTS / 2 - 1, |a, b| b.cmp(a));
        let least_ns = *least_ns;
        let mixed = self.cause_index(CauseClass::Mixed.into(), names);
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

    /// Adds the throttling by a CPU quota that the kernel counted.
    pub fn add_quota(&mut self, more: QuotaCount) {
        let sum = self.quota.get_or_insert_default();
        sum.periods += more.periods;
        sum.throttled += more.throttled;
        sum.ns = sum.ns.saturating_add(more.ns);
    }

    /// Adds an activation to the sum of each cause of its latency.
    fn add_delays(&mut self, parts: &[LatencyPart], latency_ns: i64) {
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

    /// Returns the index of the cause of the longest part beyond the typical wake-up, or of the first part.
    fn main_cause_index(&self, parts: &[LatencyPart]) -> Option<usize> {
        let unusual = |part: &&LatencyPart| is_unusual(self.sums[part.cause].0.class);
        let longest = parts.iter().filter(unusual).max_by_key(|part| part.ns);
        longest.or(parts.first()).map(|part| part.cause)
    }

    fn add_function_time(&mut self, cause: usize, function: Option<NameId>, ns: i64) {
        let (Some(function), Some(sums)) = (function, self.functions.get_mut(cause)) else { return };
        if sums.len() < MAX_FUNCTIONS || sums.contains_key(&function) {
            *sums.entry(function).or_default() += ns;
        }
    }

    /// Returns the index of a cause's sum, which may be new; beyond 96 causes, that of the others of its class.
    fn cause_index(&mut self, cause: CauseId, names: &mut NameTable) -> usize {
        if let Some(index) = self.indices.get(&cause) {
            return *index;
        }
        let rare = CauseId { who: Some(self.others_name(names)), ..cause };
        let cause = if self.sums.len() < MAX_CAUSES { cause } else { rare };
        if let Some(index) = self.indices.get(&cause) {
            return *index;
        }
        let index = self.sums.len();
        self.sums.push((cause, CauseSum::new(cause.to_cause(names))));
        self.functions.push(BTreeMap::new());
        self.largest.push(Peaks::new(TAIL_SIZE));
        self.indices.insert(cause, index);
        index
    }

    fn others_name(&mut self, names: &mut NameTable) -> NameId {
        *self.others.get_or_insert_with(|| names.intern(OTHERS_NAME))
    }

    fn count_misses(&mut self, split: &SplitActivation, others_name: NameId, names: &NameTable) {
        let SplitActivation { activation, interruptions, .. } = split;
        self.misses.activations += 1;
        self.misses.due_times += u64::from(activation.missed);
        self.misses.late_ns = self.misses.late_ns.saturating_add(activation.latency_ns().max(0));
        let interrupted_ns: i64 = interruptions.iter().map(|(_, ns)| ns).sum();
        let own = (CauseClass::OwnWork.into(), (activation.execution_ns() - interrupted_ns).max(0));
        for (cause, ns) in interruptions.iter().chain([&own]) {
            self.missing_work.add(*cause, *ns, others_name, names);
        }
    }

    /// Returns the causes so far and restarts the sums; returns none while the typical steps are unknown.
    pub fn take_causes(&mut self, names: &mut NameTable) -> TaskCauses {
        if !self.unattributed.is_empty() {
            return TaskCauses::default();
        }
        let causes = self.causes(names);
        let typical = std::mem::take(&mut self.typical);
        *self = TaskCauseSums { typical, others: self.others, ..TaskCauseSums::default() };
        causes
    }

    /// Returns all causes so far, learning the typical steps first if they are unknown.
    pub fn causes(&mut self, names: &mut NameTable) -> TaskCauses {
        if !self.unattributed.is_empty() {
            self.typical.learn();
            self.attribute_pending(names);
        }
        let sums = self.sums.iter().zip(&self.functions).zip(&self.largest);
        let sums = sums.map(|(((_, sum), functions), largest)| {
            let named = functions.iter().map(|(name, ns)| (names.name(*name).to_owned(), *ns));
            let mut largest: Vec<(u64, i64)> =
                largest.largest().iter().map(|peak| (peak.index, peak.latency_ns)).collect();
            if largest.len() < MIN_TAIL {
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
            paths: self.paths.wake_paths(names),
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
