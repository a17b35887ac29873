//! A run as cycles: from one turn of the task to the next, with everything that happens between, and how often each kind occurs.
//!
//! A turn is a due time that is served while nothing of the work before is left. Where latencies and execution times are
//! independent, cycles are so too, although the intervals between starts are not. A job that overruns is one cycle with the due
//! times it misses; a burst that catches up is one cycle of many jobs.
//!
//! Cycles whose events come in the same order and fall into the same bins of time are one pattern, at their mean times. Bins
//! end at multiples of the period, where the cost jumps, so that what the rounding leaves is of second order.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::looped::{Act, Event};
use super::timing::Moment;

/// How a cycle went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Course {
    /// One job, done before the next was due.
    InTime,
    /// A job was late by less than a period, or killed.
    Late,
    /// A job was later, or several were late.
    Later,
}

impl Course {
    /// All of them.
    pub const COUNT: usize = 3;

    fn of(acts: impl Iterator<Item = Act>, periods: f64) -> Course {
        let (mut jobs, mut without) = (0, false);
        for act in acts {
            jobs += usize::from(act == Act::Sample);
            without |= matches!(act, Act::Zero | Act::Predict);
        }
        match periods {
            periods if periods < 1.5 && jobs == 1 && !without => Course::InTime,
            periods if periods < 2.5 => Course::Late,
            _ => Course::Later,
        }
    }

    pub(super) fn of_cycle((events, length): OneCycle, period_ns: i64) -> Course {
        Course::of(events.iter().map(|(_, event)| event.act), length as f64 / period_ns as f64)
    }
}

/// A kind of cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Events with their mean time from the begin of the cycle, in ns.
    pub events: Vec<(f64, Event)>,
    /// Mean length in ns.
    pub length_ns: f64,
    /// How often it occurs.
    pub count: u64,
}

impl Pattern {
    /// Jobs that started in it.
    pub fn jobs(&self) -> usize {
        self.events.iter().filter(|(_, event)| event.act == Act::Sample).count()
    }

    /// How many periods it lasts.
    pub fn periods(&self, period_ns: i64) -> f64 {
        self.length_ns / period_ns as f64
    }

    /// How it went.
    pub fn course(&self, period_ns: i64) -> Course {
        Course::of(self.events.iter().map(|(_, event)| event.act), self.periods(period_ns))
    }
}

/// How finely a run is told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fineness {
    /// Width of a bin of time in ns.
    pub width_ns: i64,
    /// Most jobs of a cycle; a longer burst is cut where jobs start.
    pub jobs: usize,
}

/// Cuts a stream of moments into cycles and gives each with what it is made of.
#[derive(Debug, Clone)]
struct Cutter {
    most_jobs: usize,
    begin_ns: Option<i64>,
    jobs: usize,
    events: Vec<(i64, Event)>,
}

impl Cutter {
    fn new(most_jobs: usize) -> Cutter {
        Cutter { most_jobs, begin_ns: None, jobs: 0, events: Vec::new() }
    }

    /// Takes a moment; gives the cycle that it ends, as events and length.
    fn pass(&mut self, moment: Moment, mut give: impl FnMut(Option<OneCycle>)) {
        match moment {
            Moment::Cut(_) => {
                if self.begin_ns.take().is_some() {
                    give(None);
                }
                self.events.clear();
                self.jobs = 0;
            }
            Moment::Turn(time) => self.end(time, give),
            Moment::At(time, event) => {
                if event.act == Act::Sample {
                    if self.jobs == self.most_jobs {
                        self.end(time, give);
                    }
                    self.jobs += 1;
                }
                if let Some(begin) = self.begin_ns {
                    self.events.push((time - begin, event));
                }
            }
        }
    }

    fn end(&mut self, time: i64, mut give: impl FnMut(Option<OneCycle>)) {
        if let Some(begin) = self.begin_ns.replace(time) {
            give(Some((&self.events, time - begin)));
        }
        self.events.clear();
        self.jobs = 0;
    }
}

/// A cycle: its events from its begin, and its length.
pub(super) type OneCycle<'a> = (&'a [(i64, Event)], i64);

