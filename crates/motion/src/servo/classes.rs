//! Classes of cycles by what they do to the loop, and how these follow each other.

use nalgebra::DMatrix;
use serde::Serialize;

/// Most classes told apart.
pub(super) const MOST_CLASSES: usize = 6;
/// Classes within which less than this share of the variance is left are enough.
const ENOUGH: f64 = 0.01;

/// Sorts weighted values into classes so that as little as possible of their variance is left within them (Fisher 1958, by
/// dynamic programming). Gives the class of each value, the smallest values in class 0.
pub(super) fn classes_of(values: &[f64], weights: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    // Sums up to each place: of the weights, the values and their squares, around the middle value.
    let middle = order.get(values.len() / 2).map_or(0.0, |i| values[*i]);
    let mut sums = vec![(0.0, 0.0, 0.0)];
    let mut sum = (0.0, 0.0, 0.0);
    for i in &order {
        let (w, v) = (weights[*i] as f64, values[*i] - middle);
        sum = (sum.0 + w, sum.1 + w * v, sum.2 + w * v * v);
        sums.push(sum);
    }
    let left = |from: usize, to: usize| {
        let (a, b) = (sums[from], sums[to]);
        (b.2 - a.2 - (b.1 - a.1).powi(2) / (b.0 - a.0).max(f64::MIN_POSITIVE)).max(0.0)
    };
    let count = values.len();
    let all = left(0, count);
    // best[to]: least left with so many classes up to a place, and where the last of them begins.
    let mut begins: Vec<Vec<usize>> = vec![vec![0; count + 1]];
    let mut best: Vec<f64> = (0..=count).map(|to| left(0, to)).collect();
    while best[count] > ENOUGH * all && begins.len() < MOST_CLASSES.min(count) {
        let mut next = vec![f64::INFINITY; count + 1];
        let mut begin = vec![0; count + 1];
        for to in begins.len() + 1..=count {
            for (from, before) in best.iter().enumerate().take(to).skip(begins.len()) {
                let value = before + left(from, to);
                if value < next[to] {
                    (next[to], begin[to]) = (value, from);
                }
            }
        }
        best = next;
        begins.push(begin);
    }
    let mut classes = vec![0; count];
    let mut to = count;
    for (class, begin) in begins.iter().enumerate().rev() {
        order[begin[to]..to].iter().for_each(|i| classes[*i] = class);
        to = begin[to];
    }
    classes
}

/// How classes follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// As by chance.
    None,
    /// What comes depends on what came last: a Markov chain.
    One,
    /// It depends on more than that; the chain of one step is an approximation.
    Longer,
}

/// Counts of classes in a row: pairs and triples.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    pub classes: usize,
    pub pairs: DMatrix<f64>,
    triples: Vec<f64>,
    last: [Option<usize>; 2],
}

impl Rows {
    pub fn new(classes: usize) -> Rows {
        Rows {
            classes,
            pairs: DMatrix::zeros(classes, classes),
            triples: vec![0.0; classes.pow(3)],
            last: [None; 2],
        }
    }

    /// The next class; `None` where the sequence is interrupted.
    pub fn pass(&mut self, class: Option<usize>) {
        let Some(class) = class else {
            self.last = [None; 2];
            return;
        };
        if let Some(last) = self.last[1] {
            self.pairs[(last, class)] += 1.0;
            if let Some(first) = self.last[0] {
                self.triples[(first * self.classes + last) * self.classes + class] += 1.0;
            }
        }
        self.last = [self.last[1], Some(class)];
    }

    /// How long the memory is, by Schwarz' criterion (1978; consistent for Markov chains: Csiszar and Shields 2000).
    pub fn memory(&self) -> Memory {
        let c = self.classes;
        // The log-likelihood of what comes, given what is known, and how many numbers that takes.
        let likelihood = |rows: usize, count: &dyn Fn(usize, usize) -> f64| {
            let mut sum = 0.0;
            for row in 0..rows {
                let total: f64 = (0..c).map(|to| count(row, to)).sum();
                let counts = (0..c).map(|to| count(row, to)).filter(|n| *n > 0.0);
                sum += counts.map(|n| n * (n / total).ln()).sum::<f64>();
            }
            sum
        };
        let triple = |first: usize, last: usize, to: usize| self.triples[(first * c + last) * c + to];
        let pair = |last: usize, to: usize| (0..c).map(|first| triple(first, last, to)).sum::<f64>();
        let none = likelihood(1, &|_, to| (0..c).map(|last| pair(last, to)).sum());
        let one = likelihood(c, &pair);
        let two = likelihood(c * c, &|row, to| triple(row / c, row % c, to));
        let visited =
            |rows: usize, count: &dyn Fn(usize) -> f64| (0..rows).filter(|row| count(*row) > 0.0).count();
        let seen = visited(c, &|row| (0..c).map(|to| pair(row, to)).sum()) as f64;
        let seen_pairs = visited(c * c, &|row| (0..c).map(|to| triple(row / c, row % c, to)).sum()) as f64;
        let total: f64 = self.triples.iter().sum();
        let penalty = 0.5 * total.max(1.0).ln() * (seen - 1.0).max(0.0);
        let (none, one, two) = (none - penalty, one - penalty * seen, two - penalty * seen_pairs);
        if none >= one && none >= two {
            Memory::None
        } else if one >= two {
            Memory::One
        } else {
            Memory::Longer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0 * 16_807 % 2_147_483_647;
            self.0 as f64 / 2_147_483_647.0
        }
    }

    #[test]
    fn values_that_lie_together_are_a_class_and_rare_ones_far_off_are_one_too() {
        let values = [5.0, 1.0, 1.1, 0.9, 5.2, 900.0];
        let weights = [10, 1_000, 1_000, 1_000, 10, 1];
        let classes = classes_of(&values, &weights);
        assert_eq!(classes[1..4], [0, 0, 0]);
        assert_eq!(classes[5], *classes.iter().max().unwrap());
        assert!(classes[0] == classes[4] || classes[0] < classes[5]);
        assert_eq!(classes_of(&[3.0], &[7]), [0]);
        assert_eq!(classes_of(&[2.0, 2.0], &[1, 4]), [0, 0]);
    }

    fn memory(mut next: impl FnMut(&[usize], f64) -> usize) -> Memory {
        let (mut rows, mut random, mut past) = (Rows::new(3), Random(4_711), vec![0, 0]);
        for _ in 0..20_000 {
            let class = next(&past, random.next());
            past.push(class);
            rows.pass(Some(class));
        }
        rows.memory()
    }

    #[test]
    fn the_length_of_the_memory_is_found() {
        assert_eq!(
            memory(|_, u| if u < 0.9 {
                0
            } else if u < 0.99 {
                1
            } else {
                2
            }),
            Memory::None
        );
        let sticky = |past: &[usize], u: f64| match past[past.len() - 1] {
            2 if u < 0.5 => 2,
            _ if u < 0.02 => 2,
            _ => usize::from(u > 0.8),
        };
        assert_eq!(memory(sticky), Memory::One);
        // What came two steps ago comes again.
        let echo =
            |past: &[usize], u: f64| if u < 0.8 { past[past.len() - 2] } else { (u * 1e4) as usize % 3 };
        assert_eq!(memory(echo), Memory::Longer);
    }

    #[test]
    fn an_interruption_is_no_transition() {
        let mut rows = Rows::new(2);
        [Some(0), Some(1), None, Some(0), Some(0)].into_iter().for_each(|class| rows.pass(class));
        assert_eq!((rows.pairs.sum(), rows.pairs[(1, 0)]), (2.0, 0.0));
    }
}
