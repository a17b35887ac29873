//! Comparison of two settings by several runs of either. A single run cannot separate the effect of the
//! setting from that of the moment.

use serde::Serialize;

use super::{LEVEL, Run, Statistic};
use crate::dependent_variance::student_quantile;
use crate::exact_binomial::chi_squared_quantile;
use crate::scan::TaskScan;

/// Fewest runs of a setting for a comparison.
pub const FEWEST_RUNS: usize = 2;
/// Largest relative difference in length of runs whose maxima are compared.
const ALIKE: f64 = 0.1;

/// One setting in a comparison of two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Names of its runs.
    pub runs: Vec<String>,
}

/// Two settings with several runs each: the run is the unit, and differences are judged against the spread
/// between runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingsCompared {
    /// The setting to compare with.
    pub first: Setting,
    /// The other.
    pub other: Setting,
    /// True if runs of both settings were measured in turns, so that a slow change of the machine does not
    /// look like a setting; `None` if the runs have no start time.
    pub in_turns: Option<bool>,
    /// Degrees of freedom of the spread between runs.
    pub degrees: usize,
    /// Power of a comparison with more runs, from the spread of the 99 % quantile; `None` if that is not relative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// The figures.
    pub differences: Vec<SettingDifference>,
}

/// Difference of a figure between two settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingDifference {
    /// The figure.
    pub statistic: Statistic,
    /// Its values in the runs of the first setting, in ns (a share for [`Statistic::MissedShare`]).
    pub first: Vec<f64>,
    /// Its values in the runs of the other setting.
    pub other: Vec<f64>,
    /// True if the fields below are ratios (the usual case); false if they are differences, because a value
    /// is not above 0.
    pub relative: bool,
    /// Mean of the other setting over that of the first (of logarithms), or minus it.
    pub change: f64,
    /// Its interval; all intervals hold together with 95 %.
    pub interval: [f64; 2],
    /// Standard deviation between runs of one setting: a share of the figure, or in its unit.
    pub spread: f64,
    /// True if the interval excludes no change.
    pub real: bool,
}

/// Smallest changes that comparisons with more runs detect.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Power {
    /// Standard deviation of the logarithm between runs.
    pub spread: f64,
    /// Its upper limit, with 80 % confidence.
    pub spread_at_most: f64,
    /// Runs of each setting, and the relative increase of the figure that 90 of 100 comparisons detect.
    pub shows: Vec<(usize, f64)>,
}

/// Runs of each setting for which the power is given.
const PLANNED: [usize; 3] = [3, 5, 8];
/// Probability of detection in a plan.
const SHOWN: f64 = 0.9;
/// Confidence of the upper limit of the spread.
const SPREAD: f64 = 0.8;

impl Power {
    /// Computes the power from the spread of a figure, tested at `level`; `None` if that is not relative.
    fn new(found: &SettingDifference, degrees: usize, level: f64) -> Option<Self> {
        if !found.relative || found.spread <= 0.0 {
            return None;
        }
        let shows = |runs: usize| {
            let degrees = 2 * runs - 2;
            let reach = student_quantile(level, degrees) + student_quantile(2.0 * (1.0 - SHOWN), degrees);
            (runs, (reach * found.spread * (2.0 / runs as f64).sqrt()).exp_m1())
        };
        let degrees = degrees as f64;
        let at_most = found.spread * (degrees / chi_squared_quantile(degrees, 1.0 - SPREAD)).sqrt();
        Some(Power { spread: found.spread, spread_at_most: at_most, shows: PLANNED.map(shows).into() })
    }
}

