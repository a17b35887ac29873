//! Xenomai's `latency` and EVL's `latmus`: lines a second on the console with the sums behind them, the histogram file of `-g`, or
//! both in one paste. Times are in microseconds, perhaps negative.
//!
//! latency's file has the centre of each bin and its count plus one (so that a logarithmic plot shows empty bins), framed by one
//! row of nothing at each end. latmus' file has lower edges and counts; the last one may be open (`3+`).

use jitterlab_model::{Error, Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{check_single_measurement, clamped_ns, lines, numbers, us};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "Xenomai latency, EVL latmus", recognise, parse };

/// Head line of the figures in latency's file.
const LATENCY_HEAD: &str = "# ----lat min|";
/// The first line of latmus' file.
const LATMUS_HEAD: &str = "# test started on:";

fn is_latmus_head(line: &str) -> bool {
    line.get(..LATMUS_HEAD.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(LATMUS_HEAD))
}

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| {
        ["RTD|", "RTS|", LATENCY_HEAD].iter().any(|begin| line.starts_with(begin)) || is_latmus_head(line)
    })
}

/// The period of `RTT|  00:00:01  (periodic user-mode task, 1000 us period, priority 99)`, in nanoseconds.
fn period_of(line: &str) -> Option<i64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.windows(2).position(|w| w[0] == "us" && w[1].starts_with("period"))?;
    words.get(at.checked_sub(1)?)?.trim_start_matches('(').parse().ok().map(us)
}

/// The first number after a key in latmus' head, such as 1000 in `# sampling period: 1000 microseconds`.
fn head_number(line: &str, key: &str) -> Option<f64> {
    let line = line.strip_prefix('#')?.trim().to_lowercase();
    let line = line.strip_prefix(key)?;
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    line.split(|c| !number(c)).find_map(|word| word.parse().ok())
}

/// `00:01:12` in nanoseconds.
fn time_of(text: &str) -> Option<i64> {
    let seconds = text
        .trim()
        .split(':')
        .try_fold(0i64, |sum, part| sum.checked_mul(60)?.checked_add(part.parse::<u32>().ok()?.into()))?;
    text.contains(':').then(|| clamped_ns(seconds, 1_000_000_000))
}

/// The cells of a row like `RTD|      1.393|      2.908|`.
fn cells<'a>(line: &'a str, begin: &str) -> Option<Vec<&'a str>> {
    Some(line.strip_prefix(begin)?.split('|').map(str::trim).collect())
}

/// Data of the run.
#[derive(Default)]
struct Output {
    stated: Statements,
    periods: Vec<i64>,
    /// Length of the run in nanoseconds; where it is unknown, the next two fields sum up the lines of one second each.
    length_ns: Option<i64>,
    seconds: u64,
    sum_of_means: f64,
    overruns: Option<u64>,
    elapsed: String,
    cpu: Option<u16>,
    is_latmus: bool,
    /// Edges and counts of latency's bins.
    bins: Vec<(i64, i64, u64)>,
    /// Centres of bins and counts of latency's file, if there is one.
    centres: Option<Vec<(i64, u64)>>,
    /// True if all values are counted.
    is_counted: bool,
    /// True if a second was announced, and its figures did not follow.
    is_cut: bool,
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    check_single_measurement(input.text, |line| line.starts_with(LATENCY_HEAD))?;
    check_single_measurement(input.text, is_latmus_head)?;
    check_single_measurement(input.text, |line| line.starts_with("RTS|"))?;
    let mut output = Output::default();
    let (mut in_file, mut figures_next) = (false, false);
    for (number, line) in lines(input.text) {
        if line.starts_with(LATENCY_HEAD) {
            output.centres = Some(Vec::new());
        }
        in_file |= line.starts_with(LATENCY_HEAD) || is_latmus_head(line);
        if std::mem::replace(&mut figures_next, line.starts_with(LATENCY_HEAD)) {
            output.take_file_figures(line.trim_start_matches('#'));
        } else {
            output.take_line(line, in_file).map_err(|why| why.at_line(number))?;
        }
    }
    output.import(hints)
}

