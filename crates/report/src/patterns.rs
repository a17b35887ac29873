//! Analysis of a run's trace in words: figures, histogram and patterns; each part in full on demand.

mod sentences;

pub use sentences::sentences;

use jitterlab_analysis::TaskAnalysis;
use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::measured::MeasuredTask;
use jitterlab_analysis::misses::Misses;
use jitterlab_analysis::patterns::{Patterns, SlowChange, Spikes};
use jitterlab_analysis::spectral_lines::Line;
use jitterlab_analysis::task_analysis::{AnalysisSection, RunAnalysis, TimeErrors};
use jitterlab_analysis::transitions::Transitions;
use jitterlab_model::RunInfo;
use jitterlab_model::units::Human;

use crate::conclusion::{self, Conclusion, file_argument};
use crate::dictionary;
use crate::document::Present;
use crate::figure::overview;
use crate::figure::task::tasks;
use crate::run::task_line;
use crate::run_view::PageRun;
use crate::section::{Cell, Piece, Section};
use crate::summary;
use crate::words::{count, list_some, plural};

/// Rows of a table at most: a screen.
const ROWS: usize = 20;

impl Present for RunAnalysis {
    const KIND: &'static str = "analysis";

    fn conclusion(&self) -> Option<Conclusion> {
        conclusion::run::analysis_conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        let pieces =
            if self.sections.is_empty() { overview_pieces(self) } else { requested_section_pieces(self) };
        vec![Section::new(
            "analysis",
            "Analysis",
            "The figures of each task, and the pattern of its latency.",
            pieces,
        )]
    }
}

fn requested_section_pieces(analysis: &RunAnalysis) -> Vec<Piece> {
    let RunAnalysis { sections, tasks, run, .. } = analysis;
    let of_task = |(task, analysis)| {
        let parts = sections.iter().flat_map(move |part| section_pieces(*part, run, analysis));
        std::iter::once(Piece::text(task_line(run, task))).chain(parts)
    };
    run.tasks.iter().zip(tasks).flat_map(of_task).collect()
}

/// Figures, histogram and patterns.
fn overview_pieces(analysis: &RunAnalysis) -> Vec<Piece> {
    let RunAnalysis { file, tasks, run, verdict, .. } = analysis;
    let measured: Vec<&MeasuredTask> = tasks.iter().map(|task| &task.measured).collect();
    let mut pieces = summary::main_tables(run, verdict.as_ref(), &measured);
    pieces.extend(summary::histogram_pieces(&measured));
    pieces.extend(summary::note_pieces(run, &measured, pattern_sentences(run, tasks)));
    let mut folded = summary::detail_pieces(run, &measured);
    folded.extend(overview::overview_charts(tasks).into_iter().map(Piece::Figure));
    let names = AnalysisSection::ALL.map(AnalysisSection::name).join(", ");
    folded.push(Piece::text(format!("In full with --section: {names}, all.")));
    pieces.push(Piece::details(summary::DETAILS_TITLE, folded));
    let file = file_argument(file);
    pieces.push(Piece::text(format!("more: --details, --section spikes, jitterlab plot {file}")));
    pieces
}

/// Topic of a part of the analysis, for help.
pub fn section_help(section: AnalysisSection) -> &'static str {
    dictionary::display_text("section", &section)
}

/// Patterns found, in sentences; tasks without any share one sentence if they are alike.
fn pattern_sentences(run: &RunInfo, tasks: &[TaskAnalysis]) -> Vec<String> {
    let mut found = Vec::new();
    let [mut unknown, mut random, mut unordered] = [const { Vec::new() }; 3];
    for (task, analysis) in run.tasks.iter().zip(tasks) {
        let name = &task.spec.name;
        let sentences = sentences(&analysis.patterns, task.spec.period_ns);
        if sentences.is_empty() {
            let alike = match (analysis.patterns.clusters.is_empty(), analysis.misses.is_some()) {
                (true, _) => &mut unknown,
                (false, true) => &mut random,
                (false, false) => &mut unordered,
            };
            alike.push(name.clone());
        }
        let prefix = if tasks.len() > 1 { format!("{name}: ") } else { String::new() };
        found.extend(sentences.into_iter().map(|sentence| format!("{prefix}{sentence}")));
    }
    let each = [
        (unknown, "no pattern can be found in", "the distribution of latencies is unknown"),
        (random, "no pattern in the latency of", "it looks random, of one kind and steady"),
        (
            unordered,
            "no pattern in the latency of",
            "it looks of one kind; only its distribution is known, not its order",
        ),
    ];
    let each = each.into_iter().filter(|(names, ..)| !names.is_empty());
    found.extend(each.map(|(names, what, why)| format!("{what} {}: {why}", list_some(&names))));
    found
}

