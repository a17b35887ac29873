//! Patterns in plain words, each with the numbers behind it.

use jitterlab_analysis::drift::Segment;
use jitterlab_analysis::patterns::Patterns;

use jitterlab_analysis::scan::Peak;
use jitterlab_analysis::spectral_lines::Line;

use crate::words::{count, share, time};

/// A sentence for each pattern that was found; `period_ns` is the task's period.
pub fn sentences(patterns: &Patterns, period_ns: i64) -> Vec<String> {
    let period_ns = period_ns as f64;
    let rules: [fn(&Patterns, f64) -> Option<String>; 13] = [
        equal_latencies_sentence,
        trend_sentence,
        level_changes_sentence,
        spread_change_sentence,
        wandering_sentence,
        clusters_sentence,
        periodic_spikes_sentence,
        outliers_sentence,
        disturbances_sentence,
        locked_latencies_sentence,
        spectral_lines_sentence,
        bursts_sentence,
        dependence_sentence,
    ];
    rules.iter().filter_map(|rule| rule(patterns, period_ns)).collect()
}

fn equal_latencies_sentence(patterns: &Patterns, _: f64) -> Option<String> {
    let [all] = patterns.clusters.as_slice() else { return None };
    let same = all.count > 1 && all.low_ns == all.high_ns;
    same.then(|| {
        format!(
            "All latencies are equal: {}. What was measured may not tell them apart.",
            time(all.centre_ns)
        )
    })
}

fn disturbances_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let each = patterns.spectrum.disturbers.iter().map(|found| {
        let times = |all: &[f64]| all.iter().map(|ns| time(*ns)).collect::<Vec<_>>().join(", ");
        let lines: Vec<f64> = found.lines.iter().take(3).map(|line| line * period_ns).collect();
        let met = format!("met at the starts alone it looks like {}", times(&lines));
        match found.period_ns {
            Some(ns) => format!("Something every {} makes starts late, as their shape shows; {met}.", time(ns)),
            None => format!(
                "Something periodic makes starts late; {met}, and periods of {} and shorter ones look alike: another period of \
                 the task, 2 % longer, tells them apart.",
                times(&found.candidates_ns)
            ),
        }
    });
    let all = each.collect::<Vec<_>>().join(" ");
    (!all.is_empty()).then_some(all)
}

/// Most times that are named.
const NAMED: usize = 8;

fn outliers_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let found = patterns.spikes.isolated.as_ref()?;
    let largest = found.peaks.iter().map(|peak| peak.latency_ns).max()?;
    let least = found.peaks.iter().map(|peak| peak.latency_ns).min()?;
    let sizes = match (time(least as f64), time(largest as f64)) {
        (least, largest) if least == largest => largest,
        (least, largest) => format!("{least} to {largest}"),
    };
    let at = |peak: &Peak| time(peak.index as f64 * period_ns);
    let named = found.peaks.iter().take(NAMED).map(at).collect::<Vec<_>>().join(", ");
    let more = if found.peaks.len() > NAMED { ", ..." } else { "" };
    let even = match found.spacing {
        Some(s) => format!(
            ". They come every {} ({} of {} expected)",
            time(s.period * period_ns),
            count(s.on_grid as u64),
            count(s.points as u64)
        ),
        None if found.peaks.len() == 2 => {
            let [first, last] = [found.peaks.first()?, found.peaks.last()?];
            format!(", {} apart", time((last.index - first.index) as f64 * period_ns))
        }
        None => String::new(),
    };
    let (latencies, verb) =
        if found.peaks.len() == 1 { ("latency", "stands") } else { ("latencies", "stand") };
    Some(format!(
        "{} {latencies} of {sizes} {verb} apart, all others are up to {}: at {named}{more}{even}.",
        count(found.peaks.len() as u64),
        time(found.others_up_to_ns as f64)
    ))
}

fn spread_change_sentence(patterns: &Patterns, _: f64) -> Option<String> {
    let found = patterns.change.spread?;
    let how = if found.drifts { "drifts" } else { "changed" };
    let (from, to) = (time(found.from_ns), time(found.to_ns));
    (from != to).then(|| {
        format!("Its spread {how} over the run: the middle 80 % lay within {from}, then within {to}.")
    })
}

