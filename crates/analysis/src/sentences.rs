//! Patterns in plain words, each with the numbers it rests on.

use jitterlab_model::units::Human;

use crate::patterns::Patterns;
use crate::verdict::{grouped, percent};

/// A sentence for each pattern that was found.
pub(crate) fn of(patterns: &Patterns, period_ns: f64) -> Vec<String> {
    let rules: [fn(&Patterns, f64) -> Option<String>; 7] =
        [clusters, periodic, bursts, lines, levels, trend, dependence];
    rules.iter().filter_map(|rule| rule(patterns, period_ns)).collect()
}

fn clusters(patterns: &Patterns, _: f64) -> Option<String> {
    let clusters = &patterns.clusters;
    let list = clusters.iter().map(|c| format!("{} at {}", percent(c.weight), Human(c.centre_ns)));
    (clusters.len() > 1).then(|| {
        format!(
            "The latency has {} modes, as of {} code paths: {}.",
            clusters.len(),
            clusters.len(),
            list.collect::<Vec<_>>().join(", ")
        )
    })
}

fn periodic(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let found = patterns.spikes.periodic.iter().map(|p| {
        format!(
            "every {} ({} of {} expected, up to {})",
            Human(p.period * period_ns),
            grouped(p.spikes),
            grouped(p.ticks),
            Human(p.max_ns as f64)
        )
    });
    let list = found.collect::<Vec<_>>().join("; ");
    (!list.is_empty()).then(|| format!("Spikes come periodically: {list}."))
}

fn bursts(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let bursts = patterns.spikes.bursts.as_ref().filter(|b| b.bursty)?;
    let largest = bursts.bursts.first().map_or(String::new(), |b| {
        let lasted = (b.last - b.first + 1) as f64 * period_ns;
        format!(", the largest {} within {}", grouped(b.exceedances), Human(lasted))
    });
    Some(format!(
        "Spikes come in bursts: of {} above {}, {:.1} together in the mean{largest}.",
        grouped(bursts.spikes),
        Human(bursts.threshold_ns as f64),
        bursts.mean_size
    ))
}

fn lines(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let section = &patterns.spectrum;
    let all = section.lines.iter().filter(|l| l.harmonic.is_none_or(|h| h == 1)).chain(&section.slow_lines);
    let list: Vec<String> = all
        .take(3)
        .map(|l| format!("{} with an amplitude of {}", Human(l.period * period_ns), Human(l.amplitude)))
        .collect();
    // A fundamental may itself be too weak to be a line.
    let list = if list.is_empty() {
        section.lines.iter().take(1).map(|l| Human(l.period * period_ns).to_string()).collect()
    } else {
        list
    };
    (!list.is_empty()).then(|| format!("The latency has a periodic part: a period of {}.", list.join(", ")))
}

fn levels(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let change = &patterns.change;
    let part = change.part_due_times as f64 * period_ns;
    let largest = change.levels.windows(2).max_by(|a, b| {
        let step = |w: &[crate::drift::Segment]| (w[1].level - w[0].level).abs();
        step(a).total_cmp(&step(b))
    })?;
    Some(format!(
        "Its level changed {} {}, the most after {}: from {} to {}.",
        change.levels.len() - 1,
        if change.levels.len() == 2 { "time" } else { "times" },
        Human(largest[1].from as f64 * part),
        Human(largest[0].level),
        Human(largest[1].level)
    ))
}

fn trend(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let change = &patterns.change;
    let trend = change.trend.filter(|t| t.p < crate::drift::LEVEL)?;
    let part_ns = change.part_due_times as f64 * period_ns;
    let whole = trend.slope * change.medians_ns.len() as f64;
    let direction = if whole > 0.0 { "rose" } else { "fell" };
    Some(format!(
        "Its median {direction} by {} over the run ({} an hour).",
        Human(whole.abs()),
        Human((trend.slope * 3_600e9 / part_ns).abs())
    ))
}

fn dependence(patterns: &Patterns, _: f64) -> Option<String> {
    let found = patterns.dependence.found;
    let all = patterns.dependence.autocorrelation.iter().enumerate().skip(1);
    let (lag, strongest) = all.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let how = match strongest.abs() {
        r if r > 0.5 => "strongly",
        r if r > 0.1 => "clearly",
        _ => "slightly",
    };
    found.then(|| {
        format!("Each latency depends {how} on those before (autocorrelation {strongest:.2}, at lag {lag} the strongest).")
    })
}
