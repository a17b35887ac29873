//! An experiment while it goes on: what to measure next, and what is decided so far.

use super::design::{Role, Round};
use super::effects::{Fit, Seen};
use super::{BlockFigures, Effect, Figure, Judgement, LEVEL, LOOKS};
use crate::long_run::student;
use crate::random::Random;

/// A change of the figure that decides by less than this share does not matter.
pub const MATTERS: f64 = 0.05;
/// Percentiles are told no finer: the width of a histogram's bin.
pub(super) const RESOLUTION: f64 = 0.008;

/// Rounds of blocks over knobs, looked at several times.
#[derive(Debug, Clone)]
pub struct Experiment {
    random: Random,
    planned: usize,
    rounds: Vec<(Round, Vec<bool>, Vec<BlockFigures>)>,
    decided: Vec<Option<Judgement>>,
    /// The effect on the figure that decides, at the look that decided it.
    at_decision: Vec<Option<Effect>>,
}

impl Experiment {
    /// Over so many knobs in so many rounds at most.
    #[must_use]
    pub fn new(knobs: usize, rounds: usize, seed: u64) -> Self {
        Experiment {
            random: Random::new(seed),
            planned: rounds.max(1),
            rounds: Vec::new(),
            decided: vec![None; knobs],
            at_decision: vec![None; knobs],
        }
    }

    /// The blocks to measure next; `None` at the end, or when everything is decided.
    pub fn next_round(&mut self) -> Option<Round> {
        if self.rounds.len() >= self.planned || self.decided.iter().all(Option::is_some) {
            return None;
        }
        let role = |decided: &Option<Judgement>| match decided {
            None => Role::Tried,
            Some(Judgement::Helps) => Role::Held,
            Some(_) => Role::Left,
        };
        let roles: Vec<Role> = self.decided.iter().map(role).collect();
        Some(Round::draw(&roles, &mut self.random))
    }

    /// What the blocks of a round were like, in its order. Looks at what is decided when it is time.
    pub fn add(&mut self, round: Round, figures: Vec<BlockFigures>) {
        let tried = self.decided.iter().map(Option::is_none).collect();
        self.rounds.push((round, tried, figures));
        if self.looks().contains(&self.rounds.len()) {
            self.look();
        }
    }

    /// It ends before all rounds: the last look is now, unless there was one.
    pub fn conclude(&mut self) {
        if !self.looks().contains(&self.rounds.len()) {
            self.look();
        }
    }

    /// After how many rounds it is looked at.
    fn looks(&self) -> [usize; LOOKS] {
        let end = self.planned;
        [(end / 4).max(2).min(end), (end / 2).max(2).min(end), end]
    }

    /// Rounds measured so far.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Standard deviation of the logarithm of the figure that decides, from block to block; `None` before enough blocks.
    #[must_use]
    pub fn scatter(&self) -> Option<f64> {
        Some(self.fit(Figure::Tail)?.scatter)
    }

    /// The blocks in which any knob was set, or those that showed the start as it is.
    #[must_use]
    pub fn blocks(&self, set: bool) -> Vec<&BlockFigures> {
        let rows = self.rounds.iter().flat_map(|(round, _, figures)| round.rows.iter().zip(figures));
        rows.filter(|(row, _)| row.on.contains(&true) == set).map(|(_, figures)| figures).collect()
    }

    fn fit(&self, figure: Figure) -> Option<Fit> {
        let rounds: Vec<Seen<'_>> = self
            .rounds
            .iter()
            .map(|(round, tried, figures)| Seen {
                rows: &round.rows,
                tried,
                values: figures.iter().map(|block| block.value(figure)).collect(),
            })
            .collect();
        let resolution = if figure.is_relative() { RESOLUTION } else { 0.0 };
        Fit::of(&rounds, resolution)
    }

    /// Holm's step-down over the knobs that are still open (Scandinavian Journal of Statistics 6, 1979), at this look's share of
    /// the level: the first knob that does nothing is taken for one that does something with at most that chance, whatever
    /// was decided before.
    fn look(&mut self) {
        let Some(fit) = self.fit(Figure::Tail) else { return };
        let mut open: Vec<(usize, f64, f64)> = (0..self.decided.len())
            .filter(|knob| self.decided[*knob].is_none())
            .filter_map(|knob| fit.effects[knob].map(|(effect, error)| (knob, effect, error)))
            .collect();
        open.sort_by(|a, b| (b.1.abs() / b.2).total_cmp(&(a.1.abs() / a.2)));
        let mut left = open.len();
        for (knob, effect, error) in open {
            let reach = student(LEVEL / (LOOKS * left) as f64, fit.degrees) * error;
            let found = told(Figure::Tail, effect, reach);
            self.at_decision[knob] = Some(found);
            self.decided[knob] = match found {
                Effect { real: true, change, .. } if change < 1.0 => Some(Judgement::Helps),
                Effect { real: true, .. } => Some(Judgement::Harms),
                Effect { interval: [low, high], .. } if low > 1.0 - MATTERS && high < 1.0 + MATTERS => {
                    Some(Judgement::NoMatter)
                }
                _ => None,
            };
            // What is not decided keeps the level for those behind it.
            left -= usize::from(found.real && left > 1);
        }
        self.veto();
    }

    /// What may make another figure worse is not kept, though it is not shown to: harm needs less evidence than help.
    fn veto(&mut self) {
        for figure in [Figure::Maximum, Figure::Missed] {
            let Some(fit) = self.fit(figure) else { continue };
            let reach = student(LEVEL, fit.degrees);
            for (knob, decided) in self.decided.iter_mut().enumerate() {
                let worse = fit.effects[knob].is_some_and(|(effect, error)| effect - reach * error > 0.0);
                if *decided == Some(Judgement::Helps) && worse {
                    *decided = Some(Judgement::HelpsAndHarms);
                }
            }
        }
    }

    /// What is known of each knob: the judgement, and its effects as far as they are known.
    #[must_use]
    pub fn found(&self) -> Vec<(Judgement, Vec<Effect>)> {
        let knobs = self.decided.len();
        let fits = Figure::ALL.map(|figure| (figure, self.fit(figure)));
        let of = |knob: usize| {
            let effect = |(figure, fit): &(Figure, Option<Fit>)| {
                if *figure == Figure::Tail && self.at_decision[knob].is_some() {
                    return self.at_decision[knob];
                }
                let fit = fit.as_ref()?;
                let (effect, error) = fit.effects[knob]?;
                let reach = student(LEVEL / (LOOKS * knobs) as f64, fit.degrees) * error;
                // What never came has no spread to be held against.
                (error > 0.0).then(|| told(*figure, effect, reach))
            };
            (self.decided[knob].unwrap_or(Judgement::Undecided), fits.iter().filter_map(effect).collect())
        };
        (0..knobs).map(of).collect()
    }
}

/// An effect with its interval, as it is told.
pub(super) fn told(figure: Figure, effect: f64, reach: f64) -> Effect {
    let back = |v: f64| if figure.is_relative() { v.exp() } else { v };
    let [low, high] = [effect - reach, effect + reach];
    Effect { figure, change: back(effect), interval: [back(low), back(high)], real: low > 0.0 || high < 0.0 }
}