/// Compares two settings by several runs of either; `None` for fewer than two runs. `began` has the start times of the
/// runs, first and other.
pub fn compare_settings(of: [&[(String, &TaskScan)]; 2], began: [&[String]; 2]) -> Option<SettingsCompared> {
    let [first, other] = of;
    if first.len().min(other.len()) < FEWEST_RUNS {
        return None;
    }
    let setting = |runs: &[(String, &TaskScan)]| Setting { runs: runs.iter().map(|r| r.0.clone()).collect() };
    let runs = [first, other].map(|runs| runs.iter().map(Run::from_scan).collect::<Vec<_>>());
    let all = || runs.iter().flatten();
    let lengths = all().map(|run| run.scan.timing.executed() as f64);
    let (shortest, longest) = lengths.fold((f64::MAX, 0.0f64), |(s, l), n| (s.min(n), l.max(n)));
    let tested = |statistic: &Statistic| match statistic {
        Statistic::Maximum => longest <= (1.0 + ALIKE) * shortest,
        _ => true,
    };
    let values = Statistic::ALL.into_iter().filter(tested).filter_map(|statistic| {
        let of =
            |runs: &[Run<'_>]| runs.iter().map(|run| statistic.value_in(run)).collect::<Option<Vec<f64>>>();
        let (first, other) = (of(&runs[0])?, of(&runs[1])?);
        // A figure that is always 0 has no spread to compare with.
        let vary = first.iter().chain(&other).any(|v| *v != 0.0);
        vary.then_some((statistic, first, other))
    });
    let values: Vec<_> = values.collect();
    let degrees = first.len() + other.len() - 2;
    let level = LEVEL / values.len().max(1) as f64;
    let reach = student_quantile(level, degrees);
    let differences: Vec<SettingDifference> =
        values.into_iter().map(|(s, first, other)| setting_difference(s, first, other, reach)).collect();
    let p99 = differences.iter().find(|of| of.statistic == Statistic::P99);
    Some(SettingsCompared {
        power: p99.and_then(|of| Power::new(of, degrees, level)),
        first: setting(first),
        other: setting(other),
        in_turns: overlap_in_time(began),
        degrees,
        differences,
    })
}

fn setting_difference(
    statistic: Statistic,
    first: Vec<f64>,
    other: Vec<f64>,
    reach: f64,
) -> SettingDifference {
    let relative = first.iter().chain(&other).all(|v| *v > 0.0);
    let seen =
        |values: &[f64]| values.iter().map(|v| if relative { v.ln() } else { *v }).collect::<Vec<f64>>();
    let moments = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (n, mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>())
    };
    let ((n, a, of_first), (m, b, of_other)) = (moments(&seen(&first)), moments(&seen(&other)));
    let spread = ((of_first + of_other) / (n + m - 2.0)).sqrt();
    let error = reach * spread * (1.0 / n + 1.0 / m).sqrt();
    let [low, change, high] = [b - a - error, b - a, b - a + error];
    let real = low > 0.0 || high < 0.0;
    let back = |v: f64| if relative { v.exp() } else { v };
    SettingDifference {
        statistic,
        first,
        other,
        relative,
        change: back(change),
        interval: [back(low), back(high)],
        spread,
        real,
    }
}

/// True if the runs of both settings overlap in time (A B A B, not A A B B); `None` if a start time is unknown.
fn overlap_in_time(began: [&[String]; 2]) -> Option<bool> {
    if began.iter().any(|times| times.iter().any(String::is_empty)) {
        return None;
    }
    let [(a_first, a_last), (b_first, b_last)] =
        [(began[0].iter().min()?, began[0].iter().max()?), (began[1].iter().min()?, began[1].iter().max()?)];
    Some(a_first < b_last && b_first < a_last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_shows_what_students_law_says() {
        let found = setting_difference(Statistic::P99, vec![1.0, 1.1], vec![1.0, 1.1], 1.0);
        let of = SettingDifference { spread: 0.1, ..found };
        let power = Power::new(&of, 8, 0.05).unwrap();
        let rounded: Vec<(usize, f64)> =
            power.shows.iter().map(|(r, by)| (*r, (100.0 * by).round())).collect();
        assert_eq!(rounded, [(3, 42.0), (5, 26.0), (8, 19.0)]);
        assert!((power.spread_at_most / power.spread - 1.32).abs() < 0.01, "{power:?}");
        assert_eq!(Power::new(&SettingDifference { relative: false, ..of }, 8, 0.05), None);
    }
}
