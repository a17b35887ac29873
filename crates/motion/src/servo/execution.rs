//! Execution times of a task that are given instead of measured.

use nalgebra::DMatrix;

use jitterlab_model::Error;

use super::markov_chain::{Edge, MarkovChain, StretchDistribution};
use jitterlab_analysis::random::Random;
use jitterlab_model::units::parse_duration_ns;

/// One of the kinds of execution times a task has: any time between two limits with the same probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExecutionKind {
    pub share: f64,
    pub low_ns: f64,
    /// Longest time in ns; the same as the shortest for a constant.
    pub high_ns: f64,
}

/// Execution times of a task's jobs: kinds that follow each other by a Markov chain, and within a kind any time between its
/// limits, independently.
///
/// Text: `TIME[:SHARE[:BURST]]` with commas between, where `TIME` is `0.8h` (of a period), `3.2ms`, a sum as `1h+1ns`, or a
/// range `0.8h..1.2h`, and `BURST` the mean length of a row of jobs of that kind; without it they come as by chance.
///
/// ```
/// # use jitterlab_motion::servo::Execution;
/// let two = Execution::parse("0.8h:0.9,1.2h:0.1:2", 4_000_000)?;
/// assert_eq!((two.kinds()[1].low_ns, two.probability_after(1, 1)), (4_800_000.0, 0.5));
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    kinds: Vec<ExecutionKind>,
    /// Row i: probabilities of the kind after kind i.
    transitions: DMatrix<f64>,
}

impl Execution {
    pub fn constant(ns: f64) -> Execution {
        Execution::with_independent_kinds(vec![ExecutionKind { share: 1.0, low_ns: ns, high_ns: ns }])
    }

    /// Kinds drawn independently for each job, in proportion to their shares.
    pub fn with_independent_kinds(kinds: Vec<ExecutionKind>) -> Execution {
        let total: f64 = kinds.iter().map(|k| k.share).sum();
        let transitions = DMatrix::from_fn(kinds.len(), kinds.len(), |_, j| kinds[j].share / total);
        Execution::with_transitions(kinds, transitions)
    }

    /// Kinds that follow each other by a Markov chain: row i has the probabilities of the kinds after kind i.
    /// Their shares are those of the chain, whatever the kinds contain.
    pub fn with_transitions(mut kinds: Vec<ExecutionKind>, transitions: DMatrix<f64>) -> Execution {
        // Stationary probabilities, by the powers of the lazy chain: they end on any chain.
        let lazy = (&transitions + DMatrix::identity(kinds.len(), kinds.len())) * 0.5;
        let settled = (0..60).fold(lazy, |power, _| {
            let mut squared = &power * &power;
            for mut row in squared.row_iter_mut() {
                let sum = row.sum();
                row /= sum;
            }
            squared
        });
        let start = DMatrix::from_fn(1, kinds.len(), |_, j| kinds[j].share);
        let shares = &start * settled / start.sum();
        kinds.iter_mut().zip(shares.iter()).for_each(|(kind, share)| kind.share = *share);
        Execution { kinds, transitions }
    }

    pub fn parse(text: &str, period_ns: i64) -> Result<Execution, Error> {
        Execution::parse_kinds(text, period_ns).map_err(|error| error.within(format!("--execution {text:?}")))
    }

