//! Periodic parts: the spectrum of the latencies with its lines named.

use crate::words::count;
use jitterlab_analysis::patterns::Patterns;
use jitterlab_analysis::spectral_lines::Line;
use jitterlab_analysis::spectrum::Spectrum;

use super::task::{Task, tasks};
use crate::chart::{Axis, Chart, Layer, Shape};
use crate::patterns::{line_name, periodic_part_pieces};
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
        let title = format!("{name}: periodic parts");
        let period_ns = task.measured.summary.period_ns;
        pieces.extend(periodic_part_pieces(&title, patterns, period_ns, &run.info).into_iter().flatten());
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