/// Sums over the cycles of one pattern.
#[derive(Debug, Clone)]
struct Sums {
    count: u64,
    length: f64,
    offsets: Vec<f64>,
}

/// Keys by numbers: each word is mixed in by a product. There are too few keys for a run to be made slow by choosing them.
#[derive(Debug, Clone, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Numbers = HashMap<Box<[u64]>, u32, BuildHasherDefault<Mixed>>;

/// The patterns of a run with how often they occur.
#[derive(Debug, Clone)]
pub struct Cycles {
    period_ns: i64,
    fineness: Fineness,
    cutter: Cutter,
    numbers: Numbers,
    sums: Vec<Sums>,
    key: Vec<u64>,
    overflown: bool,
}

/// Most patterns told apart; of more, times are told apart more coarsely.
const MOST_PATTERNS: usize = 1_200;
/// Bins of a period at which bursts are cut rather than times told apart more coarsely.
const COARSE: i64 = 64;

impl Cycles {
    /// Whole bursts of up to this many jobs at first.
    pub const WHOLE: usize = 8;

    /// None yet; with cycles of at most so many jobs.
    pub fn new(period_ns: i64, most_jobs: usize) -> Cycles {
        Cycles {
            period_ns,
            fineness: Fineness { width_ns: 1, jobs: most_jobs },
            cutter: Cutter::new(most_jobs),
            numbers: Numbers::default(),
            sums: Vec::new(),
            key: Vec::new(),
            overflown: false,
        }
    }

    /// How finely it tells apart.
    pub fn fineness(&self) -> Fineness {
        self.fineness
    }

    /// Whether bursts are so many and so different that they have to be cut: begin anew with cycles of one job.
    pub fn must_cut_bursts(&self) -> bool {
        self.overflown && self.fineness.jobs > 1
    }

    /// Takes the next moment.
    pub fn pass(&mut self, moment: Moment) {
        self.pass_with(moment, |_| {});
    }

    /// The same, and gives each cycle that is complete: its events and its length, or `None` where records are lost.
    pub(super) fn pass_with(&mut self, moment: Moment, mut give: impl FnMut(Option<OneCycle>)) {
        let mut cutter = std::mem::replace(&mut self.cutter, Cutter::new(0));
        cutter.pass(moment, |whole| {
            give(whole);
            if let Some((events, length)) = whole
                && !self.must_cut_bursts()
            {
                self.count(events, length);
            }
        });
        self.cutter = cutter;
    }

    fn count(&mut self, events: &[(i64, Event)], length: i64) {
        let number = self.number(events, length);
        let sums = match number {
            Some(number) => &mut self.sums[number as usize],
            None => {
                self.numbers.insert(self.key.clone().into(), self.sums.len() as u32);
                self.sums.push(Sums { count: 0, length: 0.0, offsets: vec![0.0; events.len()] });
                let last = self.sums.len() - 1;
                &mut self.sums[last]
            }
        };
        sums.count += 1;
        sums.length += length as f64;
        sums.offsets.iter_mut().zip(events).for_each(|(sum, (offset, _))| *sum += *offset as f64);
        while self.sums.len() > MOST_PATTERNS && !self.overflown {
            self.coarsen();
        }
    }

    /// The number of a cycle's pattern, if it is known; its key is left in `key`.
    fn number(&mut self, events: &[(i64, Event)], length: i64) -> Option<u32> {
        let (period, width) = (self.period_ns, self.fineness.width_ns);
        let bins = period / width + i64::from(period % width > 0);
        let bin = |time: i64| {
            let time = time.max(0);
            (time / period * bins + time % period / width) as u64
        };
        self.key.clear();
        self.key.push(bin(length));
        self.key.extend(
            events
                .iter()
                .map(|(offset, event)| bin(*offset) << 16 | u64::from(event.by) << 8 | event.act as u64),
        );
        self.numbers.get(self.key.as_slice()).copied()
    }