/// Sentences on the patterns of each task for the page, with a table of clusters; `None` without tasks.
pub(crate) fn section(runs: &[PageRun]) -> Option<Section> {
    let mut pieces = Vec::new();
    for named in tasks(runs) {
        let patterns = &named.task.patterns;
        let sentences = sentences(patterns, named.task.measured.summary.period_ns);
        let text = if sentences.is_empty() { "no pattern was found.".into() } else { sentences.join(" ") };
        pieces.push(Piece::text(format!("{}: {text}", named.name)));
        if patterns.clusters.len() > 1 {
            pieces.push(cluster_table(
                format!("{}: clusters of latencies, boxed in the histogram", named.name),
                patterns,
            ));
        }
    }
    (!pieces.is_empty()).then(|| Section::new(
        "patterns",
        "Patterns",
        "What is regular about the irregularity. Each kind of pattern is tested at a level of 0.1 %: of a hundred runs \
         without any, fewer than one shows one.",
        pieces,
    ))
}

fn section_pieces(part: AnalysisSection, run: &RunInfo, analysis: &TaskAnalysis) -> Vec<Piece> {
    let patterns = &analysis.patterns;
    let period_ns = analysis.measured.summary.period_ns as f64;
    let unknown = match analysis.misses {
        Some(_) => "unknown, too few activations",
        None => "unknown, only distributions were kept, not single activations",
    };
    let (title, pieces) = match part {
        AnalysisSection::Clusters => {
            let modes = cluster_table("Latency modes (code paths)".into(), patterns);
            let follow = analysis.transitions.iter().flat_map(transition_pieces);
            return std::iter::once(modes).chain(follow).collect();
        }
        AnalysisSection::Spectrum => {
            let title = "Periodic parts of the latency";
            (title, periodic_part_pieces(title, &analysis.patterns, analysis.measured.summary.period_ns, run))
        }
        AnalysisSection::Dependence => {
            ("How much a latency says of later ones (autocorrelation)", dependence_pieces(patterns))
        }
        AnalysisSection::Spikes => ("The largest latencies", spike_pieces(&patterns.spikes, period_ns)),
        AnalysisSection::Misses => ("Missed due times", analysis.misses.as_ref().map(miss_pieces)),
        AnalysisSection::Change => return change_pieces(&patterns.change, period_ns),
        AnalysisSection::TimeError => {
            ("Time error (G.810, IEEE 1139)", analysis.time_error.as_ref().map(time_error_pieces))
        }
    };
    pieces.unwrap_or_else(|| vec![Piece::text(format!("{title}: {unknown}."))])
}

/// A probability, as far as it means something.
fn probability_text(p: f64) -> String {
    if p < 1e-12 { "below 1e-12".into() } else { format!("{p:.2e}") }
}

fn time_cell(ns: f64) -> Cell {
    Cell::Text(Human(ns).to_string())
}

/// A time in seconds to the microsecond.
fn seconds_cell(ns: f64) -> Cell {
    Cell::Text(format!("{:.6}", ns / 1e9))
}

fn cluster_table(caption: String, patterns: &Patterns) -> Piece {
    let row = |(number, c): (usize, &LatencyCluster)| {
        let [low_ns, high_ns] = [c.low_ns, c.high_ns].map(|ns| ns as f64);
        let times = [low_ns, c.centre_ns, high_ns, c.width_ns() as f64, c.sd_ns].map(Cell::time);
        let first = [Cell::Text(format!("mode {}", number + 1)), Cell::Count(c.count), Cell::Share(c.weight)];
        first.into_iter().chain(times).collect()
    };
    let header = ["µs", "wake-ups", "share", "from", "centre", "to", "width", "sd"];
    Piece::table(caption, &header, patterns.clusters.iter().enumerate().map(row))
}

