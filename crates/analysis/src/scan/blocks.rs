//! A trace in blocks of equal length on the task's grid: what a long run was like over time, in bounded memory.

use std::collections::BTreeMap;

use jitterlab_model::Activation;
use serde::{Deserialize, Serialize};

use super::Glance;

/// What one block's latencies were like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Block {
    /// Activations that ran.
    pub count: u64,
    /// Due times missed.
    pub missed: u64,
    /// Sum of the latencies.
    pub sum_ns: i128,
    /// Smallest latency.
    pub min_ns: i64,
    /// Largest latency.
    pub max_ns: i64,
}

impl Block {
    pub(super) const EMPTY: Block =
        Block { count: 0, missed: 0, sum_ns: 0, min_ns: i64::MAX, max_ns: i64::MIN };

    /// Mean latency.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    fn merge(&mut self, other: &Block) {
        self.count += other.count;
        self.missed += other.missed;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// A trace in at most `limit` blocks. The blocks' length doubles as the run grows; their edges are multiples of it, so
/// that any split of the trace gives the same blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    limit: usize,
    shift: u32,
    blocks: BTreeMap<u64, Block>,
    /// The block that is being filled, kept out of the map for speed.
    current: (u64, Block),
}

impl Blocks {
    /// Nothing seen yet.
    pub fn new(limit: usize) -> Self {
        Blocks { limit: limit.max(2), shift: 0, blocks: BTreeMap::new(), current: (0, Block::EMPTY) }
    }

    /// Sees the next activation: its place on the grid, its latency, and the due times missed after it.
    #[inline]
    pub fn push(&mut self, index: u64, latency_ns: i64, missed: u32) {
        let number = index >> self.shift;
        if number != self.current.0 {
            self.begin(index);
        }
        let block = &mut self.current.1;
        block.count += 1;
        block.missed += u64::from(missed);
        block.sum_ns += i128::from(latency_ns);
        block.min_ns = block.min_ns.min(latency_ns);
        block.max_ns = block.max_ns.max(latency_ns);
    }

    /// Sees the next few activations, as [`Blocks::push`] for each.
    pub fn push_few(&mut self, few: &[Activation], glance: &Glance) {
        if [few.first(), few.last()].iter().flatten().all(|a| a.index >> self.shift == self.current.0) {
            self.current.1.merge(&glance.block);
        } else {
            few.iter().for_each(|a| self.push(a.index, a.latency_ns(), a.missed));
        }
    }

    /// Sees a stretch of which only this is known, from this place on the grid on.
    pub fn push_block(&mut self, index: u64, block: &Block) {
        self.begin(index);
        self.current.1.merge(block);
    }

    fn begin(&mut self, index: u64) {
        self.store();
        self.shrink();
        self.current = (index >> self.shift, Block::EMPTY);
    }

    fn store(&mut self) {
        let (number, block) = self.current;
        if block.count > 0 {
            self.blocks.entry(number).or_insert(Block::EMPTY).merge(&block);
            self.current.1 = Block::EMPTY;
        }
    }

    /// Doubles the blocks' length until what lies between the first and the last fits the limit.
    fn shrink(&mut self) {
        while let (Some((first, _)), Some((last, _))) =
            (self.blocks.first_key_value(), self.blocks.last_key_value())
        {
            if last - first < self.limit as u64 {
                break;
            }
            self.lengthen(self.shift + 1);
        }
    }

    fn lengthen(&mut self, shift: u32) {
        let by = shift - self.shift;
        let mut longer: BTreeMap<u64, Block> = BTreeMap::new();
        for (number, block) in &self.blocks {
            longer.entry(number >> by).or_insert(Block::EMPTY).merge(block);
        }
        (self.blocks, self.shift) = (longer, shift);
    }

    /// Sees what another part of the trace has seen.
    pub fn merge(&mut self, other: &Blocks) {
        let mut other = other.clone();
        other.store();
        self.store();
        let shift = self.shift.max(other.shift);
        self.lengthen(shift);
        other.lengthen(shift);
        for (number, block) in &other.blocks {
            self.blocks.entry(*number).or_insert(Block::EMPTY).merge(block);
        }
        self.shrink();
        self.current = (u64::MAX, Block::EMPTY);
    }

    /// The blocks' length in due times, and all of them from the first to the last; `None` where nothing ran.
    pub fn blocks(&self) -> (u64, Vec<Option<Block>>) {
        let mut whole = self.clone();
        whole.store();
        whole.shrink();
        let (Some((&first, _)), Some((&last, _))) =
            (whole.blocks.first_key_value(), whole.blocks.last_key_value())
        else {
            return (1 << whole.shift, Vec::new());
        };
        (1 << whole.shift, (first..=last).map(|number| whole.blocks.get(&number).copied()).collect())
    }

    /// The blocks joined to at least `wanted` and less than twice as many (fewer if there are not that many), without the
    /// empty and the partly filled ones at the ends: series for tests that need equal lengths.
    pub fn joined(&self, wanted: usize) -> Vec<Block> {
        let (length, all) = self.blocks();
        let joint = (all.len() / wanted.max(1)).max(1);
        all.chunks(joint)
            .filter_map(|group| {
                let mut block = Block::EMPTY;
                group.iter().flatten().for_each(|b| block.merge(b));
                let due = block.count + block.missed;
                (due * 10 >= 9 * length * joint as u64 && block.count > 0).then_some(block)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_split_gives_the_same_blocks(
            steps in prop::collection::vec((1u64..5, -50i64..50), 1..200), cut in 0usize..200, limit in 2usize..20
        ) {
            let (mut whole, mut early, mut late) = (Blocks::new(limit), Blocks::new(limit), Blocks::new(limit));
            let mut at_once = Blocks::new(limit);
            let mut rows = Vec::new();
            let mut index = 0;
            for (i, (step, latency)) in steps.iter().enumerate() {
                whole.push(index, *latency, (*step - 1) as u32);
                if i < cut { &mut early } else { &mut late }.push(index, *latency, (*step - 1) as u32);
                let missed = (*step - 1) as u32;
                rows.push(Activation { index, start_ns: *latency, missed, ..Activation::default() });
                index += step;
            }
            early.merge(&late);
            prop_assert_eq!(early.blocks(), whole.blocks());
            rows.chunks(7).for_each(|few| at_once.push_few(few, &Glance::of(few, 0)));
            prop_assert_eq!(at_once.blocks(), whole.blocks());
            let (length, blocks) = whole.blocks();
            prop_assert!(blocks.len() <= limit && length.is_power_of_two());
            prop_assert_eq!(blocks.iter().flatten().map(|b| b.count).sum::<u64>(), steps.len() as u64);
            let max = steps.iter().map(|s| s.1).max();
            prop_assert_eq!(blocks.iter().flatten().map(|b| b.max_ns).max(), max);
        }
    }

    #[test]
    fn joined_blocks_are_whole() {
        let mut blocks = Blocks::new(1_024);
        (0..1_000).for_each(|k| blocks.push(k, 5, 0));
        let joined = blocks.joined(10);
        assert_eq!((joined.len(), joined[0].count), (10, 100));
        assert!(joined.iter().all(|b| b.count == 100 && b.mean_ns() == Some(5.0)));
    }
}
