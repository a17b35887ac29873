//! Weakly hard requirements, and the count of periods without an output.

use std::collections::VecDeque;
use std::str::FromStr;

use serde::Serialize;

use jitterlab_model::Error;

use crate::servo::timing::Job;

/// Weakly hard requirement (m, K): at most m misses in any K consecutive periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct WeaklyHard {
    /// m: the most misses.
    pub misses: u32,
    /// K: the number of consecutive periods.
    pub of: u32,
}

impl FromStr for WeaklyHard {
    type Err = Error;

    /// Reads `2/10`: at most 2 of any 10 periods in a row.
    fn from_str(text: &str) -> Result<Self, Error> {
        let numbers =
            text.split_once('/').and_then(|(m, k)| Some((m.trim().parse().ok()?, k.trim().parse().ok()?)));
        match numbers {
            Some((misses, of)) if of > 0 && misses <= of => Ok(WeaklyHard { misses, of }),
            _ => Err(Error::bad_use(format!(
                "{text:?} is no number of missed periods: write at most how many in how many in a row, such as 2/10"
            ))),
        }
    }
}

const WINDOWS: [u32; 8] = [2, 3, 5, 10, 20, 50, 100, 1_000];

/// The misses of a task: periods of its grid in which no output came. Constant memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MissCounter {
    period_ns: i64,
    periods: u64,
    missed: u64,
    most_consecutive: u64,
    /// Due time of the last job, and the number of its period.
    last: Option<(i64, u64)>,
    /// The period after the last with an output.
    next: u64,
    recent: VecDeque<u64>,
    most_per_window: [u32; WINDOWS.len()],
}

impl MissCounter {
    pub fn new(period_ns: i64) -> MissCounter {
        MissCounter {
            period_ns,
            periods: 0,
            missed: 0,
            most_consecutive: 0,
            last: None,
            next: 0,
            recent: VecDeque::new(),
            most_per_window: [0; WINDOWS.len()],
        }
    }

    pub fn add_job(&mut self, job: &Job) {
        let number = match self.last.filter(|_| !job.after_gap) {
            // A grid that restarts continues with the next period.
            Some((due, number)) => {
                let passed = (job.due_ns - due + self.period_ns / 2).div_euclid(self.period_ns);
                number + passed.max(1) as u64
            }
            None => {
                // The number is far enough from the known ones that no window holds both.
                let number = self.next + u64::from(WINDOWS[WINDOWS.len() - 1]);
                self.next = number;
                number
            }
        };
        self.last = Some((job.due_ns, number));
        if job.killed {
            return;
        }
        let late = (job.end_ns - job.due_ns).div_euclid(self.period_ns).max(0) as u64;
        let output = number + late;
        let row = output.saturating_sub(self.next);
        // The last part of a long row of misses is enough for every window.
        let kept = u64::from(WINDOWS[WINDOWS.len() - 1]);
        (output.saturating_sub(row.min(kept))..output).for_each(|period| self.record_miss(period));
        self.missed += row;
        self.most_consecutive = self.most_consecutive.max(row);
        if output >= self.next {
            self.periods += row + 1;
            self.next = output + 1;
        }
    }

    fn record_miss(&mut self, period: u64) {
        self.recent.push_back(period);
        while self.recent.front().is_some_and(|first| period - first >= u64::from(WINDOWS[WINDOWS.len() - 1]))
        {
            self.recent.pop_front();
        }
        for (window, most) in WINDOWS.iter().zip(&mut self.most_per_window) {
            let from = (period + 1).saturating_sub(u64::from(*window));
            let within = self.recent.len() - self.recent.partition_point(|p| *p < from);
            *most = (*most).max(within as u32);
        }
    }

    /// Number of periods passed, and of those without an output.
    pub fn period_and_miss_counts(&self) -> (u64, u64) {
        (self.periods, self.missed)
    }

    pub fn most_consecutive_misses(&self) -> u64 {
        self.most_consecutive
    }

    /// Most misses in any window of each length that is no longer than the run.
    pub fn most_misses_per_window(&self) -> Vec<WeaklyHard> {
        let fits = |window: &&u32| u64::from(**window) <= self.periods;
        WINDOWS
            .iter()
            .filter(fits)
            .zip(self.most_per_window)
            .map(|(of, misses)| WeaklyHard { misses, of: *of })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: i64 = 1_000;

    fn job(index: i64, latency: i64, execution: i64) -> Job {
        let due_ns = index * H;
        let start_ns = due_ns + latency;
        Job { due_ns, start_ns, end_ns: start_ns + execution, killed: false, after_gap: false }
    }

    fn counted_misses(jobs: impl IntoIterator<Item = Job>) -> (MissCounter, Vec<(u32, u32)>) {
        let mut misses = MissCounter::new(H);
        jobs.into_iter().for_each(|job| misses.add_job(&job));
        let at_most = misses.most_misses_per_window().into_iter().map(|w| (w.misses, w.of)).collect();
        (misses, at_most)
    }

    #[test]
    fn a_job_that_ends_late_misses_the_periods_before_its_end() {
        let jobs = [job(0, 0, 100), job(1, 0, 1_200), job(3, 0, 100), job(4, 0, 2_500), job(7, 0, 1_000)];
        let (misses, at_most) = counted_misses(jobs);
        // Missed: 1, 4, 5, and 7, whose end on the next due time counts there.
        assert_eq!((misses.period_and_miss_counts(), misses.most_consecutive_misses()), ((9, 4), 2));
        assert_eq!(at_most, [(2, 2), (2, 3), (3, 5)]);
    }

    #[test]
    fn a_task_that_catches_up_misses_a_period_only() {
        let (misses, _) = counted_misses([job(0, 0, 1_200), job(1, 200, 300), job(2, 0, 100)]);
        assert_eq!(misses.period_and_miss_counts(), (3, 1));
    }

    #[test]
    fn what_comes_after_lost_records_is_no_miss() {
        let after = Job { after_gap: true, ..job(90, 0, 10) };
        let (misses, _) = counted_misses([job(0, 0, 10), job(2, 0, 10), after, job(91, 0, 10)]);
        assert_eq!(misses.period_and_miss_counts(), (5, 1));
    }

    #[test]
    fn windows_are_counted_as_by_hand() {
        let mut random = 7u64;
        let mut is_missed = || {
            random = random * 16_807 % 2_147_483_647;
            random.is_multiple_of(5)
        };
        let missed: Vec<bool> = (0..3_000).map(|k| k > 0 && is_missed()).collect();
        let jobs = (0..3_000).filter(|k| !missed[*k]).map(|k| job(k as i64, 0, 10));
        let (_, at_most) = counted_misses(jobs);
        let end = 3_000 - missed.iter().rev().take_while(|m| **m).count();
        for (misses, of) in at_most {
            let count = |w: &[bool]| w.iter().filter(|m| **m).count() as u32;
            assert_eq!(misses, missed[..end].windows(of as usize).map(count).max().unwrap(), "{of}");
        }
    }
}
