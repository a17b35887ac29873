//! Rows of slices in memory: made of counted activations, joined, checked.

use std::collections::BTreeMap;

use jitterlab_analysis::purposes::Measure;
use jitterlab_model::causes::{CauseSum, TaskCauses};
use jitterlab_model::{Bench, Distribution, Gap, Quantity, RunInfo, TaskRun, TimingStats};
use serde::Serialize;

use crate::calendar::{DAY_S, SHIFT_S};
use crate::hash;
use crate::limit_counts::{LimitCounts, StartLimit};
use crate::rows::{BEYOND_NS, BinRow, CauseRow, LimitRow, MachineRow, SliceRow, WorstRow};

/// Starts at most that are kept of a slice, those with the largest latencies.
pub const MAX_WORST: usize = 16;
/// Causes at most of a task in a slice; the rest is in `others`.
const MAX_CAUSES: usize = 64;

/// A stretch of measuring on one machine, which slices are of.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// `probe`, `watch` or `import`.
    pub source: &'static str,
    /// Identity of the machine's start; empty where it is not known.
    pub boot: String,
    pub environment: MachineRow,
}

impl Stream {
    /// A stream of this id of a run, with its source and the environment of its machine.
    pub fn new(id: String, boot: String, machine: &str, info: &RunInfo) -> Self {
        let watched = info.tasks.iter().any(|task| task.watched.is_some());
        let source = match info.bench {
            Bench::Import => "import",
            _ if watched => "watch",
            _ => "probe",
        };
        Stream { id, source, boot, environment: MachineRow::from_run(machine, info) }
    }
}

/// Time that a slice is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Number of the slice in its stream.
    pub seq: i64,
    /// Beginning, in seconds of the Unix epoch, where it is known.
    pub start_s: Option<i64>,
    /// Beginning by the monotonic clock.
    pub mono_ns: Option<i64>,
    /// Length by the monotonic clock.
    pub length_ms: i64,
    /// Distance that UTC moved against the monotonic clock within it.
    pub clock_step_ns: Option<i64>,
    /// True if UTC was synchronised.
    pub clock_ok: Option<bool>,
    /// Time without measuring inside it.
    pub gap_ms: i64,
}

/// Activations of one task in a slice.
#[derive(Debug, Clone, Copy)]
pub struct TaskSlice<'a> {
    pub task: &'a TaskRun,
    /// Figures of its activations since the slice before ([`TimingStats::take`]).
    pub stats: &'a TimingStats,
    /// Activations that ran but were not recorded.
    pub lost: u64,
    /// Due time of the largest latency, in seconds of the Unix epoch.
    pub max_at_s: Option<i64>,
    /// Exact counts above limits, where every activation was seen.
    pub limits: Option<&'a LimitCounts>,
    /// Causes of the slice's latencies.
    pub causes: Option<&'a TaskCauses>,
    /// Offset from due times to the Unix epoch, for the worst starts.
    pub epoch_offset_ns: Option<i64>,
}

/// Rows of slices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    pub slices: Vec<SliceRow>,
    pub bins: Vec<BinRow>,
    pub limits: Vec<LimitRow>,
    pub causes: Vec<CauseRow>,
    pub worst: Vec<WorstRow>,
    pub machines: Vec<MachineRow>,
}

