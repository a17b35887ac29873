//! Periodic parts: the spectrum of the latencies with its lines named, and the spikes that have a period.

use crate::words::count;
use jitterlab_analysis::patterns::Patterns;
use jitterlab_analysis::spectral_lines::Line;
use jitterlab_analysis::spectrum::Spectrum;
use jitterlab_model::RunInfo;
use jitterlab_model::units::Human;

use super::task::{Task, tasks};
use crate::chart::{Axis, Chart, Layer, Shape};
use crate::run_view::{PageRun, PageTask};
use crate::section::Piece;

/// Lines that are named in the figure.
const MAX_NAMED: usize = 6;
const MAX_POINTS: usize = 1_000;

/// One figure for each task that has a spectrum.
pub(super) fn spectrum_pieces(runs: &[PageRun]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for Task { name, run, task, .. } in tasks(runs) {
        let patterns = &task.patterns;
        let Some(spectrum) = &patterns.spectrum.spectrum else { continue };
        pieces.push(Piece::Figure(spectrum_chart(&name, run, task, patterns, spectrum)));
        pieces.extend(line_table(&name, &run.info, task.measured.summary.period_ns, patterns));
    }
    pieces
}

fn spectrum_chart(
    name: &str,
    run: &PageRun,
    task: &PageTask,
    patterns: &Patterns,
    spectrum: &Spectrum,
) -> Chart {
    let period_ns = task.measured.summary.period_ns;
    let hertz = |j: usize| (j + 1) as f64 / spectrum.segment as f64 * 1e9 / period_ns as f64;
    let named = named_lines(patterns)
        .into_iter()
        .map(|line| (1e9 / (line.period * period_ns as f64), line_name(line, period_ns, &run.info)));
    let marks: Vec<(f64, String)> = named.collect();
    let mut layers = vec![Layer::new("", 0, Shape::Band(thin_spectrum(&spectrum.power, hertz)))];
    if !marks.is_empty() {
        layers.push(Layer::new("", 1, Shape::Marks(marks)));
    }
    Chart {
        name: "spectrum".into(),
        caption: format!(
            "{name}: power of the latencies by frequency, mean of {} of {} activations. What comes back faster than every second activation shows at a lower frequency.",
            if spectrum.segments == 1 {
                "one stretch".into()
            } else {
                format!("{} stretches", spectrum.segments)
            },
            count(spectrum.segment as u64)
        ),
        x: Axis::log("frequency, Hz"),
        y: Axis::log("power, 1 = evenly spread"),
        layers,
        height: 400,
    }
}

/// At most [`MAX_POINTS`] parts, evenly spread over the logarithm of the frequency; of each the lowest and the highest power.
fn thin_spectrum(power: &[f64], hertz: impl Fn(usize) -> f64) -> Vec<[f64; 3]> {
    let decades = (power.len() as f64).ln();
    let part = |j: usize| (((j + 1) as f64).ln() / decades * MAX_POINTS as f64) as usize;
    let mut parts: Vec<[f64; 3]> = Vec::new();
    let mut last = None;
    for (j, power) in power.iter().enumerate() {
        match parts.last_mut() {
            Some([_, low, high]) if last == Some(part(j)) => {
                (*low, *high) = (low.min(*power), high.max(*power));
            }
            _ => parts.push([hertz(j), *power, *power]),
        }
        last = Some(part(j));
    }
    parts
}

/// The lines that get a name: fundamentals first.
fn named_lines(patterns: &Patterns) -> Vec<&Line> {
    let lines = &patterns.spectrum.lines;
    let fundamental = |line: &&Line| line.harmonic == 1;
    let first = lines.iter().filter(fundamental);
    first.chain(lines.iter().filter(|l| !fundamental(l))).take(MAX_NAMED).collect()
}

/// The period of a line, and the source with that period on such a machine.
fn line_name(line: &Line, period_ns: i64, info: &RunInfo) -> String {
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

fn line_table(name: &str, info: &RunInfo, period_ns: i64, patterns: &Patterns) -> Option<Piece> {
    let line = |line: &Line| {
        vec![
            line_name(line, period_ns, info),
            format!("{:.4} Hz", 1e9 / (line.period * period_ns as f64)),
            Human(line.amplitude).to_string(),
            format!("{:.0} times", line.over_floor),
        ]
    };
    let section = &patterns.spectrum;
    let rows: Vec<Vec<String>> = section.lines.iter().chain(&section.slow_lines).take(12).map(line).collect();
    let spikes = patterns.spikes.periodic.iter().map(|p| {
        vec![
            format!("spikes every {}", Human(p.period * period_ns as f64)),
            format!("{:.4} Hz", 1e9 / (p.period * period_ns as f64)),
            format!("up to {}", Human(p.largest.latency_ns as f64)),
            format!("{} of {} expected", count(p.spikes), count(p.ticks)),
        ]
    });
    let locked = section.locked.iter().map(|l| {
        let ns = l.period as f64 * period_ns as f64;
        vec![
            format!("each {}th activation, {}", count(l.period), Human(ns)),
            format!("{:.4} Hz", 1e9 / ns),
            Human(l.difference_ns.abs()).to_string(),
            format!("{:.1} standard deviations", l.z),
        ]
    });
    let rows: Vec<Vec<String>> = rows.into_iter().chain(spikes).chain(locked).collect();
    (!rows.is_empty()).then(|| {
        Piece::table(
            format!("{name}: periodic parts; amplitude: half of peak to peak, were it a sine"),
            &["period", "frequency", "amplitude", "above the noise"],
            rows,
        )
    })
}
