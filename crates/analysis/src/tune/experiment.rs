//! Settings tried one at a time on the same base: the next measurements, and the decisions so far.
//!
//! A stage compares every open setting with one base, which is the start at first. A helpful setting joins
//! the base of the next stage, the remedy of the main cause before others with the same effect. Settings that
//! remedy the same cause mask one another; the next stage shows the effects that a kept one hid.

use super::effects::{Arms, PooledTTest};
use super::{BlockFigures, Effect, Figure, LEVEL, LOOKS, SettingVerdict, stage_level};
use crate::random::Random;

/// Smallest relative change of the deciding figure that matters.
pub const MATTERS: f64 = 0.05;
/// Resolution of percentiles: the relative width of a histogram's bin.
pub(super) const RESOLUTION: f64 = 0.008;
/// Fewest blocks of each setting for a judgement.
pub const FEWEST_ROUNDS: usize = 3;

/// A block of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundBlock {
    /// For each setting, true if it is on in this block.
    pub on: Vec<bool>,
    /// The setting that it tries; `None` for a block of the base.
    pub tries: Option<usize>,
}

/// One block of the base, then one of each setting tried on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The blocks, in the order in which they are measured.
    pub rows: Vec<RoundBlock>,
}

/// Rounds over one base.
#[derive(Debug, Clone)]
struct Stage {
    base: Vec<bool>,
    planned: usize,
    rounds: Vec<(Round, Vec<BlockFigures>)>,
    looked: usize,
    /// True if it has led to the next one.
    is_superseded: bool,
}

impl Stage {
    /// Returns the numbers of rounds after which it is judged.
    fn look_rounds(&self) -> [usize; LOOKS] {
        let end = self.planned;
        let least = |rounds: usize| rounds.max(FEWEST_ROUNDS).min(end);
        [least(end / 4), least(end / 2), end]
    }

    fn figures_by_setting(&self, settings: usize, figure: Figure) -> Arms {
        let mut arms = Arms { base: Vec::new(), tried: vec![Vec::new(); settings] };
        for (row, block) in self.rounds.iter().flat_map(|(round, blocks)| round.rows.iter().zip(blocks)) {
            match row.tries {
                None => arms.base.push(block.comparison_value(figure)),
                Some(setting) => arms.tried[setting].push(block.comparison_value(figure)),
            }
        }
        arms
    }

    /// Fits the effect of each setting; `None` if too little was measured, or if nothing was ever missed. Such misses
    /// have no spread to compare with.
    fn fit_effects(&self, settings: usize, figure: Figure) -> Option<PooledTTest> {
        let mut blocks = self.rounds.iter().flat_map(|(_, blocks)| blocks);
        if figure == Figure::Missed && blocks.all(|block| block.missed == 0) {
            return None;
        }
        PooledTTest::new(&self.figures_by_setting(settings, figure), RESOLUTION)
    }
}

/// Result of a setting so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SettingResult {
    /// The decision; `None` while it is open.
    decided: Option<SettingVerdict>,
    /// True if it helped on an earlier base, and another setting joined that base instead.
    helped: bool,
    /// Effects against the base it was last compared with, or at the look that decided it.
    pub effects: Vec<Effect>,
    /// The settings of that base.
    pub beside: Vec<usize>,
}

impl SettingResult {
    /// Returns the verdict on the setting: undecided while it is open.
    #[must_use]
    pub fn judgement(&self) -> SettingVerdict {
        match self.decided {
            Some(SettingVerdict::Harms | SettingVerdict::NoMatter) | None if self.helped => {
                SettingVerdict::NotNeeded
            }
            decided => decided.unwrap_or(SettingVerdict::Undecided),
        }
    }
}

/// Rounds of blocks over settings, judged at several looks.
#[derive(Debug, Clone)]
pub struct Experiment {
    random: Random,
    figure: Figure,
    /// Blocks that may still be measured.
    blocks_left: usize,
    stages: Vec<Stage>,
    settings: Vec<SettingResult>,
}

