//! Parts of latencies added up by cause, and the latest activations kept whole: in bounded memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jitterlab_model::Activation;
use jitterlab_model::causes::{
    Bins, Cause, CauseClass, CauseSum, Certainty, Evidence, Interruption, LateStart, Misses, Part,
    QuotaCount, Ran, Step, TaskCauses,
};

use super::event::{Name, Names};
use super::paths::{Passed, Paths};
use super::usual_steps::Usual;
use super::verdict::{Named, Verdict};
use super::why::is_unusual;
use crate::predict::TAIL_SIZE;
use crate::scan::Peaks;

/// Activations kept with the parts of their latency.
pub(super) const LATEST: usize = 1_024;
/// Of these, activations kept with the spans around them.
pub(super) const WITH_SPANS: usize = 128;
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
pub struct Judged {
    pub at_ns: i64,
    pub ns: i64,
    pub verdict: Verdict,
}

/// An activation whose latency is split into fragments.
#[derive(Debug, Clone)]
pub struct SplitActivation {
    pub activation: Activation,
    pub fragments: Vec<Judged>,
    pub path: Vec<Passed>,
    pub interruptions: Vec<(Named, i64)>,
    /// Spans around it, if they are kept.
    pub spans: Vec<(Ran, Name)>,
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
struct Interruptions(BTreeMap<(CauseClass, Option<Name>), (Interruption, Bins)>);

impl Interruptions {
    /// Counts an interruption; of too many causes as one of `others`.
    fn count(&mut self, named: Named, ns: i64, others: Name, names: &Names) {
        let mut key = (named.class, named.who);
        if self.0.len() >= CAUSES && !self.0.contains_key(&key) {
            key = (named.class, Some(others));
        }
        let (class, who) = key;
        let (sum, lengths) = self.0.entry(key).or_insert_with(|| {
            let cause = cause(Named { class, who }, names);
            (Interruption { cause, times: 0, sum_ns: 0, max_ns: 0, p99_ns: None }, Bins::default())
        });
        lengths.record(ns);
        sum.times += 1;
        sum.sum_ns = sum.sum_ns.saturating_add(ns);
        sum.max_ns = sum.max_ns.max(ns);
    }

    fn sums(&self) -> Vec<Interruption> {
        let p99_ns = |lengths: &Bins, max_ns| lengths.quantile_ns(0.99).map(|ns| ns.min(max_ns));
        let sum = |(sum, lengths): &(Interruption, Bins)| Interruption {
            p99_ns: p99_ns(lengths, sum.max_ns),
            ..sum.clone()
        };
        self.0.values().map(sum).collect()
    }
}

/// Order of the latest activations: by latency; of equal latencies, the earlier activation is the larger.
type LatenessRank = (i64, Reverse<u64>);

/// Causes of one task so far.
#[derive(Debug, Default)]
pub struct Gathered {
    usual: Usual,
    /// Activations taken before the usual way was known.
    early: Vec<SplitActivation>,
    explained: u64,
    gaps: u64,
    lateness_ns: i64,
    latencies: Bins,
    max_ns: i64,
    sums: Vec<(Named, CauseSum)>,
    numbers: HashMap<Named, usize>,
    /// Time each cause was found in kernel functions, in ns.
    functions: Vec<BTreeMap<Name, i64>>,
    /// The largest latencies of which each cause was the longest part.
    largest: Vec<Peaks>,
    interruptions: Interruptions,
    /// Activations whose work went on until due times were missed; the work is below.
    misses: Misses,
    missing_work: Interruptions,
    latest: BTreeMap<LatenessRank, LateStart>,
    spans: BTreeMap<LatenessRank, Vec<(Ran, Name)>>,
    others: Option<Name>,
    quota: Option<QuotaCount>,
    paths: Paths,
}

impl Gathered {
    /// True if an activation of this latency would be kept with the spans around it.
    pub fn wants_spans(&self, latency_ns: i64) -> bool {
        latency_ns > 0
            && (self.spans.len() < WITH_SPANS
                || self.spans.first_key_value().is_some_and(|(k, _)| latency_ns > k.0))
    }

    /// Counts an activation.
    pub fn push(&mut self, draft: SplitActivation, names: &mut Names) {
        let known = self.usual.is_known();
        self.usual.count(&draft.steps());
        if known {
            self.settle(&draft, names);
            return;
        }
        self.early.push(draft);
        if self.usual.is_known() {
            self.settle_early(names);
        }
    }

    fn settle_early(&mut self, names: &mut Names) {
        for draft in std::mem::take(&mut self.early) {
            self.settle(&draft, names);
        }
    }

    /// Subtracts the usual way and counts the rest by cause.
    fn settle(&mut self, draft: &SplitActivation, names: &mut Names) {
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
            if self.spans.len() > WITH_SPANS {
                self.spans.pop_first();
            }
        }
        let enters =
            self.latest.len() < LATEST || self.latest.first_key_value().is_some_and(|(k, _)| key > *k);
        if latency_ns > 0 && enters {
            let parts = self.longest(parts, names);
            self.latest.insert(key, LateStart { index, due_ns, latency_ns, cpu, parts, spans: Vec::new() });
            if self.latest.len() > LATEST {
                self.latest.pop_first();
            }
        }
    }