fn clusters_sentence(patterns: &Patterns, _: f64) -> Option<String> {
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

/// Relative uncertainty from which on a period is given with it.
const LOOSE: f64 = 1e-3;

fn periodic_spikes_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let found = patterns.spikes.periodic.iter().map(|p| {
        // Three digits would be more than is known.
        let loose = p.uncertainty > LOOSE * p.period;
        let error = if loose { format!(" +- {}", time(p.uncertainty * period_ns)) } else { String::new() };
        format!(
            "every {}{error} ({} of {} expected, up to {})",
            time(p.period * period_ns),
            count(p.spikes),
            count(p.ticks),
            time(p.largest.latency_ns as f64)
        )
    });
    let list = found.collect::<Vec<_>>().join("; ");
    (!list.is_empty()).then(|| format!("Spikes come periodically: {list}."))
}

fn bursts_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let bursts = patterns.spikes.bursts.as_ref().filter(|b| b.bursty)?;
    let largest = bursts.bursts.first().map_or(String::new(), |b| {
        let lasted = (b.last - b.first + 1) as f64 * period_ns;
        format!(", at most {} within {}", count(b.exceedances), time(lasted))
    });
    let what = match wandering_range(patterns) {
        Some(_) => "Late starts come in bursts, also as the average moves",
        None => "Late starts come in bursts",
    };
    Some(format!(
        "{what}: {} above {}, on average {:.1} together{largest}.",
        count(bursts.spikes),
        time(bursts.threshold_ns as f64),
        bursts.mean_size
    ))
}

fn locked_latencies_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let found = patterns.spectrum.locked.iter().map(|l| {
        let unlike = if l.difference_ns < 0.0 { "earlier" } else { "later" };
        format!(
            "every {} activations ({}) one starts {} {unlike} than those around it ({} seen)",
            count(l.period),
            time(l.period as f64 * period_ns),
            time(l.difference_ns.abs()),
            count(l.repetitions)
        )
    });
    let list = found.collect::<Vec<_>>().join("; ");
    (!list.is_empty()).then(|| format!("Locked to the task: {list}."))
}

fn spectral_lines_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let section = &patterns.spectrum;
    let all: Vec<&Line> = section.lines.iter().chain(&section.slow_lines).collect();
    let of_periods = all.chunk_by(|a, b| a.fundamental == b.fundamental);
    // Spikes at a period describe it better than its lines do.
    let of_disturber = |line: &Line| section.disturbers.iter().any(|d| d.lines.contains(&line.period));
    let new = of_periods.filter(|lines| {
        !patterns.spikes.periodic.iter().any(|p| p.explains(lines[0])) && !of_disturber(lines[0])
    });
    // Periods that look alike when written are listed once.
    let mut shown: Vec<String> = Vec::new();
    let list: Vec<String> = new
        .filter(|lines| {
            let name = time(lines[0].fundamental * period_ns);
            let is_new = !shown.contains(&name);
            shown.push(name);
            is_new
        })
        .take(3)
        .map(|lines| {
            let strongest = lines.iter().map(|l| l.amplitude).fold(0.0, f64::max);
            let more = match lines.len() {
                1 if lines[0].harmonic == 1 => String::new(),
                1 => format!(" (harmonic {})", lines[0].harmonic),
                more => format!(" ({more} harmonics)"),
            };
            format!(
                "{} with an amplitude of {}{more}",
                time(lines[0].fundamental * period_ns),
                time(strongest)
            )
        })
        .collect();
    (!list.is_empty()).then(|| format!("The latency has a periodic part: a period of {}.", list.join(", ")))
}

fn level_changes_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let change = &patterns.change;
    let part = change.part_due_times as f64 * period_ns;
    let largest = change.levels.windows(2).max_by(|a, b| {
        let step = |w: &[Segment]| (w[1].level - w[0].level).abs();
        step(a).total_cmp(&step(b))
    })?;
    let often = match change.levels.len() - 1 {
        1 => "once,".into(),
        times => format!("{times} times, the most"),
    };
    let (before, after) = (time(largest[0].level), time(largest[1].level));
    // A change below three digits is nothing to act upon; the figures have it.
    (before != after).then(|| {
        format!(
            "Its level changed {often} after {}: from {before} to {after}.",
            time(largest[1].from as f64 * part)
        )
    })
}

