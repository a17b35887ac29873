//! What each knob does to a figure, and how sure that is.

use super::design::Row;

/// One figure of every block of a round.
#[derive(Debug, Clone)]
pub(super) struct Seen<'a> {
    /// The blocks.
    pub rows: &'a [Row],
    /// Which knobs were tried in it.
    pub tried: &'a [bool],
    /// The figure in each block.
    pub values: Vec<f64>,
}

impl<'a> Seen<'a> {
    /// The blocks of the balanced halves, with the figure.
    fn counted(&self) -> Vec<(&'a Row, f64)> {
        self.rows.iter().zip(self.values.iter().copied()).filter(|(row, _)| row.counts).collect()
    }
}

/// Least squares of a figure on the knobs, each round with a level of its own.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// Of each knob: the mean where it is set minus the mean where it is not, and its standard error; `None` for what was
    /// never tried.
    pub effects: Vec<Option<(f64, f64)>>,
    /// Degrees of freedom.
    pub degrees: usize,
    /// Standard deviation from block to block of one round that the knobs do not explain.
    pub scatter: f64,
}

/// Fewer degrees of freedom say nothing.
pub(super) const FEWEST_DEGREES: usize = 4;

impl Fit {
    /// From the rounds so far. In the balanced half-and-half of a round each knob's effect is free of the others', so each is
    /// a mean of differences; the scatter is what is left in the rounds. `resolution` is the width within which values are not
    /// told apart. `None` where too little was measured.
    pub(super) fn of(rounds: &[Seen<'_>], resolution: f64) -> Option<Fit> {
        let knobs = rounds.first()?.tried.len();
        let sign = |row: &Row, knob: usize| if row.on[knob] { 1.0 } else { -1.0 };
        let of_knob = |knob: usize| {
            let mut sum = (0.0, 0usize);
            for seen in rounds.iter().filter(|seen| seen.tried[knob]) {
                let rows = seen.counted();
                sum.0 += rows.iter().map(|(row, value)| sign(row, knob) * value).sum::<f64>();
                sum.1 += rows.len();
            }
            (sum.1 > 0).then(|| (sum.0 / sum.1 as f64, sum.1))
        };
        let halves: Vec<Option<(f64, usize)>> = (0..knobs).map(of_knob).collect();
        let mut degrees = 0;
        let mut of_rounds = Vec::with_capacity(rounds.len());
        for seen in rounds {
            let rows = seen.counted();
            let mean = rows.iter().map(|(_, value)| value).sum::<f64>() / rows.len().max(1) as f64;
            degrees += rows.len().saturating_sub(1);
            let left = |(row, value): &(&Row, f64)| {
                let explained: f64 = (0..knobs)
                    .filter(|knob| seen.tried[*knob])
                    .filter_map(|knob| Some(sign(row, knob) * halves[knob]?.0))
                    .sum();
                (value - mean - explained).powi(2)
            };
            of_rounds.push(rows.iter().map(left).sum::<f64>());
        }
        let all = degrees;
        degrees = degrees.checked_sub(halves.iter().flatten().count())?;
        let squares: f64 = of_rounds.iter().sum();
        degrees = (degrees as f64 * even(&of_rounds, all as f64 / rounds.len() as f64)) as usize;
        if degrees < FEWEST_DEGREES {
            return None;
        }
        // Sheppard: what is told only to a width has at least the variance of a value anywhere in it.
        let variance =
            squares / (all - halves.iter().flatten().count()) as f64 + resolution * resolution / 12.0;
        let effect =
            |half: &Option<(f64, usize)>| half.map(|(b, n)| (2.0 * b, 2.0 * (variance / n as f64).sqrt()));
        Some(Fit { effects: halves.iter().map(effect).collect(), degrees, scatter: variance.sqrt() })
    }
}

/// What share of the degrees of freedom is left where some rounds scatter more than others, as those of a machine that wanders or
/// has bursts do: Satterthwaite's, beside what it is in the mean where all are alike (of `each` degrees).
fn even(squares: &[f64], each: f64) -> f64 {
    let (sum, of_squares) = squares.iter().fold((0.0, 0.0), |(sum, of), s| (sum + s, of + s * s));
    if of_squares <= 0.0 {
        return 1.0;
    }
    (sum * sum / of_squares * (1.0 + 2.0 / each.max(1.0)) / squares.len() as f64).min(1.0)
}
