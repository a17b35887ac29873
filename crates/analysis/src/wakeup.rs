//! Figures of a way to wait, from its measured blocks: lateness, drift and cost.

use jitterlab_model::{Activation, Distribution, Flags, Overload, Refusal, TaskResult};
use serde::Serialize;

use crate::Statistics;
use crate::median_interval::MedianInterval;
use crate::summary::P99;

/// One uninterrupted measurement of a task.
#[derive(Debug, Clone, Copy)]
pub struct BlockView<'a> {
    /// The period T, in ns.
    pub period_ns: i64,
    /// Counters of the task's thread.
    pub result: &'a TaskResult,
    /// Recorded activations, in order.
    pub activations: &'a [Activation],
}

impl BlockView<'_> {
    /// Returns the time from the first due time to the last end, in ns.
    pub fn length_ns(&self) -> i64 {
        (self.result.last_end_ns - self.result.first_due_ns).max(1)
    }

    /// Returns the share of a processor that the thread used; `None` if its processor time is unknown.
    pub fn load(&self) -> Option<f64> {
        self.result.cpu_time_ns.map(|used| used as f64 / self.length_ns() as f64)
    }

    /// Returns |start - due| of each activation.
    pub fn deviations(&self) -> Distribution {
        self.distribution(|a| a.latency_ns().abs())
    }

    /// Returns start - due of each activation.
    pub fn latencies(&self) -> Distribution {
        self.distribution(Activation::latency_ns)
    }

    fn distribution(&self, of: impl Fn(&Activation) -> i64) -> Distribution {
        let mut all = Distribution::new();
        self.activations.iter().for_each(|a| all.record(of(a)));
        all
    }
}

/// Figures of all blocks of one way together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayFigures {
    /// Activations that ran.
    pub executed: u64,
    /// Due times that passed unserved.
    pub missed: u64,
    /// Latency, start - due.
    pub latency: Statistics,
    /// The 99th percentile of the latency of each turn, in ns, in order; `None` for one too short for it.
    pub p99_of_turns_ns: Vec<Option<i64>>,
    /// Absolute deviation |start - due|.
    pub deviation: Statistics,
    /// Growth of the latency from due time to due time, in millionths: the relative slowness of the task.
    /// Least squares over each run of due times without a miss. `None` if no such run is long enough.
    pub drift_ppm: Option<f64>,
    /// Processor time of the thread for each activation: its own code, its system calls, and polling. The
    /// kernel accounts the interrupt and the thread switches partly elsewhere.
    pub cpu_per_activation_ns: Option<f64>,
    /// Share of a processor that the thread used.
    pub load: Option<f64>,
    /// Share of the time spent polling.
    pub polled_share: f64,
    /// Voluntary context switches (to wait), for each activation.
    pub voluntary_switches: Option<f64>,
    /// Involuntary context switches (another thread was preferred), for each activation.
    pub involuntary_switches: Option<f64>,
    /// The longest time between two readings of the clock while polling, in ns; 0 without polling.
    pub longest_hole_ns: i64,
}

