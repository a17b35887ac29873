//! Settings that need a reboot: two ways to boot the machine, compared over its boots.
//!
//! The unit is the boot: differences between boots (memory layout, processors of interrupts) are the same in
//! all blocks of a boot, so blocks show nothing about them. Boots come in turns, so that a machine that
//! changes over days does not look like an effect; of consecutive boots of one way only the mean counts.

use jitterlab_model::Watched;
use serde::{Deserialize, Serialize};

use super::experiment::{RESOLUTION, effect_from_logarithms};
use super::{BlockFigures, Effect, Figure, LEVEL, SettingVerdict, summarise_blocks};
use crate::dependent_variance::student_quantile;

/// Fewest boots of each way for a decision.
pub const FEWEST_BOOTS: usize = 3;
/// Boots of each way after which the experiment ends: an effect that needs more is not worth a reboot.
pub const MOST_BOOTS: usize = 8;

/// A way to boot the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootConfiguration {
    /// Release and version of the kernel.
    pub kernel: String,
    /// The kernel's command line.
    pub command_line: String,
    /// Name given by the user: firmware settings cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl BootConfiguration {
    /// Returns the parameters of the command line that another one does not have.
    #[must_use]
    pub fn parameters_not_in(&self, other: &BootConfiguration) -> Vec<&str> {
        let has = |word: &&str| !other.command_line.split_whitespace().any(|known| known == *word);
        self.command_line.split_whitespace().filter(has).collect()
    }
}

/// A boot of the machine, with the blocks measured in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boot {
    /// The kernel's number for it (`boot_id`).
    pub boot: String,
    /// Time at which its first block was measured.
    pub measured: String,
    /// The way it was booted.
    pub way: BootConfiguration,
    /// The blocks.
    pub blocks: Vec<BlockFigures>,
}

/// Summary of a boot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BootSummary {
    /// Index of its way.
    pub way: usize,
    /// Time at which it was measured.
    pub measured: String,
    /// Number of its blocks.
    pub blocks: usize,
    /// Medians of them.
    pub figures: BlockFigures,
}

/// Effect of two ways to boot the machine on a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BootComparison {
    /// The task as in `--task`; for a watched thread its name and period.
    pub task: String,
    /// The watched thread, if the task was running already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// The loads during the measurement.
    pub loads: Vec<String>,
    /// The deciding percentile, such as p99.9.
    pub tail: String,
    /// The ways: one, or two, in the order of their first measurement.
    pub ways: Vec<BootConfiguration>,
    /// Every boot, in the order of measurement.
    pub starts: Vec<BootSummary>,
    /// Boots of each way in turns.
    pub pairs: usize,
    /// Fewest of these for a decision.
    pub fewest: usize,
    /// Most of these.
    pub most: usize,
    /// Ratio of the deciding figure of the second way to that of the first; `None` before both were measured.
    /// It decides nothing by itself.
    pub seen: Option<f64>,
    /// Effect on each figure, once there are enough boots: at the look that decided, else at the last one.
    pub effects: Vec<Effect>,
    /// The decision.
    pub judgement: SettingVerdict,
}

/// Consecutive boots of one way, as one value of each figure.
#[derive(Debug, Clone, Copy)]
struct ConsecutiveBoots {
    way: usize,
    starts: usize,
    values: [f64; 3],
}