    /// Bins of twice the width: each of two old ones.
    fn coarsen(&mut self) {
        let old = (self.period_ns + self.fineness.width_ns - 1) / self.fineness.width_ns;
        self.fineness.width_ns *= 2;
        let new = (self.period_ns + self.fineness.width_ns - 1) / self.fineness.width_ns;
        let wider = |bin: u64| bin / old as u64 * new as u64 + bin % old as u64 / 2;
        let mut numbers = Numbers::default();
        let mut kept: Vec<Sums> = Vec::new();
        // In their order, so that the same run gives the same figures each time.
        let mut before: Vec<(Box<[u64]>, u32)> = self.numbers.drain().collect();
        before.sort_unstable_by_key(|(_, number)| *number);
        for (mut key, number) in before {
            key[0] = wider(key[0]);
            key[1..].iter_mut().for_each(|word| *word = wider(*word >> 16) << 16 | *word & 0xffff);
            let sums = &self.sums[number as usize];
            if let Some(to) = numbers.get(&key) {
                let to = &mut kept[*to as usize];
                to.count += sums.count;
                to.length += sums.length;
                to.offsets.iter_mut().zip(&sums.offsets).for_each(|(a, b)| *a += b);
            } else {
                numbers.insert(key, kept.len() as u32);
                kept.push(sums.clone());
            }
        }
        (self.numbers, self.sums) = (numbers, kept);
        // Where single jobs alone fill the table, time is told apart as coarsely as it takes.
        let coarse = self.fineness.width_ns > self.period_ns / COARSE && self.fineness.jobs > 1;
        self.overflown = coarse && self.sums.len() > MOST_PATTERNS || self.fineness.width_ns > self.period_ns;
    }

    /// The patterns in the order of their numbers.
    pub fn patterns(&self) -> Vec<Pattern> {
        let mut patterns: Vec<Pattern> = self
            .sums
            .iter()
            .map(|sums| Pattern {
                events: Vec::new(),
                length_ns: sums.length / sums.count as f64,
                count: sums.count,
            })
            .collect();
        for (key, number) in &self.numbers {
            let (sums, pattern) = (&self.sums[*number as usize], &mut patterns[*number as usize]);
            let events = key[1..].iter().zip(&sums.offsets).map(|(word, sum)| {
                let event = Event { by: (word >> 8) as u8, act: ACTS[(word & 0xff) as usize] };
                (sum / sums.count as f64, event)
            });
            pattern.events = events.collect();
        }
        patterns
    }

    /// Goes through the same moments again, told apart as before.
    pub fn again(self) -> Retold {
        Retold { cutter: Cutter::new(self.fineness.jobs), cycles: self }
    }
}

/// Acts by their number.
const ACTS: [Act; 6] = [Act::Sample, Act::Finish, Act::Compute, Act::Write, Act::Zero, Act::Predict];

/// A second look at a run, which gives the number of each cycle's pattern.
#[derive(Debug, Clone)]
pub struct Retold {
    cutter: Cutter,
    cycles: Cycles,
}