impl Tables {
    /// Adds the rows of a task in a slice of a stream.
    pub fn push(&mut self, stream: &Stream, interval: &Interval, of: &TaskSlice<'_>) {
        let last_s = interval.start_s.map(|start_s| start_s + interval.length_ms / 1_000);
        self.add_machine(MachineRow { first_s: interval.start_s, last_s, ..stream.environment.clone() });
        let missed = of.stats.missed().exactly();
        let key = SliceRow {
            machine: stream.environment.machine.clone(),
            stream: stream.id.clone(),
            seq: interval.seq,
            task: of.task.spec.name.clone(),
            source: stream.source.into(),
            period_ns: of.task.spec.period_ns,
            policy: of.task.granted.as_ref().map_or_else(String::new, |granted| granted.policy.to_string()),
            overrun: of.task.overrun().exactly().map_or_else(String::new, |overrun| overrun.to_string()),
            unknown: of.task.unknown.iter().map(json_word).collect::<Vec<_>>().join(","),
            kernel: stream.environment.kernel.clone(),
            env: stream.environment.env.clone(),
            start_s: interval.start_s,
            length_ms: interval.length_ms,
            boot: stream.boot.clone(),
            mono_ns: interval.mono_ns,
            clock_step_ns: interval.clock_step_ns,
            clock_ok: interval.clock_ok.map(i64::from),
            missed: missed.map(to_i64),
            lost: to_i64(of.lost),
            gap_ms: interval.gap_ms,
            due: missed.map(|missed| to_i64(of.stats.executed() + of.lost + missed)),
            ..SliceRow::default()
        };
        for (quantity, values) in Quantity::COUNTED.into_iter().zip(of.stats.counted()) {
            if values.count() > 0 || quantity == Quantity::Latency {
                self.push_quantity(&key, quantity, values, of.max_at_s);
            }
        }
        self.push_limits(&key, of);
        self.push_causes(&key, of);
    }

    fn add_machine(&mut self, row: MachineRow) {
        match self.machines.iter_mut().find(|known| known.env == row.env && known.machine == row.machine) {
            Some(known) => {
                known.first_s = min_known(known.first_s, row.first_s);
                known.last_s = known.last_s.max(row.last_s);
            }
            None => self.machines.push(row),
        }
    }

    fn push_quantity(
        &mut self,
        key: &SliceRow,
        quantity: Quantity,
        values: &Distribution,
        at_s: Option<i64>,
    ) {
        let moments = values.moments();
        let quantity = quantity_number(quantity);
        let squares = values.standard_deviation_ns().and(i64::try_from(moments.sum_of_squares >> 32).ok());
        self.slices.push(SliceRow {
            quantity,
            count: to_i64(moments.count),
            min_ns: values.min_ns(),
            max_ns: values.max_ns(),
            sum_ns: values.mean_ns().and(i64::try_from(moments.sum).ok()),
            squares_high: squares,
            squares_low: squares.map(|_| (moments.sum_of_squares & u128::from(u32::MAX)) as i64),
            max_at_s: at_s.filter(|_| quantity == 0),
            ..key.clone()
        });
        let known: Vec<(i64, u64)> = match values.has_percentiles() {
            true => values.bins().map(|bin| (bin.high_ns, bin.count)).collect(),
            false => Vec::new(),
        };
        let binned: u64 = known.iter().map(|(_, count)| count).sum();
        let beyond = moments.count.saturating_sub(binned);
        let beyond = (beyond > 0).then_some((BEYOND_NS, beyond));
        self.bins.extend(known.into_iter().chain(beyond).map(|(high_ns, count)| BinRow {
            quantity,
            high_ns,
            n: to_i64(count),
            ..BinRow::from_slice(key)
        }));
    }

    fn push_limits(&mut self, key: &SliceRow, of: &TaskSlice<'_>) {
        if !of.task.knows(Gap::Period) || !of.task.is_periodic() {
            return;
        }
        let uncounted = LimitCounts::new(of.task.spec.period_ns);
        let counted = of.limits.unwrap_or(&uncounted);
        let counted = counted.limits().iter().zip(counted.counts());
        self.limits.extend(counted.filter_map(|(limit, above)| {
            let StartLimit { purpose, measure, limit_ns, .. } = *limit;
            let above = match of.limits {
                Some(_) => Some(*above),
                None => LimitCounts::count_above_by_bins(of.stats, limited_quantity(measure)?, limit_ns),
            };
            limit_row(key, purpose, measure, limit_ns, above)
        }));
    }