impl Experiment {
    /// Creates an experiment over settings in at most `blocks` blocks, judged by this figure. The remedy of the main
    /// cause comes first.
    #[must_use]
    pub fn new(settings: usize, blocks: usize, figure: Figure, seed: u64) -> Self {
        Experiment {
            random: Random::new(seed),
            figure,
            blocks_left: blocks,
            stages: Vec::new(),
            settings: vec![SettingResult::default(); settings],
        }
    }

    /// Returns the blocks to measure next, in a new stage if the last is over; `None` at the end or if all is decided.
    pub fn next_round(&mut self) -> Option<Round> {
        let goes_on = |stage: &Stage| !stage.is_superseded && stage.rounds.len() < stage.planned;
        let mut open: Vec<usize> =
            (0..self.settings.len()).filter(|at| self.settings[*at].decided.is_none()).collect();
        match self.stages.last() {
            Some(stage) if goes_on(stage) => {
                let tried = |at: &usize| {
                    let first = stage.rounds.first();
                    first.is_none_or(|(round, _)| round.rows.iter().any(|row| row.tries == Some(*at)))
                };
                open.retain(tried);
            }
            Some(stage) if !stage.is_superseded => return None,
            _ => {
                // The first ones affect most of the lateness: if not all can be judged, these are.
                open.truncate((self.blocks_left / FEWEST_ROUNDS).saturating_sub(1));
                if open.is_empty() {
                    return None;
                }
                let planned = self.blocks_left / (open.len() + 1);
                let base = self.settings.iter().map(|of| of.decided == Some(SettingVerdict::Helps)).collect();
                let rounds = Vec::new();
                self.stages.push(Stage { base, planned, rounds, looked: 0, is_superseded: false });
            }
        }
        if open.is_empty() {
            return None;
        }
        self.random.shuffle(&mut open);
        let base = &self.stages.last()?.base;
        let row = |tries: Option<usize>| {
            let on = base.iter().enumerate().map(|(at, on)| *on || tries == Some(at));
            RoundBlock { on: on.collect(), tries }
        };
        Some(Round { rows: [None].into_iter().chain(open.into_iter().map(Some)).map(row).collect() })
    }

    /// Takes the figures of a round's blocks, in its order. Judges the settings if a look is due.
    pub fn add_round(&mut self, round: Round, figures: Vec<BlockFigures>) {
        let Some(stage) = self.stages.last_mut() else { return };
        self.blocks_left = self.blocks_left.saturating_sub(round.rows.len());
        stage.rounds.push((round, figures));
        if stage.look_rounds().contains(&stage.rounds.len()) {
            self.judge_open_settings();
        }
    }

    /// Ends the experiment early: judges the settings by the blocks so far, unless that has been done.
    pub fn conclude(&mut self) {
        if self.stages.last().is_some_and(|stage| stage.looked < stage.rounds.len()) {
            self.judge_open_settings();
        }
    }

