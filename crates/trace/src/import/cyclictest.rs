//! cyclictest as text: its histogram (`-h`, `-H`, `--histfile`), single latencies (`-v`), the lines that it refreshes, or several of
//! these in one paste. Also the lines that signaltest and jitterdebugger refresh, and the rows alone, as the OSADL publishes
//! them.
//!
//! Bin b holds latencies from b up to below b + 1. Latencies at or above the limit are only counted as overflow; the
//! limit is
//! not in the file, so the end of the last bin is assumed. `-H` adds a column with the sum. rt-tests 2.7 and later
//! leave out rows
//! of zeros and the totals.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_model::bounds::TASKS;
use jitterlab_model::warning::Aperiodic;
use jitterlab_model::{Activation, Error, Flags, Gap, Warning};

use super::command::{Command, RT_TESTS};
use super::statement::{Statement, Statements};
use super::text::{clamped_ns, expect_numbers, lines, number_after, numbers, split_at_byte};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "cyclictest", recognise, parse };

/// A line that names the measured thread: `T: 0 ( 1234) P:80 I:1000 C:   2000 Min:      9 Act:   12 Avg:   19 Max:     741`.
#[derive(Debug, Clone, Copy)]
struct Status {
    /// The system's number of the thread; 0 before it runs.
    id: u64,
    /// cyclictest's interval in microseconds.
    interval: Option<i64>,
    /// jitterdebugger's processor.
    cpu: Option<u16>,
    count: u64,
    min: f64,
    mean: f64,
    max: f64,
    interrupts: Option<u64>,
    /// The unit, which shows in the width of the columns.
    unit_ns: Option<i64>,
    /// Number of refreshes of the display before this line.
    refreshed: u64,
}

fn status_of(line: &str) -> Option<(usize, Status)> {
    let (thread, rest) = line.strip_prefix("T:")?.split_once('(')?;
    let figure = |name: &str| number_after(rest, name);
    let interval = figure(" I:").map(|us| us as i64);
    let status = Status {
        id: rest.split(')').next()?.trim().parse().ok()?,
        interval,
        cpu: figure(" A:").map(|cpu| cpu as u16),
        count: figure(" C:")? as u64,
        min: figure("Min:")?,
        mean: figure("Avg:")?,
        max: figure("Max:")?,
        interrupts: figure("SMI:").map(|count| count as u64),
        unit_ns: interval.and(unit_of(rest)),
        refreshed: 0,
    };
    Some((thread.trim().parse().ok()?, status))
}

/// Unit in ns by the widths of columns: `Min:%7ld Act:%5ld` in microseconds, `Min:%7ld Act:%8ld` in nanoseconds.
fn unit_of(line: &str) -> Option<i64> {
    let width = |name: &str| {
        let (_, rest) = line.split_once(name)?;
        let blanks = rest.len() - rest.trim_start().len();
        rest[blanks..].find(|c: char| !c.is_ascii_digit() && c != '-').map(|digits| (blanks, blanks + digits))
    };
    match (width("Min:")?, width("Act:")?) {
        ((_, 7), (1.., 5)) => Some(1_000),
        ((_, 7), (1.., 8)) => Some(1),
        _ => None,
    }
}

/// Thread, cycle and latency of a line such as `       1:     212:       9`.
fn sample_of(line: &str) -> Option<(usize, u64, i64)> {
    let mut fields = split_at_byte(line, b':').map(str::trim_ascii);
    let sample = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?);
    // With --smi a count follows the latency.
    let latency = sample.2.split_ascii_whitespace().next()?.parse().ok()?;
    fields.next().is_none().then_some((sample.0, sample.1, latency))
}

/// Thread, time in microseconds and latency of a line such as `T: 0 Spike:     212: TS:   1234567890`.
fn spike_of(line: &str) -> Option<(usize, u64, i64)> {
    let (thread, rest) = line.strip_prefix("T:")?.split_once(" Spike:")?;
    let figure = |name: &str| number_after(rest, name);
    Some((thread.trim().parse().ok()?, figure("TS:")? as u64, figure("")? as i64))
}