impl WayFigures {
    /// Computes the figures of all blocks together.
    pub fn from_blocks(blocks: &[BlockView<'_>]) -> Self {
        let sum = |of: fn(&TaskResult) -> u64| blocks.iter().map(|b| of(b.result)).sum::<u64>();
        let all = |of: fn(&TaskResult) -> Option<f64>| -> Option<f64> {
            blocks.iter().map(|b| of(b.result)).sum::<Option<f64>>().filter(|_| !blocks.is_empty())
        };
        let executed = sum(|r| r.executed);
        let each = |total: Option<f64>| total.map(|t| t / executed.max(1) as f64);
        let length_ns = blocks.iter().map(BlockView::length_ns).sum::<i64>().max(1) as f64;
        let (mut latency, mut deviation) = (Distribution::new(), Distribution::new());
        let mut p99_of_turns_ns = Vec::with_capacity(blocks.len());
        for block in blocks {
            let of_turn = block.latencies();
            p99_of_turns_ns.push(Statistics::from_values(&of_turn).at(P99).exactly());
            latency.merge(&of_turn);
            deviation.merge(&block.deviations());
        }
        let cpu_time_ns = all(|r| r.cpu_time_ns.map(|t| t as f64));
        WayFigures {
            executed,
            missed: sum(|r| r.missed),
            latency: Statistics::from_values(&latency),
            p99_of_turns_ns,
            deviation: Statistics::from_values(&deviation),
            drift_ppm: drift_ppm(blocks),
            cpu_per_activation_ns: each(cpu_time_ns),
            load: cpu_time_ns.map(|t| t / length_ns),
            polled_share: blocks.iter().map(|b| b.result.polled_ns).sum::<i64>() as f64 / length_ns,
            voluntary_switches: each(all(|r| r.voluntary_switches.map(|n| n as f64))),
            involuntary_switches: each(all(|r| r.involuntary_switches.map(|n| n as f64))),
            longest_hole_ns: blocks.iter().map(|b| b.result.longest_hole_ns).max().unwrap_or(0),
        }
    }

    /// Returns the median of the turns' 99th percentiles of the latency, in ns; `None` if all turns are too short.
    #[must_use]
    pub fn median_p99_ns(&self) -> Option<f64> {
        let turns = self.p99_of_turns_ns.iter().flatten().map(|ns| *ns as f64);
        MedianInterval::from_values(turns).map(|middle| middle.median)
    }
}

/// Ways to wait, measured in turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaysCompared {
    /// The period T, in ns.
    pub period_ns: i64,
    /// Planned number of turns for each way.
    pub rounds: u32,
    /// Length of a turn, in ns.
    pub turn_ns: i64,
    /// True if it was interrupted: the figures are from the complete rounds until then.
    pub interrupted: bool,
    /// The ways.
    pub ways: Vec<WayToWait>,
}

impl WaysCompared {
    /// Returns the way with the lowest p99 of those that sleep. `None` if none was measured to its end.
    #[must_use]
    pub fn best(&self) -> Option<BestWay<'_>> {
        let measured = self.ways.iter().filter(|way| way.trouble.is_none());
        let mut ranked: Vec<(f64, &WayToWait, &WayFigures)> = measured
            .filter_map(|way| Some((way, way.figures.as_ref()?)))
            .filter(|(_, figures)| figures.polled_share < MOSTLY_POLLED)
            .filter_map(|(way, figures)| Some((figures.median_p99_ns()?, way, figures)))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (_, way, figures) = *ranked.first()?;
        let shown_worse = |other: &WayFigures| {
            let pairs = other.p99_of_turns_ns.iter().zip(&figures.p99_of_turns_ns);
            let factors = pairs.filter_map(|(other, best)| Some((*other)? as f64 / (*best)?.max(1) as f64));
            let found = MedianInterval::from_values(factors).and_then(|factor| factor.interval);
            found.is_some_and(|(low, _)| low > 1.0)
        };
        let others = || ranked.iter().skip(1);
        let alike = others().filter(|(_, _, other)| !shown_worse(other)).map(|(_, way, _)| way.name.as_str());
        let fewest = others().min_by_key(|(_, _, other)| other.missed);
        let misses_fewer =
            fewest.filter(|(_, _, other)| other.missed < figures.missed).map(|(_, way, _)| *way);
        let worst = others().next_back().map(|(_, way, _)| *way);
        Some(BestWay { way, alike: alike.collect(), misses_fewer, worst })
    }
}

/// Share of polling from which on a way does not count as sleeping.
const MOSTLY_POLLED: f64 = 0.5;

/// The recommended way, unless missed due times are more important.
#[derive(Debug, Clone, PartialEq)]
pub struct BestWay<'a> {
    /// The way.
    pub way: &'a WayToWait,
    /// Ways whose p99 is not shown to be higher, turn by turn, by the sign test's interval of 95 % each.
    pub alike: Vec<&'a str>,
    /// The way with the fewest missed due times of those that sleep, if that is fewer than here.
    pub misses_fewer: Option<&'a WayToWait>,
    /// The way with the highest p99 of those that sleep, if there is another.
    pub worst: Option<&'a WayToWait>,
}

