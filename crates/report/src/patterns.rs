//! The patterns of a task for the terminal: sentences first, a table for each section on demand.

mod sentences;

pub use sentences::sentences;

use std::fmt::Write as _;

use crate::words::{count, microseconds};
use jitterlab_analysis::TaskAnalysis;
use jitterlab_analysis::lines::Line;
use jitterlab_analysis::misses::Misses;
use jitterlab_analysis::patterns::{Change, Patterns, SpectrumSection, Spikes};
use jitterlab_analysis::task_analysis::{AnalysisSection as Section, RunAnalysis, TimeErrors};
use jitterlab_analysis::transitions::Transitions;
use jitterlab_model::units::Human;

use crate::chart::Terminal;
use crate::check::paragraph;
use crate::figure::glance;
use crate::run::task_line;
use crate::summary;
use crate::table::columns;
use crate::wrap::wrap;

/// Rows of a table at most: a screen.
const ROWS: usize = 20;

/// An overview: the figures, the verdict and the patterns in sentences; or the sections that were asked for, in full.
#[must_use]
pub fn text(analysis: &RunAnalysis, terminal: Terminal) -> String {
    let RunAnalysis { file, sections, tasks, run, .. } = analysis;
    let mut text = String::new();
    if !sections.is_empty() {
        for (task, analysis) in run.tasks.iter().zip(tasks) {
            text.push_str(&format!("{}\n", task_line(run, task)));
            let shown =
                sections.iter().map(|part| format!("\n{}", section(*part, task.spec.period_ns, analysis)));
            text.extend(shown);
            text.push('\n');
        }
        return text;
    }
    text.push_str(&summary::overview(run, tasks.iter().map(|task| &task.measured), terminal));
    text.push('\n');
    text.push_str(&glance::figures(tasks, terminal));
    for (task, analysis) in run.tasks.iter().zip(tasks) {
        text.push('\n');
        text.push_str(&brief(&task.spec.name, task.spec.period_ns, analysis));
    }
    let names: Vec<&str> = Section::ALL.map(Section::name).into_iter().chain(["all"]).collect();
    text.push_str(&wrap(&format!("More with --section: {}.", names.join(", "))));
    text + &format!("file: {file}\n")
}

/// What a part of the analysis is of, for help.
#[must_use]
pub fn section_help(section: Section) -> &'static str {
    match section {
        Section::Clusters => "Latency modes (code paths) and which follows which",
        Section::Spectrum => "Periodic parts of the latency",
        Section::Dependence => "How much a latency says of the next ones",
        Section::Spikes => "The largest latencies, their periods and bursts",
        Section::Misses => "Missed due times: runs, windows, bursts",
        Section::Change => "Drift and changes of level over the run",
        Section::TimeError => {
            "By how much the latency changes within stretches of each length (MTIE, TDEV, ADEV, MDEV)"
        }
    }
}

/// What patterns there are, in sentences.
fn brief(name: &str, period_ns: i64, analysis: &TaskAnalysis) -> String {
    let sentences = sentences(&analysis.patterns, period_ns);
    if sentences.is_empty() {
        return wrap(&if analysis.patterns.clusters.is_empty() {
            format!("Of {name} no distribution of latencies is known, so nothing is said of a pattern.")
        } else if analysis.misses.is_some() {
            format!("No pattern in the latency of {name}: it looks random, of one kind and steady.")
        } else {
            format!("The latency of {name} looks of one kind; only its distribution is known, not its order.")
        });
    }
    let mut text = format!("Pattern of {name}:\n");
    text.extend(sentences.iter().map(|sentence| wrap(&format!("- {sentence}"))));
    text
}

/// One section in full.
fn section(section: Section, period_ns: i64, analysis: &TaskAnalysis) -> String {
    let patterns = &analysis.patterns;
    let period_ns = period_ns as f64;
    let unknown = match analysis.misses {
        Some(_) => "  not known: too few activations\n",
        None => "  not known: only distributions were kept, not single activations\n",
    };
    match section {
        Section::Clusters => clusters(patterns, analysis.transitions.as_ref()),
        Section::Spectrum => spectrum(&patterns.spectrum, period_ns, unknown),
        Section::Dependence => dependence(patterns, unknown),
        Section::Spikes => spikes(&patterns.spikes, period_ns, unknown),
        Section::Misses => misses(analysis.misses.as_ref(), unknown),
        Section::Change => change(&patterns.change, period_ns),
        Section::TimeError => time_error(analysis.time_error.as_ref(), unknown),
    }
}