    fn push_causes(&mut self, key: &SliceRow, of: &TaskSlice<'_>) {
        let Some(causes) = of.causes else { return };
        let row = |sum: &CauseSum| CauseRow {
            class: json_word(&sum.cause.class),
            who: sum.cause.who.clone().unwrap_or_default(),
            times: to_i64(sum.times),
            sum_ns: sum.sum_ns,
            max_ns: sum.max_ns,
            proven_ns: sum.proven_ns,
            likely_ns: sum.likely_ns,
            ..CauseRow::from_slice(key)
        };
        let mut sums: Vec<CauseRow> = causes.causes.iter().map(row).collect();
        sums.sort_by(|a, b| (b.sum_ns, &a.class, &a.who).cmp(&(a.sum_ns, &b.class, &b.who)));
        let rest = sums.split_off(sums.len().min(MAX_CAUSES));
        self.causes.extend(sums);
        self.causes.extend(rest.into_iter().reduce(|mut all, one| {
            (all.class, all.who) = ("mixed".into(), "others".into());
            all.absorb(&one);
            all
        }));
        let offset = of.epoch_offset_ns;
        self.worst.extend(causes.worst_starts.iter().take(MAX_WORST).map(|late| {
            let longest = late.parts.iter().max_by_key(|part| part.ns);
            let cause = longest.and_then(|part| causes.causes.get(part.cause)).map(|sum| &sum.cause);
            WorstRow {
                at_s: offset.map(|offset| late.due_ns.saturating_add(offset).div_euclid(1_000_000_000)),
                latency_ns: late.latency_ns,
                class: cause.map_or_else(String::new, |cause| json_word(&cause.class)),
                who: cause.and_then(|cause| cause.who.clone()).unwrap_or_default(),
                ..WorstRow::from_slice(key)
            }
        }));
    }

    pub fn append(&mut self, other: Tables) {
        self.slices.extend(other.slices);
        self.bins.extend(other.bins);
        self.limits.extend(other.limits);
        self.causes.extend(other.causes);
        self.worst.extend(other.worst);
        other.machines.into_iter().for_each(|row| self.add_machine(row));
    }

    /// Makes all rows be of this stream.
    pub fn set_stream(&mut self, id: &str) {
        self.for_each_row(|stream, _, _| stream.replace_range(.., id));
    }

    /// Calls with the stream, the number of the slice and the time of each row.
    pub fn for_each_row(&mut self, mut call: impl FnMut(&mut String, i64, &mut Option<i64>)) {
        macro_rules! each {
            ($($table:ident $time:ident),*) => {
                $(self.$table.iter_mut().for_each(|row| call(&mut row.stream, row.seq, &mut row.$time));)*
            };
        }
        each!(slices start_s, bins start_s, limits start_s, causes start_s, worst at_s);
    }

    /// Keeps the rows of slices of these numbers.
    pub fn retain(&mut self, keep: impl Fn(i64) -> bool) {
        macro_rules! each {
            ($($table:ident),*) => { $(self.$table.retain(|row| keep(row.seq));)* };
        }
        each!(slices, bins, limits, causes, worst);
    }

    /// Puts rows in the one order that files have them in.
    pub fn sort(&mut self) {
        self.slices.sort_unstable();
        // A bin's counts of successive slices lie side by side, which compresses best.
        self.bins.sort_unstable_by(|a, b| {
            let key = |row: &BinRow| (row.quantity, row.high_ns, row.start_s, row.seq);
            (&a.machine, &a.task, key(a), a).cmp(&(&b.machine, &b.task, key(b), b))
        });
        self.limits.sort_unstable();
        self.causes.sort_unstable();
        self.worst.sort_unstable();
        self.machines.sort_unstable();
    }

    /// Joins slices of each stream by sums: bins by the day, all else by shifts of eight hours. That is as fine as any
    /// question of a fleet. Slices of another environment or policy stay apart.
    pub fn into_days(self) -> Tables {
        let (first, first_of_bins) = (self.first_slices(SHIFT_S), self.first_slices(DAY_S));
        let mut joined = Tables { machines: self.machines, ..Tables::default() };
        macro_rules! join {
            ($table:ident, $first:ident, $key:expr) => {
                let mut sums = BTreeMap::new();
                for mut row in self.$table {
                    (row.seq, row.start_s) = $first.find(&row.stream, row.seq, &row.task);
                    let key = (row.stream.clone(), row.seq, row.task.clone(), $key(&row));
                    sums.entry(key).and_modify(|sum: &mut _| absorb(sum, &row)).or_insert(row);
                }
                joined.$table = sums.into_values().collect();
            };
        }
        join!(slices, first, |row: &SliceRow| row.quantity);
        join!(bins, first_of_bins, |row: &BinRow| (row.quantity, row.high_ns));
        join!(limits, first, |row: &LimitRow| (row.purpose.clone(), row.quantity, row.limit_ns));
        join!(causes, first, |row: &CauseRow| (row.class.clone(), row.who.clone()));
        let mut worst: BTreeMap<(String, i64, String), Vec<WorstRow>> = BTreeMap::new();
        for mut row in self.worst {
            row.seq = first.find(&row.stream, row.seq, &row.task).0;
            worst.entry((row.stream.clone(), row.seq, row.task.clone())).or_default().push(row);
        }
        joined.worst = worst.into_values().flat_map(keep_worst).collect();
        joined.sort();
        joined
    }