/// Bin and counts of a histogram's row: `000012 000213`, with a tab before each further count.
fn headless_row(line: &str) -> Option<Vec<u64>> {
    let (bin, counts) = line.split_once(' ')?;
    let wide = bin.len() >= 6 && bin.bytes().all(|b| b.is_ascii_digit());
    let counts: Option<Vec<u64>> = counts.split('\t').map(|count| count.parse().ok()).collect();
    let (bin, counts) = (bin.parse().ok()?, counts?);
    wide.then(|| std::iter::once(bin).chain(counts).collect())
}

/// Returns true if the output is nothing but rows of a histogram.
fn is_headless_histogram(input: &Input) -> bool {
    let mut rows = lines(input.text).filter(|(_, line)| !line.is_empty()).peekable();
    !input.columns_given && rows.peek().is_some() && rows.all(|(_, line)| headless_row(line).is_some())
}

const HEAD: &str = "# Histogram";

fn recognise(input: &Input) -> bool {
    let samples = lines(input.text).filter(|(_, line)| !line.starts_with('#')).take(200);
    let may_be = |line: &str| matches!(line.as_bytes().first(), Some(b'#' | b'T'));
    lines(input.text).any(|(_, line)| may_be(line) && (line == HEAD || status_of(line).is_some()))
        || samples.filter(|(_, line)| sample_of(line).is_some()).count() >= 3
        || is_headless_histogram(input)
}

/// Data of a thread in the output, in units.
#[derive(Debug, Default)]
struct Thread {
    /// Every line that was refreshed, the last one last.
    status: Vec<Status>,
    /// Cycle and latency.
    samples: Vec<(u64, i64)>,
    /// Cycles of latencies above the histogram.
    overflow_cycles: Vec<u64>,
    /// Time in microseconds and latency of each that `--spike` lists.
    spikes: Vec<(u64, i64)>,
}

/// A line behind the histogram, with a figure for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Footer {
    Total,
    Min,
    Average,
    Max,
    Overflows,
}

const FOOTERS: [(&str, Footer); 5] = [
    ("# Total:", Footer::Total),
    ("# Min Latencies:", Footer::Min),
    ("# Avg Latencies:", Footer::Average),
    ("# Max Latencies:", Footer::Max),
    ("# Histogram Overflows:", Footer::Overflows),
];

/// Content of an output of cyclictest.
#[derive(Debug, Default)]
struct Output {
    threads: BTreeMap<usize, Thread>,
    /// True if a histogram begins.
    has_head: bool,
    /// Bin and counts.
    rows: Vec<Vec<u64>>,
    footers: Vec<(Footer, Vec<u64>)>,
    /// Printed by each thread of `-v`: the interval of the next one, in microseconds.
    next_intervals: Vec<i64>,
    ids: Vec<u64>,
    break_id: Option<u64>,
    break_value: Option<i64>,
    /// Number of refreshes of the display, and the last one with a thread.
    refreshed: u64,
    last_refresh: u64,
    /// The place of the thread that stopped the tool among those that it names.
    break_place: Option<usize>,
}

impl Output {
    fn from_text(text: &str) -> Result<Self, ImportError> {
        let mut output = Output::default();
        for (number, line) in lines(text) {
            // Nearly all lines of a long output.
            if output.take_sample(line).map_err(|why| why.at_line(number))? {
                continue;
            }
            match FOOTERS.iter().find_map(|(name, footer)| Some((*footer, line.strip_prefix(name)?))) {
                Some((footer, figures)) => {
                    output.footers.push((footer, expect_numbers(number, figures)?));
                }
                None => output.take_line(line).map_err(|why| why.at_line(number))?,
            }
        }
        output.break_place = output.break_id.and_then(|id| output.ids.iter().position(|of| *of == id));
        let is_found =
            output.thread_numbers()?.into_iter().any(|thread| output.stop_latency(thread).is_some());
        // The thread is in no line any more; the value stays.
        if output.break_value.is_some() && !is_found {
            (output.break_id, output.break_place) = (None, None);
        }
        Ok(output)
    }