impl Retold {
    /// Takes the next moment; gives the number of the pattern that it completes, or `None` where records are lost.
    pub fn pass(&mut self, moment: Moment, mut give: impl FnMut(Option<u32>)) {
        let cycles = &mut self.cycles;
        self.cutter.pass(moment, |whole| match whole {
            Some((events, length)) => {
                if let Some(number) = cycles.number(events, length) {
                    give(Some(number));
                }
            }
            None => give(None),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servo::timing::{Job, Moments, TaskTiming};

    const H: i64 = 1_000_000;

    fn job(index: i64, latency: i64, execution: i64) -> Job {
        let due_ns = index * H;
        let start_ns = due_ns + latency;
        Job { due_ns, start_ns, end_ns: start_ns + execution, killed: false, after_gap: false }
    }

    fn cycles(jobs: &[Job], most_jobs: usize) -> (Cycles, Vec<Option<u32>>) {
        let moments = |give: &mut dyn FnMut(Moment)| {
            let mut moments = Moments::new(TaskTiming::default(), H, 0);
            jobs.iter().for_each(|job| moments.job(job, &mut *give));
        };
        let mut found = Cycles::new(H, most_jobs);
        moments(&mut |moment| found.pass(moment));
        let (mut numbers, mut again) = (Vec::new(), found.clone().again());
        moments(&mut |moment| again.pass(moment, |number| numbers.push(number)));
        (found, numbers)
    }

    #[test]
    fn a_job_that_overruns_is_one_cycle_with_the_due_time_it_misses() {
        let jobs: Vec<Job> =
            [0, 1, 3, 4, 6].map(|k| job(k, 0, if k == 1 || k == 4 { H + 200 } else { 500 })).into();
        let (found, numbers) = cycles(&jobs, 8);
        let patterns = found.patterns();
        assert_eq!(patterns.len(), 2);
        assert_eq!(numbers, [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!((patterns[1].length_ns, patterns[1].count), (2e6, 2));
        let times: Vec<f64> = patterns[1].events.iter().map(|e| e.0).collect();
        assert_eq!(times, [0.0, 1_000_200.0]);
        assert_eq!((patterns[0].course(H), patterns[1].course(H)), (Course::InTime, Course::Late));
    }

    #[test]
    fn a_burst_is_one_cycle_or_is_cut_where_jobs_start() {
        // Each half a period too long; the third catches up.
        let burst =
            [job(0, 0, 3 * H / 2), job(1, H / 2, H), job(2, H / 2, 100), job(3, 0, 100), job(4, 0, 100)];
        let (whole, numbers) = cycles(&burst, 8);
        assert_eq!((numbers.len(), whole.patterns()[0].jobs()), (2, 3));
        let (cut, numbers) = cycles(&burst, 1);
        assert_eq!(numbers.len(), 4);
        assert_eq!(cut.patterns()[0].length_ns, 1.5e6, "from start to start");
    }

    #[test]
    fn many_different_times_are_told_apart_more_coarsely_around_their_means() {
        let jobs: Vec<Job> =
            (0..5_001).map(|k| job(k, k * 37 % 99_991, 1_000 + k * 7_919 % 10_007)).collect();
        let (found, numbers) = cycles(&jobs, 8);
        let patterns = found.patterns();
        assert!(patterns.len() <= MOST_PATTERNS && found.fineness().width_ns > 1);
        assert_eq!((patterns.iter().map(|p| p.count).sum::<u64>(), numbers.len()), (5_000, 5_000));
        let mean: f64 = patterns.iter().map(|p| p.events[0].0 * p.count as f64).sum::<f64>() / 5_000.0;
        let exact = (0..5_000).map(|k| f64::from(k * 37 % 99_991)).sum::<f64>() / 5_000.0;
        assert!((mean - exact).abs() < 1e-6);
        // No bin holds ends before and after the next due time.
        let near: Vec<Job> = (0..5_001).map(|k| job(2 * k, 0, H - 2_500 + k)).collect();
        let split = cycles(&near, 8).0.patterns();
        let late = |p: &&Pattern| p.events[1].0 >= H as f64;
        assert!(split.iter().filter(late).map(|p| p.count).sum::<u64>() == 2_500);
        let close = |p: &Pattern| (p.events[1].0 - H as f64).abs() < 2.0 * found.fineness().width_ns as f64;
        assert!(split.iter().any(close));
    }

    #[test]
    fn bursts_too_different_to_be_told_apart_have_to_be_cut() {
        let (mut jobs, mut free, mut random) = (Vec::new(), 0, 1u64);
        for k in 0..60_000 {
            random = random * 16_807 % 2_147_483_647;
            let (due, work) = (k * H, 300_000 + (random % 1_300_000) as i64);
            let start = due.max(free);
            free = start + work;
            jobs.push(Job { due_ns: due, start_ns: start, end_ns: free, killed: false, after_gap: false });
        }
        assert!(cycles(&jobs, 8).0.must_cut_bursts());
        let (cut, numbers) = cycles(&jobs, 1);
        assert!(!cut.must_cut_bursts() && cut.patterns().len() <= MOST_PATTERNS);
        assert!(numbers.len() > 50_000);
    }

    #[test]
    fn lost_records_end_a_cycle_without_counting_it() {
        let mut jobs: Vec<Job> = (0..6).map(|k| job(k, 0, 100)).collect();
        jobs[3].after_gap = true;
        let (found, numbers) = cycles(&jobs, 8);
        assert_eq!(numbers, [Some(0), Some(0), None, Some(0), Some(0)]);
        assert_eq!(found.patterns()[0].count, 4);
    }
}