/// One way to wait, measured or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayToWait {
    /// Name, such as `timerfd`.
    pub name: String,
    /// Figures; `None` if it could not be measured here.
    pub figures: Option<WayFigures>,
    /// Reason why it was not measured, or not to its end.
    pub trouble: Option<WayTrouble>,
}

/// Reason why a way to wait was not measured, or not to its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum WayTrouble {
    /// The system refused it.
    Refused {
        /// The request, the reason and the remedy.
        refusal: Refusal,
    },
    /// The task was stopped for the machine's safety.
    Stopped {
        /// Observations that ended it.
        overload: Overload,
    },
    /// It was not tried.
    Impossible {
        /// The reason, in the words of the caller that refused it.
        why: String,
    },
}

/// Starts of a compensated task that were late nevertheless, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LateStarts {
    /// Number of all starts.
    pub starts: u64,
    /// Number of starts that were late because the sleep ended after the due time: it took longer than the margin.
    pub overslept: u64,
    /// Largest latency of these, in ns.
    pub worst_overslept_ns: i64,
    /// Number of starts that were late although the task polled: an interrupt or the host took the processor
    /// at the due time.
    pub torn: u64,
    /// Largest latency of these, in ns.
    pub worst_torn_ns: i64,
}

impl LateStarts {
    /// Counts the late starts of these blocks. A start is late beyond `tolerance_ns`.
    pub fn new(blocks: &[BlockView<'_>], tolerance_ns: i64) -> Self {
        let mut late = LateStarts::default();
        for activation in blocks.iter().flat_map(|b| b.activations) {
            late.starts += 1;
            let by_ns = activation.latency_ns();
            if by_ns <= tolerance_ns {
                continue;
            }
            let (count, worst) = if activation.flags.contains(Flags::POLLED) {
                (&mut late.torn, &mut late.worst_torn_ns)
            } else {
                (&mut late.overslept, &mut late.worst_overslept_ns)
            };
            *count += 1;
            *worst = by_ns.max(*worst);
        }
        late
    }
}

/// Shortest run of due times from which a drift is estimated.
const SHORTEST_RUN: usize = 10;

/// Returns the slope of latency against due time in millionths; `None` without ten due times in a row.
fn drift_ppm(blocks: &[BlockView<'_>]) -> Option<f64> {
    let (mut sxx, mut sxy) = (0.0, 0.0);
    for block in blocks {
        for run in block.activations.chunk_by(|a, b| b.index == a.index + 1) {
            if run.len() < SHORTEST_RUN {
                continue;
            }
            let n = run.len() as f64;
            let due = |a: &Activation| (a.due_ns - run[0].due_ns) as f64;
            let mean_due = run.iter().map(due).sum::<f64>() / n;
            let mean_late = run.iter().map(|a| a.latency_ns() as f64).sum::<f64>() / n;
            for a in run {
                sxx += (due(a) - mean_due).powi(2);
                sxy += (due(a) - mean_due) * (a.latency_ns() as f64 - mean_late);
            }
        }
    }
    (sxx > 0.0).then(|| sxy / sxx * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(index: u64, latency_ns: i64) -> Activation {
        let due_ns = index as i64 * 1_000_000;
        let start_ns = due_ns + latency_ns;
        Activation { index, due_ns, start_ns, end_ns: start_ns + 10, ..Activation::default() }
    }

    fn result(executed: u64) -> TaskResult {
        TaskResult {
            executed,
            last_end_ns: executed as i64 * 1_000_000,
            cpu_time_ns: Some(executed as i64 * 4_000),
            voluntary_switches: Some(executed),
            polled_ns: executed as i64 * 100_000,
            ..TaskResult::default()
        }
    }

    #[test]
    fn a_sleep_that_loses_a_microsecond_each_time_drifts_by_a_thousand_millionths() {
        // It drifts until it has missed a due time, then begins again.
        let activations: Vec<Activation> =
            (0..2_000u64).map(|k| late(k + k / 500, (k % 500) as i64 * 1_000)).collect();
        let result = result(2_000);
        let way = WayFigures::from_blocks(&[BlockView {
            period_ns: 1_000_000,
            result: &result,
            activations: &activations,
        }]);
        assert!((way.drift_ppm.unwrap() - 1_000.0).abs() < 1e-6, "{:?}", way.drift_ppm);
    }

    #[test]
    fn costs_are_stated_for_each_activation_and_as_a_share() {
        let activations = [late(0, 5), late(1, -7)];
        let result = result(2);
        let block = BlockView { period_ns: 1_000_000, result: &result, activations: &activations };
        let way = WayFigures::from_blocks(&[block, block]);
        assert_eq!((way.executed, way.cpu_per_activation_ns), (4, Some(4_000.0)));
        assert_eq!((way.load, way.polled_share), (Some(0.004), 0.1));
        assert_eq!((way.voluntary_switches, way.involuntary_switches), (Some(1.0), None));
        assert_eq!((way.latency.min_ns, way.deviation.max_ns), (Some(-7), Some(7)));
        assert_eq!(way.drift_ppm, None);
    }

    #[test]
    fn late_starts_are_told_apart_by_whether_the_task_polled() {
        let polled = |a: Activation| Activation { flags: a.flags.with(Flags::POLLED), ..a };
        let rows = [polled(late(0, 40)), polled(late(1, 5_000)), late(2, 90_000), late(3, 80)];
        let result = TaskResult::default();
        let block = BlockView { period_ns: 1_000_000, result: &result, activations: &rows };
        let expected =
            LateStarts { starts: 4, overslept: 1, worst_overslept_ns: 90_000, torn: 1, worst_torn_ns: 5_000 };
        assert_eq!(LateStarts::new(&[block], 100), expected);
    }

    /// Returns six turns of 200 activations that are late by `usual_ns` and up to 99 ns more.
    fn way(name: &str, usual_ns: impl Fn(u64) -> i64, result: &TaskResult) -> WayToWait {
        let turns: Vec<Vec<Activation>> = (0..6)
            .map(|turn| (0..200).map(|k| late(k, usual_ns(turn) + k as i64 * 37 % 100)).collect())
            .collect();
        let block = |turn| BlockView { period_ns: 1_000_000, result, activations: turn };
        let blocks: Vec<BlockView> = turns.iter().map(|turn| block(turn)).collect();
        WayToWait { name: name.into(), figures: Some(WayFigures::from_blocks(&blocks)), trouble: None }
    }

    #[test]
    fn the_best_way_sleeps_and_those_are_named_that_are_not_shown_to_be_worse() {
        let sleeping = result(200);
        let polling = TaskResult { polled_ns: 199_000_000, ..result(200) };
        let wander = |turn| 10_000 + 5_000 * i64::from(turn == 3);
        let ways = vec![
            way("slow", |turn| 2 * wander(turn), &sleeping),
            way("spin", |_| 0, &polling),
            way("alike", |turn| wander(turn) - 200 + 300 * (turn as i64 % 2), &sleeping),
            way("quick", |turn| wander(turn) - 100, &sleeping),
        ];
        let compared =
            WaysCompared { period_ns: 1_000_000, rounds: 6, turn_ns: 200_000_000, interrupted: false, ways };
        let best = compared.best().unwrap();
        assert_eq!((best.way.name.as_str(), best.alike), ("quick", vec!["alike"]));
        assert_eq!(best.worst.map(|way| way.name.as_str()), Some("slow"));
        assert_eq!(best.misses_fewer, None);
        // One that starts early and misses due times for it.
        let (careful, careless) = (result(200), TaskResult { missed: 3, ..result(200) });
        let ways = vec![way("quick", |_| 1_000, &careless), way("slow", |_| 9_000, &careful)];
        let compared = WaysCompared { ways, ..compared };
        let best = compared.best().unwrap();
        assert_eq!((best.way.name.as_str(), best.way.figures.as_ref().unwrap().missed), ("quick", 18));
        assert_eq!(best.misses_fewer.map(|way| way.name.as_str()), Some("slow"));
        let ways = vec![way("spin", |_| 0, &polling)];
        assert!(WaysCompared { ways, ..compared }.best().is_none());
    }
}