    /// Maps each slice to the first of those it is joined with, in parts of time this long.
    fn first_slices(&self, part_s: i64) -> FirstSlices {
        let key = |row: &SliceRow| {
            let terms = (row.period_ns, row.policy.clone(), row.overrun.clone(), row.unknown.clone());
            let part = row.start_s.map(|start_s| start_s.div_euclid(part_s));
            (row.stream.clone(), row.task.clone(), row.env.clone(), terms, part)
        };
        let mut first: BTreeMap<_, (i64, Option<i64>)> = BTreeMap::new();
        for row in self.slices.iter().filter(|row| row.quantity == 0) {
            let found = first.entry(key(row)).or_insert((row.seq, row.start_s));
            *found = (found.0.min(row.seq), min_known(found.1, row.start_s));
        }
        let of = |row: &SliceRow| {
            let slice = (row.stream.clone(), row.seq, row.task.clone());
            Some((slice, *first.get(&key(row))?))
        };
        FirstSlices(self.slices.iter().filter_map(of).collect())
    }
}

/// Number and beginning of the first slice of those that a slice is joined with, by stream, number and task.
struct FirstSlices(BTreeMap<(String, i64, String), (i64, Option<i64>)>);

impl FirstSlices {
    fn find(&self, stream: &str, seq: i64, task: &str) -> (i64, Option<i64>) {
        self.0.get(&(stream.to_owned(), seq, task.to_owned())).copied().unwrap_or((seq, None))
    }
}

/// The rows with the largest latencies, these first, as many as are kept of a slice.
fn keep_worst(mut rows: Vec<WorstRow>) -> Vec<WorstRow> {
    rows.sort_unstable();
    rows.sort_by_key(|row| std::cmp::Reverse(row.latency_ns));
    rows.truncate(MAX_WORST);
    rows
}

/// Row that a later slice's row can be added to.
pub trait Absorb {
    /// Adds the sums of a row of the same key.
    fn absorb(&mut self, later: &Self);
}

fn absorb<R: Absorb>(sum: &mut R, later: &R) {
    sum.absorb(later);
}

impl Absorb for SliceRow {
    fn absorb(&mut self, later: &Self) {
        let both = |a: Option<i64>, b: Option<i64>| a.zip(b).and_then(|(a, b)| a.checked_add(b));
        if (later.max_ns, self.max_at_s) > (self.max_ns, later.max_at_s) {
            self.max_at_s = later.max_at_s;
        }
        // A slice without values has no extremes, which leaves those of the other.
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (later.min_ns, later.max_ns);
            (self.sum_ns, self.squares_high, self.squares_low) =
                (later.sum_ns, later.squares_high, later.squares_low);
        } else if later.count > 0 {
            self.min_ns = self.min_ns.zip(later.min_ns).map(|(a, b)| a.min(b));
            self.max_ns = self.max_ns.zip(later.max_ns).map(|(a, b)| a.max(b));
            self.sum_ns = both(self.sum_ns, later.sum_ns);
            self.squares_high = both(self.squares_high, later.squares_high);
            self.squares_low = both(self.squares_low, later.squares_low);
        }
        self.mono_ns = min_known(self.mono_ns, later.mono_ns);
        self.clock_step_ns = both(self.clock_step_ns, later.clock_step_ns);
        self.clock_ok = self.clock_ok.zip(later.clock_ok).map(|(a, b)| a.min(b));
        self.length_ms += later.length_ms;
        self.gap_ms += later.gap_ms;
        self.due = both(self.due, later.due);
        self.missed = both(self.missed, later.missed);
        self.lost += later.lost;
        self.count += later.count;
    }
}