    /// Returns the parts of a latency: the usual part of each step, and its causes. Neighbours of one cause are joined.
    fn parts(&mut self, draft: &SplitActivation, names: &mut Names) -> Vec<Part> {
        let mut left = draft.steps();
        for (step, ns) in Step::ALL.into_iter().zip(&mut left) {
            *ns = self.usual.of(step, *ns);
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut add = |this: &mut Self, at_ns: i64, ns: i64, verdict: &Verdict| {
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
                _ => parts.push(Part { cause, at_ns, ns, evidence: verdict.evidence, function }),
            }
        };
        let usual = Verdict {
            step: None,
            cause: CauseClass::Usual.into(),
            evidence: Evidence::Events,
            function: None,
        };
        for Judged { at_ns, ns, verdict } in &draft.fragments {
            let usual = match verdict.step {
                Some(Step::Noting) => Verdict { cause: CauseClass::Tracer.into(), ..usual },
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
    fn longest(&mut self, parts: Vec<Part>, names: &mut Names) -> Vec<Part> {
        if parts.len() <= PARTS {
            return parts;
        }
        // One more part may lie between two that are kept.
        let mut lengths: Vec<i64> = parts.iter().map(|part| part.ns).collect();
        let (_, least_ns, _) = lengths.select_nth_unstable_by(PARTS / 2 - 1, |a, b| b.cmp(a));
        let least_ns = *least_ns;
        let mixed = self.number(CauseClass::Mixed.into(), names);
        let mut kept: Vec<Part> = Vec::new();
        for part in parts {
            match kept.last_mut() {
                _ if part.ns > least_ns => kept.push(part),
                Some(last) if last.cause == mixed => last.ns += part.ns,
                _ => kept.push(Part { cause: mixed, evidence: Evidence::None, function: None, ..part }),
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

    fn count(&mut self, parts: &[Part], latency_ns: i64) {
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
            self.sums[cause].1.count(latency_ns, sum, proven, likely);
        }
    }

    /// Returns the cause of the longest part beyond the usual way, or of the first part if there is none.
    fn main_cause(&self, parts: &[Part]) -> Option<usize> {
        let unusual = |part: &&Part| is_unusual(self.sums[part.cause].0.class);
        let longest = parts.iter().filter(unusual).max_by_key(|part| part.ns);
        longest.or(parts.first()).map(|part| part.cause)
    }

    fn count_function(&mut self, cause: usize, function: Option<Name>, ns: i64) {
        let (Some(function), Some(sums)) = (function, self.functions.get_mut(cause)) else { return };
        if sums.len() < FUNCTIONS || sums.contains_key(&function) {
            *sums.entry(function).or_default() += ns;
        }
    }

    /// Returns the number of a cause: a known one, a new one, or that of its class if there are too many.
    fn number(&mut self, named: Named, names: &mut Names) -> usize {
        if let Some(number) = self.numbers.get(&named) {
            return *number;
        }
        let rare = Named { who: Some(self.others(names)), ..named };
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

    fn others(&mut self, names: &mut Names) -> Name {
        *self.others.get_or_insert_with(|| names.number(OTHERS))
    }

    fn count_misses(&mut self, draft: &SplitActivation, others: Name, names: &Names) {
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
    pub fn take(&mut self, names: &mut Names) -> TaskCauses {
        if !self.early.is_empty() {
            return TaskCauses::default();
        }
        let causes = self.causes(names);
        let usual = std::mem::take(&mut self.usual);
        *self = Gathered { usual, others: self.others, ..Gathered::default() };
        causes
    }

    /// Returns all causes so far.
    pub fn causes(&mut self, names: &mut Names) -> TaskCauses {
        if !self.early.is_empty() {
            self.usual.learn();
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
            usual: self.usual.steps(),
            causes: sums.collect(),
            interruptions: self.interruptions.sums(),
            misses: Misses { work: self.missing_work.sums(), ..self.misses.clone() },
            latest: Vec::new(),
            left_out: 0,
            quota: self.quota,
            paths: self.paths.named(names),
            names: Vec::new(),
        };
        let mut numbers: HashMap<Name, usize> = HashMap::new();
        let mut number = |name: Name| {
            *numbers.entry(name).or_insert_with(|| {
                causes.names.push(names.name(name).into());
                causes.names.len() - 1
            })
        };
        for (key, late) in self.latest.iter().rev() {
            let mut late = late.clone();
            for part in &mut late.parts {
                part.function = part.function.map(|function| number(Name(function as u32)));
            }
            let spans = self.spans.get(key).into_iter().flatten();
            late.spans.extend(spans.map(|(span, name)| Ran { name: number(*name), ..*span }));
            causes.latest.push(late);
        }
        causes
    }
}

fn cause(named: Named, names: &Names) -> Cause {
    let who = named.who.map(|name| names.name(name).to_owned()).filter(|name| !name.is_empty());
    Cause { class: named.class, who }
}