impl Output {
    fn take_line(&mut self, line: &str, in_file: bool) -> Result<(), Unreadable> {
        self.periods
            .extend(period_of(line.trim_start_matches(['#', '='])).filter(|_| !line.starts_with("RTD")));
        if let Some(period) = line.strip_prefix("== Sampling period:") {
            self.periods.extend(period.split_whitespace().next().and_then(|us| us.parse().ok()).map(us));
        } else if let Some(head) = line.strip_prefix("RTT|") {
            return self.take_console_head(head);
        } else if let Some(row) = cells(line, "RTD|") {
            self.take_second(&row)?;
            self.is_cut = false;
        } else if let Some(row) = cells(line, "RTS|") {
            self.take_totals(&row)?;
            self.is_cut = false;
        } else if let Some([kind, range, count]) = cells(line, "HSD|").as_deref() {
            self.take_console_bin(kind, range, count)?;
        } else if let Some([kind, count, mean, deviation]) = cells(line, "HSS|").as_deref() {
            let (count, _mean, deviation) = (count.parse(), mean.parse::<f64>(), deviation.parse::<f64>());
            if let (&"avg", Ok(count), Ok(deviation)) = (kind, count, deviation) {
                self.is_counted = true;
                self.stated.add([Statement::Count(count), Statement::Deviation(deviation * 1_000.0)]);
            }
        } else if is_latmus_head(line) {
            self.is_latmus = true;
        } else if line.starts_with('#') {
            self.take_head_line(line);
        } else if in_file && !line.is_empty() {
            return self.take_file_row(line);
        }
        Ok(())
    }

    /// Takes `RTT|  00:00:01  (user, 1000 us period, priority 90, CPU1)`; an error if its time goes back. It is above
    /// each screenful.
    fn take_console_head(&mut self, head: &str) -> Result<(), Unreadable> {
        let now = head.split_whitespace().next().unwrap_or_default();
        if *now < *self.elapsed {
            return Err(Unreadable::SecondMeasurement);
        }
        self.elapsed = now.into();
        let cpu = head.split("CPU").nth(1).map(|rest| rest.trim_end_matches(')'));
        self.cpu = cpu.and_then(|cpu| cpu.parse().ok()).or(self.cpu);
        self.is_latmus |= self.cpu.is_some();
        self.is_cut = true;
        Ok(())
    }

    /// Takes the line of a second, whose last three figures count from the start.
    fn take_second(&mut self, row: &[&str]) -> Result<(), Unreadable> {
        let fields: Option<Vec<f64>> = row.iter().map(|field| field.parse().ok()).collect();
        let Some([min, mean, max, overruns, _switches, best, worst]) = fields.as_deref() else {
            return Err(Unreadable::ConsoleLine);
        };
        let worst = us(worst.max(*max));
        self.stated.add([Statement::MinSoFar(us(best.min(*min))), Statement::MaxSoFar(worst)]);
        self.seconds += 1;
        self.sum_of_means += mean * 1_000.0;
        self.overruns = self.overruns.max(Some(*overruns as u64));
        Ok(())
    }

    /// Takes `RTS|  1.175|  2.955|  374.075|  40|  0|  00:01:00/00:01:00`, at the end.
    fn take_totals(&mut self, row: &[&str]) -> Result<(), Unreadable> {
        let [min, mean, max, overruns, _switches, times] = row else { return Err(Unreadable::ConsoleLine) };
        let figure =
            |text: &str| text.parse::<f64>().map_err(|_| Unreadable::unexpected(text, "a row of numbers"));
        self.stated.add([
            Statement::Min(us(figure(min)?)),
            Statement::Mean(figure(mean)? * 1_000.0),
            Statement::Max(us(figure(max)?)),
        ]);
        self.overruns = self.overruns.max(overruns.parse().ok());
        self.length_ns = times.split('/').next().and_then(time_of).or(self.length_ns);
        Ok(())
    }

    /// Takes `HSD|    avg|   1 -  2 |     4120`. Bins are of magnitudes; the rows of `min` and `max` are of seconds.
    fn take_console_bin(&mut self, kind: &str, range: &str, count: &str) -> Result<(), Unreadable> {
        let edges =
            range.split_once('-').map(|(low, high)| (low.trim().parse::<f64>(), high.trim().parse::<f64>()));
        let (Some((Ok(low), Ok(high))), Ok(count)) = (edges, count.parse()) else {
            return Err(Unreadable::unexpected(range, "a bin and its count"));
        };
        if kind == "avg" {
            self.bins.push((us(low), us(high) - 1, count));
        }
        Ok(())
    }