/// A sentence below a table.
fn note(sentence: &str) -> String {
    paragraph(sentence, 2, 4)
}

/// A probability, as far as it means something.
fn p(p: f64) -> String {
    if p < 1e-12 { "below 1e-12".into() } else { format!("{p:.2e}") }
}

fn clusters(patterns: &Patterns, transitions: Option<&Transitions>) -> String {
    let rows = patterns.clusters.iter().enumerate().map(|(i, c)| {
        vec![
            format!("{}", i + 1),
            count(c.count),
            format!("{:.4}", c.weight * 100.0),
            microseconds(c.low_ns as f64),
            microseconds(c.centre_ns),
            microseconds(c.high_ns as f64),
            microseconds(c.width_ns() as f64),
            microseconds(c.sd_ns),
        ]
    });
    let mut text = String::from("latency modes (code paths), in µs\n");
    let header = ["mode", "wake-ups", "share %", "from", "centre", "to", "width", "sd"];
    text.push_str(&columns(&header, rows));
    let Some(t) = transitions else { return text };
    text.push_str("which mode follows which, in % of the row\n");
    let names: Vec<String> = (1..=t.probabilities.len()).map(|i| format!("to {i}")).collect();
    let header: Vec<&str> = std::iter::once("").chain(names.iter().map(String::as_str)).collect();
    let rows = t.probabilities.iter().enumerate().map(|(i, row)| {
        let shares = row.iter().map(|share| format!("{:.3}", share * 100.0));
        std::iter::once(format!("from {}", i + 1)).chain(shares).collect()
    });
    text.push_str(&columns(&header, rows));
    if let (Some(chi), Some(prob)) = (t.chi_squared, t.p) {
        let strength = t.strength.map_or(String::new(), |v| format!(", strength {v:.3} of 1 (Cramer's V)"));
        let degrees = t.degrees;
        text.push_str(&note(&format!(
            "independent of the one before: chi-squared {chi:.1} with {degrees} degrees, p {}{strength}",
            p(prob)
        )));
    }
    text
}

fn spectrum(section: &SpectrumSection, period_ns: f64, unknown: &str) -> String {
    let Some(spectrum) = &section.spectrum else {
        return "periodic parts of the latency\n".to_owned() + unknown;
    };
    let row = |line: &Line| {
        vec![
            Human(line.fundamental * period_ns).to_string(),
            line.harmonic.to_string(),
            Human(line.period * period_ns).to_string(),
            Human(line.uncertainty * period_ns).to_string(),
            Human(line.amplitude).to_string(),
            format!("{:.0}", line.over_floor),
            p(line.p),
        ]
    };
    let lines = section.lines.iter().chain(&section.slow_lines);
    let rows: Vec<_> = lines.take(ROWS).map(row).collect();
    let mut text = format!(
        "periodic parts of the latency ({} segments of {} activations)\n",
        spectrum.segments, spectrum.segment
    );
    if rows.is_empty() && section.locked.is_empty() {
        text.push_str("  none stands out of the noise\n");
    }
    if !rows.is_empty() {
        text.push_str(&columns(&["period", "harmonic", "at", "+-", "amplitude", "over floor", "p"], rows));
    }
    for locked in &section.locked {
        text.push_str(&note(&format!(
            "locked to the task: one of every {} activations ({}), k x {} + {}, differs by {:+.0} ns from those around it ({} seen, z {:.1})",
            count(locked.period),
            Human(locked.period as f64 * period_ns),
            count(locked.period),
            count(locked.phase),
            locked.difference_ns,
            count(locked.repetitions),
            locked.z
        )));
    }
    text
}