impl Absorb for BinRow {
    fn absorb(&mut self, later: &Self) {
        self.n += later.n;
    }
}

impl Absorb for LimitRow {
    fn absorb(&mut self, later: &Self) {
        self.above = self.above.zip(later.above).map(|(a, b)| a + b);
    }
}

impl Absorb for CauseRow {
    fn absorb(&mut self, later: &Self) {
        self.times += later.times;
        self.sum_ns = self.sum_ns.saturating_add(later.sum_ns);
        self.max_ns = self.max_ns.max(later.max_ns);
        self.proven_ns = self.proven_ns.saturating_add(later.proven_ns);
        self.likely_ns = self.likely_ns.saturating_add(later.likely_ns);
    }
}

impl MachineRow {
    /// Environment of the machine of a run.
    pub fn from_run(machine: &str, info: &RunInfo) -> Self {
        let facts = info.facts_before.clone().unwrap_or_default();
        let governors = facts.cpus.iter().filter_map(|cpu| cpu.frequency.governor.as_deref());
        let mut governors: Vec<&str> = governors.collect();
        governors.sort_unstable();
        governors.dedup();
        let isolated = facts.isolation.isolated.map_or_else(String::new, |cpus| cpus.to_string());
        let virtualisation = &facts.virtualisation;
        let yes = |is: Option<bool>| is.map_or("", |is| if is { "yes" } else { "no" });
        let mut row = MachineRow {
            machine: machine.into(),
            kernel: facts.kernel.release.clone().unwrap_or_default(),
            build: facts.kernel.version.clone().unwrap_or_default(),
            preemption: facts.kernel.preemption.as_ref().map_or_else(String::new, json_word),
            command_line: facts.kernel.command_line.clone().unwrap_or_default(),
            processor: facts.processor.model.clone().unwrap_or_default(),
            governor: governors.join(","),
            isolation: isolated,
            virtual_machine: virtualisation
                .hypervisor
                .clone()
                .or_else(|| virtualisation.container.clone())
                .unwrap_or_else(|| yes(virtualisation.virtual_machine).into()),
            jitterlab: info.tool.clone(),
            load: info.load.to_string(),
            labels: serde_json::to_string(&info.labels).unwrap_or_default(),
            ..MachineRow::default()
        };
        row.env = row.environment_hash();
        row
    }

    /// Hash of everything but the machine's name and the times.
    pub fn environment_hash(&self) -> String {
        hash::short_hash([
            &self.kernel,
            &self.build,
            &self.preemption,
            &self.command_line,
            &self.processor,
            &self.microcode,
            &self.board,
            &self.firmware,
            &self.governor,
            &self.isolation,
            &self.virtual_machine,
            &self.jitterlab,
            &self.load,
            &self.labels,
        ])
    }
}

/// Quantity that a limit of single starts is about; `None` for missed due times, which slices count themselves.
fn limited_quantity(measure: Measure) -> Option<Quantity> {
    match measure {
        Measure::Latency => Some(Quantity::Latency),
        Measure::Interval => Some(Quantity::PeriodError),
        Measure::Missed | Measure::PeriodDeviation => None,
    }
}

/// Row of a limit in the slice of `key`; `None` for limits that have none.
pub fn limit_row(
    key: &SliceRow,
    purpose: &str,
    measure: Measure,
    limit_ns: i64,
    above: Option<u64>,
) -> Option<LimitRow> {
    Some(LimitRow {
        purpose: purpose.into(),
        quantity: quantity_number(limited_quantity(measure)?),
        limit_ns,
        above: above.map(to_i64),
        ..LimitRow::from_slice(key)
    })
}

/// Value as a word in JSON.
fn json_word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// Index of a quantity in [`Quantity::COUNTED`], as tables have it.
pub fn quantity_number(quantity: Quantity) -> i8 {
    Quantity::COUNTED.iter().position(|counted| *counted == quantity).map_or(i8::MAX, |place| place as i8)
}

/// Count as a signed column has it, at most its largest value.
pub fn to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Number of a signed column as a count, at least 0.
pub fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// The lesser of two times, or the one that is known; `None` if neither is.
fn min_known(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}