    /// Takes a line of a file's head.
    fn take_head_line(&mut self, line: &str) {
        let of = |key| head_number(line, key);
        self.periods.extend(of("sampling period").map(us));
        self.stated.add(of("min latency").map(|v| Statement::Min(us(v))));
        self.stated.add(of("avg latency").map(|v| Statement::Mean(v * 1_000.0)));
        self.stated.add(of("max latency").map(|v| Statement::Max(us(v))));
        self.stated.add(of("sample count").map(|n| Statement::Count(n as u64)));
        self.overruns = self.overruns.max(of("overruns").map(|n| n as u64));
        self.cpu = of("thread affinity").map(|cpu| cpu as u16).or(self.cpu);
        if line.to_lowercase().starts_with("# duration") {
            self.length_ns = line.rsplit(' ').next().and_then(time_of);
        }
    }

    /// Takes the line of figures in latency's file.
    fn take_file_figures(&mut self, line: &str) {
        let figures: Vec<f64> = line.split('|').map_while(|f| f.trim().parse().ok()).collect();
        if let [min, mean, max, ..] = &figures[..] {
            let extremes =
                [Statement::Min(us(*min)), Statement::Mean(mean * 1_000.0), Statement::Max(us(*max))];
            self.stated.add(extremes);
        }
        self.overruns = self.overruns.max(figures.get(3).map(|n| *n as u64));
    }

    /// Takes a row of a file's histogram.
    fn take_file_row(&mut self, line: &str) -> Result<(), Unreadable> {
        if !self.is_latmus {
            return match numbers::<f64>(line).as_deref() {
                Some([centre, count]) if *count >= 1.0 => {
                    let bin = (us(*centre), *count as u64 - 1);
                    self.centres.get_or_insert_default().push(bin);
                    Ok(())
                }
                _ => Err(Unreadable::unexpected(line, "a bin and its count")),
            };
        }
        let cell = line.split_once(char::is_whitespace).and_then(|(cell, count)| {
            let open = count.trim().ends_with('+') || cell.ends_with('+');
            let number = |text: &str| text.trim().trim_end_matches('+').parse::<i64>().ok();
            Some((clamped_ns(number(cell)?, 1_000), u64::try_from(number(count)?).ok()?, open))
        });
        match cell {
            Some((low, count, false)) => self.stated.add_bin(low, low.saturating_add(999), count),
            Some((from, count, true)) => self.stated.add([Statement::Overflow { from, count }]),
            None => return Err(Unreadable::unexpected(line, "a bin and its count")),
        }
        self.is_counted = true;
        Ok(())
    }

    fn add_bins_to_statements(&mut self) -> Result<(), Unreadable> {
        if let Some(centres) = &self.centres {
            let [_, bins @ .., _] = &centres[..] else { return Err(Error::damaged("it has no bins").into()) };
            let pairs = centres.windows(2).map(|p| p[1].0.saturating_sub(p[0].0));
            let width = pairs.filter(|w| *w > 0).min().unwrap_or(1_000);
            for &(centre, count) in bins {
                let low = centre.saturating_sub(width / 2);
                self.bins.push((low, low.saturating_add(width - 1), count));
            }
            self.is_counted = true;
        }
        // The last bin holds everything above it, too.
        let max = self.stated.stated_max_ns();
        let last = self.bins.iter().map(|bin| bin.0).max();
        for (low, high, count) in std::mem::take(&mut self.bins) {
            match Some(low) == last && max.is_some_and(|max| max > high) {
                true => self.stated.add([Statement::Overflow { from: low, count }]),
                false => self.stated.add_bin(low, high, count),
            }
        }
        Ok(())
    }

    fn import(mut self, hints: &Hints) -> Result<Import, ImportError> {
        let (tool, clock) =
            if self.is_latmus { ("EVL latmus", "monotonic") } else { ("Xenomai latency", "Cobalt") };
        let mut import = Import::new(tool, clock);
        let name = if self.is_latmus { "latmus" } else { "latency" };
        let period = import.consistent_period(name, &self.periods, hints, 1_000_000);
        self.add_bins_to_statements()?;
        if !self.is_counted {
            let length_ns = self.length_ns.unwrap_or_else(|| clamped_ns(self.seconds as i64, 1_000_000_000));
            let count = (length_ns / period.ns()).max(1) as u64;
            self.stated.add([Statement::Count(count)]);
            import.warn(Warning::CountUnknown);
        }
        if self.seconds > 0 {
            self.stated.add([Statement::CutMean(self.sum_of_means / self.seconds as f64)]);
        }
        let details = TaskDetails::new(name, period).on_cpu(self.cpu).with_missed(self.overruns);
        let details = if self.is_counted { details } else { details.with_gap(Gap::Count) };
        let details = details.with_end_checked(&mut import, !(self.is_cut && self.seconds > 0));
        import.add_latencies(details, &self.stated);
        import.complete()
    }
}