impl BootComparison {
    /// Compares boots of one or two ways.
    #[must_use]
    pub fn new(task: String, loads: Vec<String>, tail: String, starts: &[Boot]) -> BootComparison {
        let mut ways: Vec<BootConfiguration> = Vec::new();
        let mut seen = Vec::new();
        let mut turns: Vec<ConsecutiveBoots> = Vec::new();
        for start in starts {
            let Some(figures) = summarise_blocks(&start.blocks.iter().collect::<Vec<_>>()) else { continue };
            let way = ways.iter().position(|way| *way == start.way).unwrap_or_else(|| {
                ways.push(start.way.clone());
                ways.len() - 1
            });
            add_to_turns(&mut turns, way, mean_figures(&start.blocks));
            let blocks = start.blocks.len();
            seen.push(BootSummary { way, measured: start.measured.clone(), blocks, figures });
        }
        let of =
            |way: usize| turns.iter().filter(move |turn| turn.way == way).map(|turn| turn.values).collect();
        let (first, second): (Vec<[f64; 3]>, Vec<[f64; 3]>) = (of(0), of(1));
        let pairs = first.len().min(second.len());
        let decided = first_decision(&first, &second);
        BootComparison {
            task,
            watched: None,
            loads,
            tail,
            ways,
            starts: seen,
            pairs,
            fewest: FEWEST_BOOTS,
            most: MOST_BOOTS,
            seen: (pairs > 0).then(|| (mean_of_figure(&second, 0) - mean_of_figure(&first, 0)).exp()),
            judgement: decided.as_ref().map_or(SettingVerdict::Undecided, |(judgement, _)| *judgement),
            effects: decided.map(|(_, effects)| effects).unwrap_or_default(),
        }
    }

    /// Returns the index of the way to boot next: the other one. `None` if it is decided, or after the last boot.
    #[must_use]
    pub fn next_way(&self) -> Option<usize> {
        let open = self.judgement == SettingVerdict::Undecided && self.pairs < self.most;
        self.starts.last().filter(|_| open).map(|last| 1 - last.way.min(1))
    }
}

/// Returns the mean logarithm of each figure over the blocks of a boot.
fn mean_figures(blocks: &[BlockFigures]) -> [f64; 3] {
    Figure::ALL.map(|figure| {
        blocks.iter().map(|block| block.comparison_value(figure)).sum::<f64>() / blocks.len().max(1) as f64
    })
}

fn add_to_turns(turns: &mut Vec<ConsecutiveBoots>, way: usize, values: [f64; 3]) {
    match turns.last_mut() {
        Some(last) if last.way == way => {
            last.starts += 1;
            for (mean, value) in last.values.iter_mut().zip(values) {
                *mean += (value - *mean) / last.starts as f64;
            }
        }
        _ => turns.push(ConsecutiveBoots { way, starts: 1, values }),
    }
}

fn mean_of_figure(of: &[[f64; 3]], figure: usize) -> f64 {
    of.iter().map(|values| values[figure]).sum::<f64>() / of.len().max(1) as f64
}

/// Returns the first judgement that decides, else the latest; `None` before the first look. Looks take the first three
/// boots of each way, the first four, and so on, each with half the chance of the previous one: together they stay
/// within the level.
fn first_decision(first: &[[f64; 3]], second: &[[f64; 3]]) -> Option<(SettingVerdict, Vec<Effect>)> {
    let pairs = first.len().min(second.len()).min(MOST_BOOTS);
    let mut latest = None;
    for count in FEWEST_BOOTS..=pairs {
        let level = LEVEL / 2f64.powi((count - FEWEST_BOOTS + 1) as i32);
        let (judgement, effects) = judge_boots(&first[..count], &second[..count], level);
        latest = Some((judgement, effects));
        if judgement != SettingVerdict::Undecided {
            break;
        }
    }
    latest
}