fn transition_pieces(t: &Transitions) -> Vec<Piece> {
    let names = (1..=t.probabilities.len()).map(|i| format!("to {i}"));
    let header: Vec<String> = std::iter::once(String::new()).chain(names).collect();
    let rows = t.probabilities.iter().enumerate().map(|(i, row)| {
        let shares = row.iter().map(|share| Cell::Share(*share));
        std::iter::once(Cell::Text(format!("from {}", i + 1))).chain(shares).collect()
    });
    let mut pieces = vec![Piece::table("Which mode follows which, in shares of the row", &header, rows)];
    if let (Some(chi), Some(prob)) = (t.chi_squared, t.p) {
        let strength = t.strength.map_or(String::new(), |v| format!(", strength {v:.3} of 1 (Cramer's V)"));
        pieces.push(Piece::text(format!(
            "Independent of the one before: chi-squared {chi:.1} with {} degrees, p {}{strength}.",
            t.degrees,
            probability_text(prob)
        )));
    }
    pieces
}

/// The spectral lines of a task of a run in a table, and the effects locked to the task; `None` without a spectrum.
pub(crate) fn periodic_part_pieces(
    title: &str,
    patterns: &Patterns,
    task_period_ns: i64,
    run: &RunInfo,
) -> Option<Vec<Piece>> {
    let section = &patterns.spectrum;
    let spectrum = section.spectrum.as_ref()?;
    let period_ns = task_period_ns as f64;
    let row = |line: &Line| {
        vec![
            Cell::Text(line_name(line, task_period_ns, run)),
            time_cell(line.uncertainty * period_ns),
            time_cell(line.amplitude),
            Cell::Text(format!("{:.0} times", line.over_floor)),
            Cell::Text(probability_text(line.p)),
            Cell::Text(format!("{:.4} Hz", 1e9 / (line.period * period_ns))),
        ]
    };
    let lines = section.lines.iter().chain(&section.slow_lines);
    let rows: Vec<_> = lines.take(ROWS).map(row).collect();
    let segments = plural(spectrum.segments as u64, "segment");
    let caption = format!("{title} ({segments} of {} activations)", spectrum.segment);
    // On a narrow terminal the last column goes.
    let header = ["period", "+-", "amplitude", "over noise", "p", "frequency"];
    let mut pieces = vec![if rows.is_empty() {
        Piece::text(format!("{caption}: no line stands out of the noise."))
    } else {
        Piece::table(format!("{caption}; amplitude: half of peak to peak, were it a sine"), &header, rows)
    }];
    pieces.extend(section.locked.iter().map(|locked| {
        Piece::text(format!(
            "Locked to the task: one of every {} activations ({}), k x {} + {}, differs by {:+.0} ns from those around it ({} seen, z {:.1}).",
            count(locked.period),
            Human(locked.period as f64 * period_ns),
            count(locked.period),
            count(locked.phase),
            locked.difference_ns,
            count(locked.repetitions),
            locked.z
        ))
    }));
    Some(pieces)
}

/// The period of a line, and the source with that period on such a machine.
pub(crate) fn line_name(line: &Line, period_ns: i64, info: &RunInfo) -> String {
    let ns = line.period * period_ns as f64;
    let near =
        |other_ns: f64| (ns - other_ns).abs() <= (line.uncertainty * period_ns as f64).max(0.002 * other_ns);
    let tick = info.facts_before.as_ref().and_then(|facts| facts.kernel.tick_hz);
    let other = info.tasks.iter().find(|t| t.spec.period_ns != period_ns && near(t.spec.period_ns as f64));
    let what = match (other, tick) {
        (Some(other), _) => format!(" (task {})", other.spec.name),
        (_, Some(tick)) if near(1e9 / f64::from(tick)) => " (kernel's tick)".into(),
        _ if line.harmonic > 1 => {
            format!(" (harmonic {} of {})", line.harmonic, Human(line.fundamental * period_ns as f64))
        }
        _ => String::new(),
    };
    format!("{}{what}", Human(ns))
}