    fn parse_kinds(text: &str, period_ns: i64) -> Result<Execution, Error> {
        let not_a_burst =
            || Error::bad_use("the mean length of a row has to be a number of at least 1 such as 2");
        let parts: Vec<&str> = text.split(',').collect();
        let (mut kinds, mut burst) = (Vec::new(), None);
        for (i, part) in parts.iter().enumerate() {
            let mut fields = part.trim().split(':');
            let (low_ns, high_ns) = parse_range(fields.next().unwrap_or(""), period_ns)?;
            let number = |t: &str| t.trim().parse::<f64>().ok().filter(|v| v.is_finite());
            let share = match fields.next() {
                None => 1.0 / parts.len() as f64,
                Some(text) => number(text).filter(|v| *v > 0.0).ok_or_else(|| {
                    Error::bad_use("the share behind the colon has to be a number above zero such as 0.1")
                })?,
            };
            if let Some(text) = fields.next() {
                let length = number(text).filter(|v| *v >= 1.0).ok_or_else(not_a_burst)?;
                if burst.replace((i, length)).is_some() {
                    return Err(Error::bad_use(
                        "only one of the times can come in rows of a given length: the others fill what lies between",
                    ));
                }
            }
            if fields.next().is_some() {
                return Err(not_a_burst());
            }
            kinds.push(ExecutionKind { share, low_ns, high_ns });
        }
        let total: f64 = kinds.iter().map(|k| k.share).sum();
        if (total - 1.0).abs() > 1e-6 {
            return Err(Error::bad_use(format!(
                "the shares add up to {total}, and have to add up to 1; give each time its share, or none"
            )));
        }
        match burst {
            Some((row, length)) if kinds.len() > 1 => Execution::with_bursts(kinds, row, length),
            _ => Ok(Execution::with_independent_kinds(kinds)),
        }
    }

    /// Execution times of which one kind comes in rows of this mean length, the others as by chance between them.
    fn with_bursts(kinds: Vec<ExecutionKind>, row: usize, length: f64) -> Result<Execution, Error> {
        let share = kinds[row].share;
        let leave = 1.0 / length;
        let enter = leave * share / (1.0 - share);
        if enter.is_nan() || enter > 1.0 {
            let least = share / (1.0 - share);
            return Err(Error::bad_use(format!(
                "with that share, rows of it are on average at least {least} long"
            )));
        }
        let other = |j: usize| kinds[j].share / (1.0 - share);
        let transitions = DMatrix::from_fn(kinds.len(), kinds.len(), |i, j| match (i == row, j == row) {
            (true, true) => 1.0 - leave,
            (true, false) => leave * other(j),
            (false, true) => enter,
            (false, false) => (1.0 - enter) * other(j),
        });
        Ok(Execution::with_transitions(kinds, transitions))
    }

    pub fn kinds(&self) -> &[ExecutionKind] {
        &self.kinds
    }

    /// Probability that a job of kind `after` comes after one of kind `before`.
    pub fn probability_after(&self, after: usize, before: usize) -> f64 {
        self.transitions[(before, after)]
    }

    /// Markov chain of the kinds: the state of each kind, and for each state the probabilities of the next kinds. Kinds
    /// with the same probabilities of the next kind share a state.
    pub(super) fn merged_states(&self) -> (Vec<usize>, Vec<Vec<f64>>) {
        let mut known: Vec<Vec<f64>> = Vec::new();
        let mut of = |kind: usize| {
            let next: Vec<f64> = self.transitions.row(kind).iter().copied().collect();
            known.iter().position(|k| *k == next).unwrap_or_else(|| {
                known.push(next);
                known.len() - 1
            })
        };
        let left_by = (0..self.kinds.len()).map(&mut of).collect();
        (left_by, known)
    }

    /// Markov chain of the loop's maps, with the jobs of each kind drawn from `of_kinds`.
    pub(super) fn markov_chain(&self, of_kinds: &[StretchDistribution], period_ns: i64) -> MarkovChain {
        let (left_by, states) = self.merged_states();
        let mut edges = Vec::new();
        for (from, next) in states.iter().enumerate() {
            for (kind, factor) in next.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
                edges.push(Edge { from, to: left_by[kind], stretches: kind, factor: *factor });
            }
        }
        MarkovChain::new(states.len(), of_kinds.to_vec(), edges, period_ns)
    }

    pub(super) fn is_constant(&self) -> bool {
        self.kinds.iter().all(|kind| kind.low_ns == self.kinds[0].low_ns && kind.high_ns == kind.low_ns)
    }

    /// Draws the time of the next job in ns, after one of this kind.
    pub(super) fn draw(&self, kind: &mut Option<usize>, random: &mut Random) -> i64 {
        let before = *kind;
        let share = |next: usize| match before {
            Some(before) => self.probability_after(next, before),
            None => self.kinds[next].share,
        };
        let mut left = random.uniform();
        let chosen = (0..self.kinds.len()).find(|kind| {
            left -= share(*kind);
            left < 0.0
        });
        let chosen = chosen.unwrap_or(self.kinds.len() - 1);
        *kind = Some(chosen);
        let ExecutionKind { low_ns, high_ns, .. } = self.kinds[chosen];
        (low_ns + (high_ns - low_ns) * random.uniform()).round() as i64
    }

    pub fn mean_ns(&self) -> f64 {
        self.kinds.iter().map(|k| k.share * 0.5 * (k.low_ns + k.high_ns)).sum()
    }

    pub fn longest_ns(&self) -> f64 {
        self.kinds.iter().map(|k| k.high_ns).fold(0.0, f64::max)
    }
}