/// Judges the second way against the first, with the effect on each figure.
fn judge_boots(first: &[[f64; 3]], second: &[[f64; 3]], level: f64) -> (SettingVerdict, Vec<Effect>) {
    let degrees = first.len() + second.len() - 2;
    let mut worse = false;
    let mut effects = Vec::new();
    for (at, figure) in Figure::ALL.into_iter().enumerate() {
        let squares = |of: &[[f64; 3]]| {
            let mean = mean_of_figure(of, at);
            of.iter().map(|values| (values[at] - mean).powi(2)).sum::<f64>()
        };
        let variance = (squares(first) + squares(second)) / degrees as f64 + RESOLUTION * RESOLUTION / 12.0;
        let error = (variance * (1.0 / first.len() as f64 + 1.0 / second.len() as f64)).sqrt();
        let effect = mean_of_figure(second, at) - mean_of_figure(first, at);
        // A figure that never varied, such as misses that never occurred, has no effect.
        if variance > RESOLUTION * RESOLUTION / 12.0 {
            let reach = student_quantile(level, degrees) * error;
            effects.push(effect_from_logarithms(figure, effect, [effect - reach, effect + reach]));
        }
        // Harm needs less evidence than help.
        worse |= figure != Figure::Tail && effect - student_quantile(LEVEL, degrees) * error > 0.0;
    }
    let judgement = match effects.iter().find(|effect| effect.figure == Figure::Tail) {
        Some(Effect { real: true, change, .. }) if *change < 1.0 && worse => SettingVerdict::HelpsAndHarms,
        Some(Effect { real: true, change, .. }) if *change < 1.0 => SettingVerdict::Helps,
        Some(Effect { real: true, .. }) => SettingVerdict::Harms,
        _ => SettingVerdict::Undecided,
    };
    (judgement, effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn start(word: &str, tail_ns: i64, max_ns: i64) -> Boot {
        let way =
            BootConfiguration { kernel: "6.1".into(), command_line: format!("quiet {word}"), name: None };
        let block = BlockFigures { tail_ns, max_ns, missed: 0, due: 5_000, verdict: None, repeated: 0 };
        Boot { boot: String::new(), measured: String::new(), way, blocks: vec![block; 4] }
    }

    fn judged(starts: &[Boot]) -> BootComparison {
        BootComparison::new("task".into(), Vec::new(), "p99".into(), starts)
    }

    /// Boots of two ways in turns, the second with these factors on 50 us and 90 us, and 5 % variation between boots.
    fn in_turns(count: usize, tail: f64, max: f64, random: &mut Random) -> Vec<Boot> {
        let mut of = |n: usize| {
            let noise = (0.05 * random.normal()).exp();
            let (word, tail, max) = if n % 2 == 1 { ("isolcpus=1", tail, max) } else { ("", 1.0, 1.0) };
            start(word, (50e3 * tail * noise) as i64, (90e3 * max * noise) as i64)
        };
        (0..count).map(&mut of).collect()
    }

    #[test]
    fn one_start_of_each_decides_nothing_however_far_apart_they_are() {
        let found = judged(&[start("", 5_000_000, 9_000_000), start("isolcpus=1", 5_000, 9_000)]);
        assert_eq!((found.judgement, found.pairs, found.next_way()), (SettingVerdict::Undecided, 1, Some(0)));
        assert!(found.seen.is_some_and(|seen| (seen - 1e-3).abs() < 1e-6) && found.effects.is_empty());
        assert_eq!(found.ways[1].parameters_not_in(&found.ways[0]), ["isolcpus=1"]);
        assert_eq!(judged(&[start("", 1, 1)]).seen, None);
    }

    #[test]
    fn starts_in_turns_decide_and_those_in_a_row_count_once() {
        let mut random = Random::new(7);
        let starts = in_turns(6, 0.5, 0.5, &mut random);
        let found = judged(&starts);
        assert_eq!(
            (found.judgement, found.pairs, found.next_way()),
            (SettingVerdict::Helps, 3, None),
            "{found:?}"
        );
        let in_a_row: Vec<Boot> = [0, 2, 4, 1, 3, 5].map(|n: usize| starts[n].clone()).into();
        let found = judged(&in_a_row);
        assert_eq!((found.judgement, found.pairs), (SettingVerdict::Undecided, 1));
    }

    #[test]
    fn what_is_worse_is_told_and_what_may_harm_is_no_help() {
        let mut random = Random::new(3);
        assert_eq!(judged(&in_turns(10, 2.0, 1.0, &mut random)).judgement, SettingVerdict::Harms);
        assert_eq!(judged(&in_turns(10, 0.5, 3.0, &mut random)).judgement, SettingVerdict::HelpsAndHarms);
        let alike = judged(&in_turns(16, 1.0, 1.0, &mut random));
        assert_eq!((alike.judgement, alike.next_way()), (SettingVerdict::Undecided, None), "{alike:?}");
    }
}