    /// Returns the number of rounds measured so far.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.stages.iter().map(|stage| stage.rounds.len()).sum()
    }

    /// Returns the standard deviation of the deciding figure's logarithm between blocks; `None` before enough blocks.
    #[must_use]
    pub fn scatter(&self) -> Option<f64> {
        self.stages
            .iter()
            .find_map(|stage| Some(stage.fit_effects(self.settings.len(), self.figure)?.scatter))
    }

    /// Returns the blocks with any setting on if `set`, else those with none.
    #[must_use]
    pub fn blocks(&self, set: bool) -> Vec<&BlockFigures> {
        let rounds = self.stages.iter().flat_map(|stage| &stage.rounds);
        let rows = rounds.flat_map(|(round, figures)| round.rows.iter().zip(figures));
        rows.filter(|(row, _)| row.on.contains(&true) == set).map(|(_, figures)| figures).collect()
    }

    /// Returns the result of each setting so far.
    #[must_use]
    pub fn results(&self) -> &[SettingResult] {
        &self.settings
    }

    /// Judges the open settings by Holm's step-down at this look's level, and adds a helpful one to the base. The
    /// looks' shares bound the chance of calling any setting without an effect effective (Scand. Journal of Statistics
    /// 6, 1979).
    fn judge_open_settings(&mut self) {
        let figure = self.figure;
        let count = self.settings.len();
        let level = stage_level(self.stages.len().saturating_sub(1), count) / LOOKS as f64;
        let Some(stage) = self.stages.last_mut() else { return };
        stage.looked = stage.rounds.len();
        let fits = Figure::ALL.map(|figure| (figure, stage.fit_effects(count, figure)));
        let base: Vec<usize> = (0..count).filter(|at| stage.base[*at]).collect();
        let fit_of =
            |of: Figure| fits.iter().find(|(figure, _)| *figure == of).and_then(|(_, fit)| fit.as_ref());
        let Some(fit) = fit_of(figure).filter(|_| stage.looked >= FEWEST_ROUNDS) else { return };
        let mut open: Vec<(usize, f64, f64)> = (0..count)
            .filter(|at| self.settings[*at].decided.is_none())
            .filter_map(|at| fit.effects[at].map(|(effect, error)| (at, effect, error)))
            .collect();
        open.sort_by(|a, b| (b.1.abs() / b.2).total_cmp(&(a.1.abs() / a.2)));
        let mut left = open.len();
        let mut helping: Vec<usize> = Vec::new();
        for (at, effect, _) in open {
            let Some(interval) = fit.interval(at, level / left as f64) else { continue };
            let found = effect_from_logarithms(figure, effect, interval);
            // An undecided setting keeps the level for those behind it.
            left -= usize::from(found.real && left > 1);
            let of = |other: Figure| {
                let fit = fit_of(other).filter(|_| other != figure)?;
                Some(effect_from_logarithms(other, fit.effects[at]?.0, fit.interval(at, LEVEL)?))
            };
            let others: Vec<Effect> = Figure::ALL.into_iter().filter_map(of).collect();
            // Harm needs less evidence than help: a setting that may make another figure worse is not kept.
            let worse = others.iter().any(|effect| effect.real && effect.change > 1.0);
            let setting = &mut self.settings[at];
            setting.decided = match found {
                Effect { real: true, change, .. } if change < 1.0 && worse => {
                    Some(SettingVerdict::HelpsAndHarms)
                }
                Effect { real: true, change, .. } if change < 1.0 => {
                    helping.push(at);
                    None
                }
                Effect { real: true, .. } => Some(SettingVerdict::Harms),
                Effect { interval: [low, high], .. } if low > 1.0 - MATTERS && high < 1.0 + MATTERS => {
                    Some(SettingVerdict::NoMatter)
                }
                _ => None,
            };
            setting.effects = [found].into_iter().chain(others).collect();
            setting.beside.clone_from(&base);
        }
        self.extend_base(&helping);
    }

    /// Adds the first helpful setting to the base and ends the stage. Another one comes before it if it helps by more
    /// than its interval allows.
    fn extend_base(&mut self, helping: &[usize]) {
        let effect = |at: &usize| self.settings[*at].effects[0];
        let Some(best) = helping.iter().map(|at| effect(at).change).min_by(f64::total_cmp) else { return };
        let as_good = |at: &&usize| {
            let of = effect(at);
            of.change.ln() <= best.ln() + (of.interval[1] / of.change).ln()
        };
        let kept = helping.iter().filter(as_good).min().copied();
        for at in helping {
            let setting = &mut self.settings[*at];
            setting.helped = true;
            if kept == Some(*at) {
                setting.decided = Some(SettingVerdict::Helps);
            }
        }
        if let Some(stage) = self.stages.last_mut() {
            stage.is_superseded = true;
        }
    }
}

/// Converts an effect on a figure's logarithm, with its interval, to ratios.
pub(super) fn effect_from_logarithms(figure: Figure, effect: f64, [low, high]: [f64; 2]) -> Effect {
    let real = low > 0.0 || high < 0.0;
    Effect { figure, change: effect.exp(), interval: [low.exp(), high.exp()], real }
}
