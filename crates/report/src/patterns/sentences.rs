//! Patterns in plain words, each with the numbers it rests on.

use jitterlab_analysis::drift::{LEVEL, Segment};
use jitterlab_analysis::patterns::Patterns;

use crate::words::{count, share, time};

/// A sentence for each pattern that was found; `period_ns` is the task's period.
#[must_use]
pub fn sentences(patterns: &Patterns, period_ns: i64) -> Vec<String> {
    let period_ns = period_ns as f64;
    let rules: [fn(&Patterns, f64) -> Option<String>; 7] =
        [clusters, periodic, bursts, lines, levels, trend, dependence];
    rules.iter().filter_map(|rule| rule(patterns, period_ns)).collect()
}

fn clusters(patterns: &Patterns, _: f64) -> Option<String> {
    let clusters = &patterns.clusters;
    let list = clusters.iter().map(|c| format!("{} at {}", share(c.weight), time(c.centre_ns)));
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
            time(p.period * period_ns),
            count(p.spikes),
            count(p.ticks),
            time(p.max_ns as f64)
        )
    });
    let list = found.collect::<Vec<_>>().join("; ");
    (!list.is_empty()).then(|| format!("Spikes come periodically: {list}."))
}

fn bursts(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let bursts = patterns.spikes.bursts.as_ref().filter(|b| b.bursty)?;
    let largest = bursts.bursts.first().map_or(String::new(), |b| {
        let lasted = (b.last - b.first + 1) as f64 * period_ns;
        format!(", the largest {} within {}", count(b.exceedances), time(lasted))
    });
    Some(format!(
        "Spikes come in bursts: of {} above {}, {:.1} together in the mean{largest}.",
        count(bursts.spikes),
        time(bursts.threshold_ns as f64),
        bursts.mean_size
    ))
}

fn lines(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let section = &patterns.spectrum;
    let all = section.lines.iter().filter(|l| l.harmonic.is_none_or(|h| h == 1)).chain(&section.slow_lines);
    let list: Vec<String> = all
        .take(3)
        .map(|l| format!("{} with an amplitude of {}", time(l.period * period_ns), time(l.amplitude)))
        .collect();
    // A fundamental may itself be too weak to be a line.
    let list = if list.is_empty() {
        section.lines.iter().take(1).map(|l| time(l.period * period_ns)).collect()
    } else {
        list
    };
    (!list.is_empty()).then(|| format!("The latency has a periodic part: a period of {}.", list.join(", ")))
}

fn levels(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let change = &patterns.change;
    let part = change.part_due_times as f64 * period_ns;
    let largest = change.levels.windows(2).max_by(|a, b| {
        let step = |w: &[Segment]| (w[1].level - w[0].level).abs();
        step(a).total_cmp(&step(b))
    })?;
    Some(format!(
        "Its level changed {} {}, the most after {}: from {} to {}.",
        change.levels.len() - 1,
        if change.levels.len() == 2 { "time" } else { "times" },
        time(largest[1].from as f64 * part),
        time(largest[0].level),
        time(largest[1].level)
    ))
}

fn trend(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let change = &patterns.change;
    let trend = change.trend.filter(|t| t.p < LEVEL)?;
    let part_ns = change.part_due_times as f64 * period_ns;
    let whole = trend.slope * change.medians_ns.len() as f64;
    let direction = if whole > 0.0 { "rose" } else { "fell" };
    Some(format!(
        "Its median {direction} by {} over the run ({} an hour).",
        time(whole.abs()),
        time((trend.slope * 3_600e9 / part_ns).abs())
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

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::Activation;

    #[test]
    fn a_spike_every_second_is_said_with_its_numbers() {
        let mut scan = TaskScan::new(1_000_000, 40_000);
        let rows: Vec<Activation> = (0..40_000u64)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                let noise = (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as i64;
                let start_ns = due_ns + 3_000 + noise + if index % 1_000 == 7 { 150_000 } else { 0 };
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        let found = sentences(&Patterns::of(&scan), 1_000_000);
        let said = found.join(" ");
        assert!(said.contains("2 modes, as of 2 code paths: 99.9 % at 3.51 µs, 0.10 % at 153 µs."), "{said}");
        assert!(said.contains("every 1 s (36 of 40 expected, up to 154 µs)"), "{said}");
    }
}