/// Smallest and largest mean of a run's parts if its level wanders; `None` if it is steady, drifts or jumps.
fn wandering_range(patterns: &Patterns) -> Option<[f64; 2]> {
    let change = &patterns.change;
    let wanders = change.found && !change.has_changed();
    let least = change.means_ns.iter().copied().reduce(f64::min)?;
    let most = change.means_ns.iter().copied().reduce(f64::max)?;
    wanders.then_some([least, most])
}

fn wandering_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let [least, most] = wandering_range(patterns)?;
    Some(format!(
        "The average over {} moves between {} and {}.",
        time(patterns.change.part_due_times as f64 * period_ns),
        time(least),
        time(most)
    ))
}

fn trend_sentence(patterns: &Patterns, period_ns: f64) -> Option<String> {
    let change = &patterns.change;
    let trend = change.trend.filter(|t| t.found)?;
    let part_ns = change.part_due_times as f64 * period_ns;
    let whole = trend.slope * change.means_ns.len() as f64;
    let direction = if whole > 0.0 { "rose" } else { "fell" };
    let millionths = 1e6 * trend.slope / part_ns;
    let error =
        trend.uncertainty.map_or(String::new(), |e| format!(" (+- {})", three_digits(1e6 * e / part_ns)));
    let rate = three_digits(millionths.abs());
    Some(if change.clock_gain_ppm(period_ns).is_none() {
        format!("Its level {direction} steadily, by {} over the run: {rate} ppm{error}.", time(whole.abs()))
    } else {
        let (fast, gain) = if whole > 0.0 { ("fast", "gain") } else { ("slow", "lose") };
        format!(
            "Start times {gain} {rate} ppm{error} on due times, {} over the run: if these are of two clocks, the clock is {rate} ppm \
             {fast}. All that follows is judged without it.",
            time(whole.abs())
        )
    })
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 => format!("{v:.2}"),
        v => format!("{v:.2e}"),
    }
}

fn dependence_sentence(patterns: &Patterns, _: f64) -> Option<String> {
    let found = patterns.dependence.found;
    let all = patterns.dependence.autocorrelation.iter().enumerate().skip(1);
    let (lag, strongest) = all.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let how = match strongest.abs() {
        r if r > 0.5 => "strongly",
        r if r > 0.1 => "clearly",
        _ => "slightly",
    };
    found.then(|| {
        if lag == 1 && *strongest > 0.1 {
            format!("After a late start the next is often late, too (autocorrelation {strongest:.2}).")
        } else {
            format!(
                "Each latency depends {how} on those before (autocorrelation {strongest:.2}, at lag {lag} the strongest)."
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::random::Random;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::Activation;

    #[test]
    fn a_spike_every_second_is_said_with_its_numbers() {
        let mut scan = TaskScan::new(1_000_000, 40_000);
        let mut random = Random::new(1);
        let rows: Vec<Activation> = (0..40_000u64)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                let noise = random.below(1_024) as i64;
                let start_ns = due_ns + 3_000 + noise + if index % 1_000 == 7 { 150_000 } else { 0 };
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        let found = sentences(&Patterns::from_scan(&scan), 1_000_000);
        let said = found.join(" ");
        assert!(!said.contains("Locked") && !said.contains("periodic part"), "{said}");
        assert!(said.contains("2 modes, as of 2 code paths: 99.9 % at 3.51 µs, 0.10 % at 153 µs."), "{said}");
        assert!(said.contains("every 1 s (40 of 40 expected, up to 154 µs)"), "{said}");
    }

    #[test]
    fn a_clock_that_drifts_is_said_to_be_fast_and_nothing_is_made_of_it() {
        let mut scan = TaskScan::new(1_000_000, 60_000);
        let mut random = Random::new(2);
        let rows: Vec<Activation> = (0..60_000u64)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                let noise = random.below(2_048) as i64;
                let start_ns = due_ns + 3_000 + noise + index as i64 * 20;
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        let found = sentences(&Patterns::from_scan(&scan), 1_000_000);
        assert!(found.len() == 1 && found[0].starts_with("Start times gain 20.0 ppm"), "{found:?}");
        assert!(found[0].contains("the clock is 20.0 ppm fast"), "{found:?}");
    }
}