fn parse_range(text: &str, period_ns: i64) -> Result<(f64, f64), Error> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (parse_time_ns(low, period_ns)?, parse_time_ns(high, period_ns)?);
    if low < 0.0 || high < low {
        return Err(Error::bad_use("a time is zero or above, and a range begins with its shorter end"));
    }
    Ok((low, high))
}

/// A sum of times; parts of a period are rounded to nanoseconds.
fn parse_time_ns(text: &str, period_ns: i64) -> Result<f64, Error> {
    let not_a_time = || {
        Error::bad_use(
            "it is no time: write it in periods such as 0.8h, as 3.2ms, or as a range such as 0.8h..1.2h",
        )
    };
    let one = |part: &str| {
        let part = part.trim();
        match part.strip_suffix('h').map(|periods| periods.trim().parse::<f64>()) {
            Some(Ok(periods)) if periods.is_finite() && periods.abs() < 1e6 => {
                Ok((periods * period_ns as f64).round())
            }
            // An hour can be written as 3600s.
            Some(_) => Err(not_a_time()),
            None => parse_duration_ns(part).map(|ns| ns as f64).map_err(|_| not_a_time()),
        }
    };
    text.split('+').map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const H: i64 = 4_000_000;

    #[test]
    fn times_shares_and_rows_are_read() {
        let of = |text: &str| Execution::parse(text, H).unwrap();
        assert_eq!(of("1h+1ns").kinds()[0].high_ns, 4_000_001.0);
        assert_eq!(of("0.8h..1.2h").kinds()[0], ExecutionKind { share: 1.0, low_ns: 3.2e6, high_ns: 4.8e6 });
        let even = of("500us, 2.6h");
        assert_eq!((even.kinds()[0].share, even.kinds()[0].low_ns, even.mean_ns()), (0.5, 5e5, 5.45e6));
        let rows = of("0.8h:0.9,1.2h:0.1:2");
        assert!((rows.kinds()[1].share - 0.1).abs() < 1e-14 && rows.probability_after(1, 1) == 0.5);
        assert!((rows.probability_after(1, 0) - 0.05 / 0.9).abs() < 1e-15);
        let three = of("0.1h:0.6,0.5h:0.3,2h:0.1:4");
        let shares: Vec<f64> = three.kinds().iter().map(|k| k.share).collect();
        assert!(shares.iter().zip([0.6, 0.3, 0.1]).all(|(a, b)| (a - b).abs() < 1e-12), "{shares:?}");
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| Execution::parse(text, H).unwrap_err().to_string();
        assert!(message("soon").contains("0.8h..1.2h"));
        assert!(message("1.2h..0.8h").contains("shorter end"));
        assert!(message("0.5h:0.5,1h:0.4").contains("add up to 0.9"));
        assert!(message("0.5h:-1").contains("above zero"));
        assert!(message("0.5h:0.9:2,1h:0.1:2").contains("only one"));
        assert!(message("0.5h:0.1,1h:0.9:2").contains("at least 9"));
        assert!(message("0.5h:0.1:2:3").contains("mean length"));
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "[0-9h.:,+ mus-]{0,20}") {
            let _ = Execution::parse(&text, H);
        }
    }
}