fn dependence(patterns: &Patterns, unknown: &str) -> String {
    let all = &patterns.dependence.autocorrelation;
    let mut text = String::from("how much a latency says of later ones (autocorrelation)\n");
    if all.is_empty() {
        return text + unknown;
    }
    let lags = [1, 2, 3, 4, 5, 10, 20, 50, 100].into_iter().filter(|lag| *lag < all.len());
    text.push_str(&columns(
        &["lag", "correlation"],
        lags.map(|lag| vec![lag.to_string(), format!("{:+.4}", all[lag])]),
    ));
    if let Some(test) = patterns.dependence.ljung_box {
        let verdict = if patterns.dependence.found { "dependent" } else { "as if independent" };
        let _ =
            writeln!(text, "  {verdict}: Ljung-Box Q {:.1} over {} lags, p {}", test.q, test.lags, p(test.p));
    }
    text
}

fn spikes(spikes: &Spikes, period_ns: f64, unknown: &str) -> String {
    let mut text = String::from("the largest latencies\n");
    if spikes.largest.is_empty() {
        return text + unknown;
    }
    let rows = spikes.largest.iter().map(|peak| {
        vec![
            Human(peak.latency_ns as f64).to_string(),
            format!("{:.6}", peak.index as f64 * period_ns / 1e9),
            count(peak.index),
        ]
    });
    text.push_str(&columns(&["latency", "at s", "activation"], rows));
    for found in &spikes.periodic {
        text.push_str(&note(&format!(
            "every {} (+- {}): {} of {} expected, up to {}, first at {:.6} s, p {}",
            Human(found.period * period_ns),
            Human(found.uncertainty * period_ns),
            count(found.spikes),
            count(found.ticks),
            Human(found.largest.latency_ns as f64),
            found.phase * period_ns / 1e9,
            p(found.p)
        )));
    }
    if spikes.periodic.is_empty() {
        text.push_str("  no period among them\n");
    }
    if let Some(bursts) = &spikes.bursts {
        let how = if bursts.bursty { "in bursts" } else { "each for itself" };
        let index = bursts
            .extremal_index
            .map_or(String::new(), |i| format!(", clusters per value {i:.2} (extremal index)"));
        text.push_str(&note(&format!(
            "the {} from {} on come {how}: {:.2} together in the mean{index}, p {}",
            count(bursts.spikes),
            Human(bursts.threshold_ns as f64),
            bursts.mean_size,
            p(bursts.p)
        )));
        let rows = bursts.bursts.iter().take(if bursts.bursty { 10 } else { 0 }).map(|b| {
            vec![
                format!("{:.6}", b.first as f64 * period_ns / 1e9),
                Human((b.last - b.first) as f64 * period_ns).to_string(),
                b.exceedances.to_string(),
                Human(b.max_ns as f64).to_string(),
            ]
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            text.push_str(&columns(&["burst at s", "lasting", "spikes", "largest"], rows));
        }
    }
    text
}

fn misses(misses: Option<&Misses>, unknown: &str) -> String {
    let mut text = String::from("missed due times\n");
    let Some(m) = misses else { return text + unknown };
    let share = |share: Option<f64>| share.map_or("-".into(), crate::words::share);
    text.push_str(&columns(
        &["", "number"],
        [
            ("due times", count(m.due)),
            ("missed", count(m.missed)),
            ("started a period late or later", count(m.late)),
            ("ended after the next due time", count(m.overruns)),
            ("longest run of misses", count(m.longest_run)),
            ("P(miss)", share(m.p_miss)),
            ("P(miss | miss before)", share(m.p_miss_after_miss)),
        ]
        .map(|(name, value)| vec![name.to_owned(), value]),
    ));
    for w in &m.weakly_hard {
        let _ = writeln!(text, "  at most {} of any {} in a row missed", count(w.missed), count(w.window));
    }
    let rows: Vec<_> = m
        .bursts
        .iter()
        .take(ROWS)
        .map(|b| {
            let length = if b.from == b.to { b.from.to_string() } else { format!("{} to {}", b.from, b.to) };
            vec![length, count(b.count)]
        })
        .collect();
    if !rows.is_empty() {
        text.push_str(&columns(&["missed in a row", "times"], rows));
    }
    text
}

fn change(change: &Change, period_ns: f64) -> String {
    let part_ns = change.part_due_times as f64 * period_ns;
    let parts = change.means_ns.len();
    let mut text =
        format!("change over the run (means of {parts} parts of {}, spikes cut off)\n", Human(part_ns));
    let Some(trend) = change.trend else {
        text.push_str("  too short a run, or nothing varies\n");
        return text;
    };
    let error = trend.uncertainty.map_or(String::new(), |e| format!(" +- {}", Human(e)));
    let p_or = trend
        .p
        .map_or("the level wanders too slowly to tell a drift".into(), |value| format!("p {}", p(value)));
    let _ = writeln!(text, "  drift {}{error} from part to part; {p_or}", Human(trend.slope));
    let rows = change.levels.iter().take(ROWS).map(|level| {
        let at = |part: usize| Human(part as f64 * part_ns).to_string();
        vec![at(level.from), at(level.to), Human(level.level).to_string()]
    });
    text.push_str(&columns(&["from", "to", "level"], rows));
    if let Some(kpss) = change.kpss {
        let _ = writeln!(
            text,
            "  the level stays the same: p {} (KPSS test: {:.3} with {} lags)",
            p(kpss.p),
            kpss.eta,
            kpss.lags
        );
    }
    if let Some(runs) = change.runs {
        let _ = writeln!(
            text,
            "  random order: {} runs about the median, z {:.2}, p {}",
            runs.runs,
            runs.z,
            p(runs.p)
        );
    }
    text
}

fn time_error(errors: Option<&TimeErrors>, unknown: &str) -> String {
    let mut text = String::from("time error (G.810, IEEE 1139)\n");
    let Some(errors) = errors else { return text + unknown };
    let _ = writeln!(text, "  of {} activations in a row", count(errors.activations));
    let rows = errors.points.iter().map(|point| {
        vec![
            Human(point.tau_ns).to_string(),
            Human(point.mtie_ns).to_string(),
            Human(point.tdev_ns).to_string(),
            format!("{:.3e}", point.adev),
            format!("{:.3e}", point.mdev),
        ]
    });
    text.push_str(&columns(&["over", "MTIE", "TDEV", "ADEV", "MDEV"], rows));
    text.push_str(&note(
        "MTIE: by how much the latency changed at most within so long; TDEV: what is left of it when it is averaged over so long; \
         ADEV, MDEV: how much its rate changes from one such stretch to the next",
    ));
    match &errors.lines {
        None => text.push_str(&note(
            "not detrended: due times and starts are of one clock, and a fitted line would hide the mean latency",
        )),
        Some(lines) => text.push_str(&note(&format!(
            "detrended, for starts were read from another clock: least squares {:+.3} ns a period (+- {:.1e}), residual {} \
             peak to peak (NIST's jitter); Theil-Sen {:+.3}; lower envelope {:+.3}",
            lines.least_squares.line.slope,
            lines.least_squares.slope_se,
            Human(lines.nist_jitter_ns),
            lines.theil_sen.slope,
            lines.lower_envelope.slope
        ))),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::{Activation, RunInfo, TaskSpec, TimingStats};

    fn analysis(scan: &TaskScan) -> TaskAnalysis {
        let run = RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [TaskSpec::default()]);
        TaskAnalysis::of(scan, &run.tasks[0], &run)
    }

    #[test]
    fn every_section_fits_80_columns_and_says_what_it_found() {
        let mut scan = TaskScan::new(1_000_000, 40_000);
        let rows: Vec<Activation> = (0..40_000u64)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                let noise = (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as i64;
                let start_ns = due_ns + 3_000 + noise + if index % 1_000 == 7 { 2_500_000 } else { 0 };
                let missed = if index % 1_000 == 7 { 2 } else { 0 };
                Activation { index, due_ns, start_ns, end_ns: start_ns + 10, missed, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        let analysis = analysis(&scan);
        let all: String = Section::ALL.map(|s| section(s, 1_000_000, &analysis)).concat();
        let text = brief("main", 1_000_000, &analysis) + &all;
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for part in ["every 1 s", "2 modes", "at most 2 of any 10 in a row missed", "MTIE", "not detrended"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut scan = TaskScan::new(1_000_000, 100);
        let mut figures = TimingStats::new(1_000_000);
        figures.push(&Activation::default());
        scan.push_figures(0, &figures);
        let analysis = analysis(&scan);
        for s in [Section::Spectrum, Section::Spikes, Section::Misses, Section::TimeError] {
            assert!(section(s, 1_000_000, &analysis).contains("only distributions"), "{s:?}");
        }
        let all = TaskAnalysis { transitions: None, ..analysis };
        assert!(section(Section::Clusters, 1_000_000, &all).contains("mode"));
    }
}