    /// Takes a line with a single latency; false for any other line.
    fn take_sample(&mut self, line: &str) -> Result<bool, Unreadable> {
        let Some((thread, cycle, latency)) = sample_of(line) else { return Ok(false) };
        let samples = &mut self.threads.entry(thread).or_default().samples;
        if samples.last().is_some_and(|(last, _)| *last >= cycle) {
            return Err(Unreadable::SecondMeasurement);
        }
        samples.push((cycle, latency));
        Ok(true)
    }

    fn take_line(&mut self, line: &str) -> Result<(), Unreadable> {
        self.refreshed += u64::from(line.starts_with("policy:"));
        let number_behind = |name: &str| line.strip_prefix(name)?.trim().parse::<u64>().ok();
        if let Some((thread, status)) = status_of(line) {
            return self.add_status(thread, Status { refreshed: self.refreshed, ..status });
        }
        if line == HEAD {
            if std::mem::replace(&mut self.has_head, true) {
                return Err(Unreadable::SecondMeasurement);
            }
        } else if let Some((thread, at, latency)) = spike_of(line) {
            let spikes = &mut self.threads.entry(thread).or_default().spikes;
            if spikes.last().is_some_and(|(last, _)| *last >= at) {
                return Err(Unreadable::SecondMeasurement);
            }
            spikes.push((at, latency));
        } else if let Some((_, interval)) =
            line.strip_prefix("Thread ").and_then(|l| l.split_once(" Interval: "))
        {
            self.next_intervals.extend(interval.trim().parse::<i64>());
        } else if let Some(ids) = line.strip_prefix("# Thread Ids:") {
            self.ids = numbers(ids).unwrap_or_default();
        } else if let Some(id) = number_behind("# Break thread:") {
            self.break_id = Some(id);
        } else if let Some(value) = number_behind("# Break value:") {
            self.break_value =
                Some(self.break_value.unwrap_or(0).max(i64::try_from(value).unwrap_or(i64::MAX)));
        } else if let Some((thread, cycles)) = line.strip_prefix("# Thread ").and_then(|l| l.split_once(':'))
        {
            let cycles = cycles.split('#').next().and_then(numbers).unwrap_or_default();
            let thread = thread.trim().parse().map_err(|_| Unreadable::unexpected(thread, "a count"))?;
            self.threads.entry(thread).or_default().overflow_cycles = cycles;
        } else if let Some(row) = numbers::<u64>(line).filter(|row| row.len() > 1) {
            if self.rows.last().is_some_and(|last| last[0] >= row[0]) {
                return Err(Unreadable::SecondMeasurement);
            }
            if let Some(columns) = self.rows.last().map(Vec::len).filter(|columns| *columns != row.len()) {
                return Err(Unreadable::CountsOfRow { counts: row.len() - 1, columns: columns - 1 });
            }
            if row.len() > TASKS {
                return Err(Unreadable::TooMany { what: "tasks", most: TASKS });
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// Adds a thread's line of figures, in place of one from before it ran; one of another measurement is an error.
    fn add_status(&mut self, thread: usize, status: Status) -> Result<(), Unreadable> {
        self.last_refresh = self.refreshed;
        let all = &mut self.threads.entry(thread).or_default().status;
        match all.last() {
            Some(last) if last.id > 0 && (last.id != status.id || last.count > status.count) => {
                return Err(Unreadable::SecondMeasurement);
            }
            Some(last) if last.count == 0 => *all = vec![status],
            _ => all.push(status),
        }
        Ok(())
    }

    fn status_lines(&self) -> impl Iterator<Item = &Status> {
        self.threads.values().flat_map(|thread| &thread.status)
    }

    /// Figures of one thread in the footer lines of this kind.
    fn footer_figures(&self, wanted: Footer, thread: usize) -> impl Iterator<Item = u64> {
        let all = self.footers.iter().filter(move |(footer, _)| *footer == wanted);
        all.filter_map(move |(_, figures)| figures.get(thread).copied())
    }

    /// `Some` if this thread may have stopped the tool, with the latency at which it stopped if that is stated. Any
    /// thread may where the output does not name it.
    fn stop_latency(&self, thread: usize) -> Option<Option<i64>> {
        let is_it = match (self.break_id, self.break_place) {
            (None, _) => self.break_value.is_some(),
            (_, Some(place)) => place == thread,
            (Some(id), None) => {
                let status = self.threads.get(&thread).map_or(&[][..], |thread| &thread.status);
                status.iter().all(|status| [id, 0].contains(&status.id))
            }
        };
        is_it.then_some(self.break_value)
    }

    /// Returns true if the last refresh lacks a thread: its figures are from some time before the end.
    fn is_stale(&self, thread: usize) -> bool {
        let of = self.threads.get(&thread).and_then(|thread| thread.status.last());
        of.is_some_and(|status| status.refreshed < self.last_refresh)
    }

    /// Periods of a thread that the output states, in nanoseconds.
    fn periods(&self, thread: usize, command: Option<&Command<'_>>) -> Vec<i64> {
        let status = self.threads.get(&thread).into_iter().flat_map(|thread| &thread.status);
        let mut all: Vec<i64> = status.filter_map(|status| status.interval).collect();
        let number = |names| command.and_then(|command| command.option_number(names));
        let is_histogram = !self.rows.is_empty() || !self.footers.is_empty();
        // Each thread has a longer interval than the one before it, unless a histogram is made.
        let distance = match self.next_intervals[..] {
            _ if is_histogram => Some(0),
            [first, second, ..] => Some(second.saturating_sub(first)),
            _ => number(["d", "distance"]),
        };
        let step =
            distance.map(|distance| distance.saturating_mul(i64::try_from(thread).unwrap_or(i64::MAX)));
        let step = step.or((thread == 0).then_some(0));
        let interval = number(["i", "interval"]).or(command.map(|_| USUAL_US));
        all.extend(interval.zip(step).map(|(interval, step)| interval.saturating_add(step)));
        let next = self.next_intervals.get(thread).zip(distance).filter(|_| !is_histogram);
        all.extend(next.map(|(next, distance)| next.saturating_sub(distance)));
        all.into_iter().map(|us| clamped_ns(us, 1_000)).filter(|ns| *ns > 0).collect()
    }

    /// Statements about the latencies of a thread. Refreshed lines are from some time before a histogram's end.
    fn latency_statements(&self, thread: usize, unit_ns: i64) -> Statements {
        let mut stated = Statements::with_unit(unit_ns);
        let in_units = |value: u64| clamped_ns(i64::try_from(value).unwrap_or(i64::MAX), unit_ns);
        let of = |footer| self.footer_figures(footer, thread);
        for row in &self.rows {
            let low = in_units(row[0]);
            let count = row.get(thread + 1).copied().unwrap_or(0);
            stated.add_bin(low, low.saturating_add(unit_ns - 1), count);
        }
        let limit = self.rows.last().map_or(0, |row| in_units(row[0].saturating_add(1)));
        stated.add(of(Footer::Min).map(|min| Statement::Min(in_units(min))));
        stated.add(of(Footer::Max).map(|max| Statement::Max(in_units(max))));
        stated.add(of(Footer::Average).map(|mean| Statement::CutMean(in_units(mean) as f64)));
        stated.add(of(Footer::Total).map(Statement::Binned));
        let overflows = of(Footer::Overflows).max();
        stated.add(overflows.map(|count| Statement::Overflow { from: limit, count }));
        if self.footers.is_empty() && !self.rows.is_empty() {
            stated.add([Statement::Open { from: limit }]);
        }
        let status = self.threads.get(&thread).map_or(&[][..], |thread| &thread.status);
        let units = |value: f64| (value * unit_ns as f64) as i64;
        let so_far =
            status.iter().flat_map(|s| [Statement::CountSoFar(s.count), Statement::MaxSoFar(units(s.max))]);
        stated.add(so_far);
        if let Some(last) = status.last().filter(|_| self.footers.is_empty()) {
            stated.add([Statement::Min(units(last.min)), Statement::Mean(last.mean * unit_ns as f64)]);
        }
        let spikes = self.threads.get(&thread).map_or(&[][..], |thread| &thread.spikes);
        stated.add(spikes.iter().map(|(_, latency)| Statement::MaxSoFar(clamped_ns(*latency, unit_ns))));
        let stopped = self.stop_latency(thread).flatten();
        stated.add(stopped.map(|value| Statement::MaxSoFar(clamped_ns(value, unit_ns))));
        stated
    }

    /// Warning of cycles above the histogram that several threads share; `None` for fewer than two.
    fn shared_stalls(&self) -> Option<Warning> {
        let lists =
            self.threads.values().map(|thread| &thread.overflow_cycles).filter(|list| !list.is_empty());
        let lists: Vec<BTreeSet<u64>> = lists.map(|list| list.iter().copied().collect()).collect();
        let longest = lists.iter().max_by_key(|list| list.len())?;
        // Threads do not begin in the same cycle.
        let near = |list: &BTreeSet<u64>, cycle: u64| {
            list.range(cycle.saturating_sub(1)..=cycle.saturating_add(1)).next().is_some()
        };
        let shared =
            longest.iter().map(|cycle| lists.iter().filter(|list| near(list, *cycle)).count() as u64);
        let shared: Vec<u64> = shared.filter(|tasks| *tasks > 1).collect();
        (shared.len() >= 2).then(|| Warning::SharedStalls {
            cycles: shared.len() as u64,
            of: longest.len() as u64,
            tasks: shared.iter().copied().min().unwrap_or(0),
        })
    }
}

/// cyclictest's interval unless one is given, in microseconds.
const USUAL_US: i64 = 1_000;

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let output = Output::from_text(input.text)?;
    let command = Command::find_in_text(input.text, "cyclictest", RT_TESTS);
    let tool = match output.status_lines().next() {
        Some(Status { interval: None, cpu: Some(_), .. }) => "jitterdebugger",
        Some(Status { interval: None, cpu: None, .. }) => "signaltest",
        _ => "cyclictest",
    };
    let mut import = Import::new(tool, "monotonic");
    let by_command =
        command.as_ref().map(|command| if command.has_option(["N", "nsecs"]) { 1 } else { 1_000 });
    let by_width = output.status_lines().find_map(|status| status.unit_ns);
    // Columns that somebody has changed, or a command of another output: the larger unit is the safe one, and none is sure.
    let contradicts = by_width == Some(1_000) && by_command == Some(1);
    let unit_ns = import.unit_or_default(by_width.or(by_command).filter(|_| !contradicts), hints, 1_000);
    let has_footer = |wanted| output.footers.iter().any(|(footer, _)| *footer == wanted);
    if output.has_head && !(has_footer(Footer::Min) && has_footer(Footer::Max)) {
        return Err(Unreadable::Cut.into());
    }
    let listed = output.thread_numbers()?;
    for &thread in &listed {
        let status = output.threads.get(&thread).and_then(|thread| thread.status.last().copied());
        let alone = output.footers.is_empty() && !output.rows.is_empty();
        let name = format!("{}{thread}", if alone { "core" } else { "thread" });
        let period = match tool {
            "signaltest" => Period::None,
            _ => import.consistent_period(
                &name,
                &output.periods(thread, command.as_ref()),
                hints,
                USUAL_US * 1_000,
            ),
        };
        let details = TaskDetails::new(name, period)
            .on_cpu(status.and_then(|status| status.cpu).or(bound_cpu(command.as_ref(), thread)));
        let details = match tool {
            "cyclictest" => details.with_skips_when_late(),
            "jitterdebugger" => details.with_catch_up(),
            _ => details,
        };
        let details = if alone { details.with_gap(Gap::Count) } else { details };
        output.add_thread(
            &mut import,
            details,
            thread,
            unit_ns,
            block_length(&output, command.as_ref(), thread),
        );
    }
    if contradicts && hints.unit_ns.is_none() {
        import.info.tasks.iter_mut().for_each(|task| task.unknown.push(Gap::Unit));
    }
    import.warn_of_unlisted_threads(output.named_thread_count(command.as_ref()), listed.len());
    import.info.warnings.extend(output.shared_stalls());
    if output.footers.is_empty() && !output.rows.is_empty() {
        import.warn(Warning::EndsBelowMaximum);
    }
    import.warn(match tool {
        "jitterdebugger" => Warning::CatchesUp { tool: tool.into() },
        "signaltest" => Warning::NoPeriod { tool: tool.into(), measures: Aperiodic::Signals },
        _ if output.threads.values().any(|thread| !thread.samples.is_empty()) => {
            Warning::DueTimesAssumed { tool: tool.into() }
        }
        _ => {
            import.warn_uncounted_misses(tool);
            return import.complete();
        }
    });
    import.complete()
}

/// The processor that a thread was bound to.
fn bound_cpu(command: Option<&Command<'_>>, thread: usize) -> Option<u16> {
    let command = command?;
    match command.option_list(["a", "affinity"]) {
        Some(cpus) if !cpus.is_empty() => Some(cpus[thread % cpus.len()]),
        // Without a list thread n runs on processor n.
        _ => (command.has_option(["S", "smp"]) || command.option_value(["a", "affinity"]) == Some(None))
            .then(|| u16::try_from(thread).ok())?,
    }
}

/// Number of activations for each listed latency, their largest (`-o`); `None` if every latency is listed.
fn block_length(output: &Output, command: Option<&Command<'_>>, thread: usize) -> Option<u64> {
    let samples = &output.threads.get(&thread)?.samples;
    let said = command
        .and_then(|command| command.option_number(["o", "oscope"]))
        .and_then(|n| u64::try_from(n).ok());
    // Row k is of the block from cycle k times its length on.
    let lengths = (0..).zip(samples).map(|(k, (cycle, _))| {
        ((cycle / (k + 1)).saturating_add(1), cycle.checked_div(k).unwrap_or(u64::MAX))
    });
    let (least, most) =
        lengths.fold((2, u64::MAX), |(least, most), (from, to)| (from.max(least), to.min(most)));
    said.filter(|each| *each > 1).or((samples.len() > 2 && least <= most).then_some(least))
}

impl Output {
    /// The numbers of its threads.
    fn thread_numbers(&self) -> Result<BTreeSet<usize>, ImportError> {
        let of = |wanted| {
            let all = self.footers.iter().filter(move |(footer, _)| *footer == wanted);
            all.map(|(_, figures)| figures.len()).max().unwrap_or(0)
        };
        let (columns, threads) = (self.rows.first().map_or(0, |row| row.len() - 1), of(Footer::Min));
        if of(Footer::Max) < threads {
            return Err(Unreadable::Cut.into());
        }
        let of_histogram = match self.footers.is_empty() {
            true => columns,
            false if columns < threads && !self.rows.is_empty() => {
                return Err(
                    Error::damaged(format!("a row has fewer columns than the {threads} threads")).into()
                );
            }
            false => threads,
        };
        let named =
            self.threads.iter().filter(|(_, thread)| !thread.status.is_empty() || !thread.samples.is_empty());
        Ok(named.map(|(number, _)| *number).chain(0..of_histogram).collect())
    }

    /// Number of threads by the command line, and by all lines but those of the histogram.
    fn named_thread_count(&self, command: Option<&Command<'_>>) -> usize {
        let by_command = command.and_then(|command| command.option_number(["t", "threads"]));
        let by_command = by_command.and_then(|threads| usize::try_from(threads).ok()).unwrap_or(0);
        let last = self.threads.keys().last().map_or(0, |last| last + 1);
        by_command.max(last).max(self.ids.len()).max(self.next_intervals.len())
    }

    /// Adds a thread as a task.
    fn add_thread(
        &self,
        import: &mut Import,
        details: TaskDetails,
        thread: usize,
        unit_ns: i64,
        block: Option<u64>,
    ) {
        let mut stated = self.latency_statements(thread, unit_ns);
        let one = self.threads.get(&thread);
        let samples = one.map_or(&[][..], |one| &one.samples);
        let name = details.name().to_owned();
        let interrupts = one.and_then(|one| one.status.last()?.interrupts).filter(|count| *count > 0);
        let stopped = self.stop_latency(thread);
        let is_stale = self.is_stale(thread) && self.footers.is_empty();
        let details = details.with_end_checked(import, !is_stale);
        let details = if stopped == Some(None) { details.with_gap(Gap::Figures) } else { details };
        let executed = import.tasks.len();
        match block {
            _ if samples.is_empty() => import.add_latencies(details, &stated),
            Some(activations) => {
                let largest =
                    samples.iter().map(|(_, latency)| Statement::MaxSoFar(clamped_ns(*latency, unit_ns)));
                stated.add(largest);
                let count = activations.saturating_mul(samples.len() as u64);
                stated.add([Statement::Overflow { from: 0, count }]);
                import.add_latencies(details, &stated);
                import.info.warnings.push(Warning::LargestOfBlocks { task: name.clone(), activations });
            }
            None => {
                let stopped_ns = stopped.flatten().map(|latency| clamped_ns(latency, unit_ns));
                let rows = listed_activations(samples, stopped_ns, details.period_ns(), unit_ns);
                import.add_rows(details.with_gap(Gap::DueTimes), rows, &stated);
            }
        }
        if import.tasks.len() == executed {
            return;
        }
        import
            .info
            .warnings
            .extend(interrupts.map(|count| Warning::ManagementInterrupts { of: name.clone(), count }));
        let period_ns =
            import.info.tasks.last().filter(|task| task.knows(Gap::Period)).map(|task| task.spec.period_ns);
        let spikes =
            one.map(|one| one.spikes.iter().map(|(at, _)| *at).collect::<Vec<u64>>()).unwrap_or_default();
        let cycles = one.map(|one| one.overflow_cycles.clone()).unwrap_or_default();
        for (mut at, each_ns) in [(cycles, period_ns), (spikes, Some(1_000))] {
            at.sort_unstable();
            if !at.is_empty() {
                import.info.warnings.push(Warning::ListedLate { task: name.clone(), at, each_ns });
            }
        }
        let at = stopped.map(|latency| latency.map(|latency| clamped_ns(latency, unit_ns)));
        import.info.warnings.extend(at.map(|latency_ns| Warning::Stopped { task: name, latency_ns }));
    }
}

/// Activations of listed latencies, with due times taken as cycle times interval. After a miss that is too early, since
/// cyclictest skips the due times it missed without counting them as cycles. The latency at which it stopped is the
/// last one, in no line of its own.
fn listed_activations(
    samples: &[(u64, i64)],
    stopped_ns: Option<i64>,
    period_ns: i64,
    unit_ns: i64,
) -> Vec<Activation> {
    let mut next = 0;
    let row = |index: u64, latency_ns: i64, flags: Flags| {
        let due_ns = clamped_ns(i64::try_from(index).unwrap_or(i64::MAX), period_ns);
        let start_ns = due_ns.saturating_add(latency_ns);
        Activation { index, due_ns, start_ns, end_ns: start_ns, flags, ..Activation::default() }
    };
    let mut rows: Vec<Activation> = Vec::with_capacity(samples.len() + 1);
    for (index, latency) in samples {
        let flags = if *index == next { Flags::default() } else { Flags::AFTER_GAP };
        next = index.saturating_add(1);
        rows.push(row(*index, clamped_ns(*latency, unit_ns), flags));
    }
    let is_listed =
        |stopped: &i64| samples.last().is_some_and(|(_, last)| clamped_ns(*last, unit_ns) == *stopped);
    if let Some(stopped_ns) = stopped_ns.filter(|stopped| !is_listed(stopped)) {
        rows.push(row(next.saturating_add(1), stopped_ns, Flags::AFTER_GAP));
    }
    rows
}