fn dependence_pieces(patterns: &Patterns) -> Option<Vec<Piece>> {
    let all = &patterns.dependence.autocorrelation;
    if all.is_empty() {
        return None;
    }
    let lags = [1, 2, 3, 4, 5, 10, 20, 50, 100].into_iter().filter(|lag| *lag < all.len());
    let rows = lags.map(|lag| vec![lag.to_string(), format!("{:+.4}", all[lag])]);
    let caption = "How much a latency says of later ones (autocorrelation)";
    let mut pieces = vec![Piece::table(caption, &["lag", "correlation"], rows)];
    pieces.extend(patterns.dependence.ljung_box.map(|test| {
        let verdict = if patterns.dependence.found { "Dependent" } else { "As if independent" };
        Piece::text(format!(
            "{verdict}: Ljung-Box Q {:.1} over {} lags, p {}.",
            test.q,
            test.lags,
            probability_text(test.p)
        ))
    }));
    Some(pieces)
}

fn spike_pieces(spikes: &Spikes, period_ns: f64) -> Option<Vec<Piece>> {
    if spikes.largest.is_empty() {
        return None;
    }
    let rows = spikes.largest.iter().map(|peak| {
        vec![
            time_cell(peak.latency_ns as f64),
            seconds_cell(peak.index as f64 * period_ns),
            Cell::Count(peak.index),
        ]
    });
    let mut pieces = vec![Piece::table("The largest latencies", &["latency", "at s", "activation"], rows)];
    pieces.extend(spikes.periodic.iter().map(|found| {
        Piece::text(format!(
            "Every {} (+- {}): {} of {} expected, up to {}, first at {:.6} s, p {}.",
            Human(found.period * period_ns),
            Human(found.uncertainty * period_ns),
            count(found.spikes),
            count(found.ticks),
            Human(found.largest.latency_ns as f64),
            found.phase * period_ns / 1e9,
            probability_text(found.p)
        ))
    }));
    if spikes.periodic.is_empty() {
        pieces.push(Piece::text("There is no period among them."));
    }
    if let Some(bursts) = &spikes.bursts {
        let how = if bursts.bursty { "in bursts" } else { "each for itself" };
        let index = bursts
            .extremal_index
            .map_or(String::new(), |i| format!(", clusters per value {i:.2} (extremal index)"));
        pieces.push(Piece::text(format!(
            "The {} from {} on come {how}: {:.2} together on average{index}, p {}.",
            count(bursts.spikes),
            Human(bursts.threshold_ns as f64),
            bursts.mean_size,
            probability_text(bursts.p)
        )));
        let rows = bursts.bursts.iter().take(if bursts.bursty { 10 } else { 0 }).map(|b| {
            vec![
                seconds_cell(b.first as f64 * period_ns),
                time_cell((b.last - b.first) as f64 * period_ns),
                Cell::Count(b.exceedances),
                time_cell(b.max_ns as f64),
            ]
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            pieces.push(Piece::table("Bursts", &["at s", "lasting", "spikes", "largest"], rows));
        }
    }
    Some(pieces)
}

fn miss_pieces(m: &Misses) -> Vec<Piece> {
    let share = |share: Option<f64>| share.map_or("-".into(), crate::words::share);
    let facts = [
        ("due times", count(m.due)),
        ("missed", count(m.missed)),
        ("started a period late or later", count(m.late)),
        ("ended after the next due time", count(m.overruns)),
        ("longest run of misses", count(m.longest_run)),
        ("P(miss)", share(m.p_miss)),
        ("P(miss | miss before)", share(m.p_miss_after_miss)),
    ];
    let mut pieces = vec![Piece::facts("Missed due times", facts)];
    pieces.extend(m.weakly_hard.iter().map(|w| {
        Piece::text(format!("At most {} of any {} in a row were missed.", count(w.missed), count(w.window)))
    }));
    let rows = m.bursts.iter().take(ROWS).map(|b| {
        let length = if b.from == b.to { b.from.to_string() } else { format!("{} to {}", b.from, b.to) };
        vec![Cell::Text(length), Cell::Count(b.count)]
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        pieces.push(Piece::table("Misses in a row", &["missed in a row", "times"], rows));
    }
    pieces
}

fn change_pieces(change: &SlowChange, period_ns: f64) -> Vec<Piece> {
    let part_ns = change.part_due_times as f64 * period_ns;
    let parts = change.means_ns.len();
    let caption =
        format!("Change over the run (means of {parts} parts of {}, spikes cut off)", Human(part_ns));
    let Some(trend) = change.trend else {
        return vec![Piece::text(format!("{caption}: too short a run, or nothing varies."))];
    };
    let error = trend.uncertainty.map_or(String::new(), |e| format!(" +- {}", Human(e)));
    let p_or = trend.p.map_or("the level wanders too slowly to tell a drift".into(), |value| {
        format!("p {}", probability_text(value))
    });
    let rows = change.levels.iter().take(ROWS).map(|level| {
        let at = |part: usize| time_cell(part as f64 * part_ns);
        vec![at(level.from), at(level.to), time_cell(level.level)]
    });
    let mut pieces = vec![
        Piece::table(caption, &["from", "to", "level"], rows),
        Piece::text(format!("Drift: {}{error} from part to part; {p_or}.", Human(trend.slope))),
    ];
    pieces.extend(change.kpss.map(|kpss| {
        Piece::text(format!(
            "The level stays the same: p {} (KPSS test: {:.3} with {} lags).",
            probability_text(kpss.p),
            kpss.eta,
            kpss.lags
        ))
    }));
    pieces.extend(change.runs.map(|runs| {
        Piece::text(format!(
            "Random order: {} runs about the median, z {:.2}, p {}.",
            runs.runs,
            runs.z,
            probability_text(runs.p)
        ))
    }));
    pieces
}

fn time_error_pieces(errors: &TimeErrors) -> Vec<Piece> {
    let rows = errors.points.iter().map(|point| {
        vec![
            time_cell(point.tau_ns),
            time_cell(point.mtie_ns),
            time_cell(point.tdev_ns),
            Cell::Text(format!("{:.3e}", point.adev)),
            Cell::Text(format!("{:.3e}", point.mdev)),
        ]
    });
    let caption =
        format!("Time error (G.810, IEEE 1139) of {} activations in a row", count(errors.activations));
    let fitted = match &errors.lines {
        None => "Not detrended: due times and starts are of one clock, and a fitted line would hide the mean latency."
            .into(),
        Some(lines) => format!(
            "Detrended, for starts were read from another clock: least squares {:+.3} ns a period (+- {:.1e}), residual {} \
             peak to peak (NIST's jitter); Theil-Sen {:+.3}; lower envelope {:+.3}.",
            lines.least_squares.line.slope,
            lines.least_squares.slope_se,
            Human(lines.nist_jitter_ns),
            lines.theil_sen.slope,
            lines.lower_envelope.slope
        ),
    };
    vec![
        Piece::table(caption, &["over", "MTIE", "TDEV", "ADEV", "MDEV"], rows),
        Piece::text(
            "MTIE: by how much the latency changed at most within that time; TDEV: what is left of it when it is \
             averaged over that time; ADEV, MDEV: how much its rate changes from one such stretch to the next.",
        ),
        Piece::text(fitted),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::{Activation, RunInfo, TaskSpec, TimingStats};

    use crate::test_data::shown_pieces;

    fn analysis(scan: &TaskScan) -> (RunInfo, TaskAnalysis) {
        let run = RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [TaskSpec::default()]);
        let analysis = TaskAnalysis::new(scan, &run.tasks[0], &run);
        (run, analysis)
    }

    #[test]
    fn every_part_says_what_it_found() {
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
        let (run, analysis) = analysis(&scan);
        let pieces = AnalysisSection::ALL.map(|part| section_pieces(part, &run, &analysis)).concat();
        let text = sentences(&analysis.patterns, 1_000_000).join("\n") + &shown_pieces(pieces);
        for part in ["every 1 s", "2 modes", "At most 2 of any 10 in a row were", "MTIE", "Not detrended"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut scan = TaskScan::new(1_000_000, 100);
        let mut figures = TimingStats::new(1_000_000);
        figures.push(&Activation::default());
        scan.push_figures(0, &figures);
        let (run, analysis) = analysis(&scan);
        let shown = |part| shown_pieces(section_pieces(part, &run, &analysis));
        for part in [
            AnalysisSection::Spectrum,
            AnalysisSection::Spikes,
            AnalysisSection::Misses,
            AnalysisSection::TimeError,
        ] {
            assert!(shown(part).contains("only distributions"), "{part:?}");
        }
        assert!(shown(AnalysisSection::Clusters).contains("mode"));
    }
}
