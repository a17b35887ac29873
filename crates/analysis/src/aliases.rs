//! The true period of a disturbance that a task meets at its starts alone.
//!
//! A start at kT is late where the phase kT mod P is within the disturbance. Every P with T/P = j +- phi, for
//! j = 0, 1, 2, ..., makes the same starts late, so the times alone cannot choose. The shape can: a task that
//! starts x into the disturbance waits for the rest of it, and the latency falls by exactly P in a cycle of
//! the true phase, or rises in a mirrored one.

use serde::Serialize;

use crate::least_squares::least_squares;
use crate::scan::Peak;
use crate::spectral_lines::Line;

/// Fewest late starts in which a period is looked for.
const FEWEST: usize = 60;
/// Largest harmonic of the disturbance that a line may be.
const HARMONICS: u32 = 60;
/// Share of the late starts within the disturbance, and late starts examined first: where one disturbance
/// causes them all, and where another causes the rest.
const WITHIN: [(f64, usize); 2] = [(0.8, 600), (0.4, 1_000)];
/// The largest share of the period that a disturbance takes.
const WIDEST: f64 = 0.3;
/// Factor of the width within which two windows count as equally narrow; the lower harmonic is then preferred.
const AS_NARROW: f64 = 1.15;
/// Least share of the latency's variance that a linear ramp explains.
const STRAIGHT: f64 = 0.6;
/// Largest relative difference between the period by the slope and the named one.
const NAMED: f64 = 0.25;
/// Periods that a disturbance may have, in ns.
const PLAUSIBLE: [f64; 2] = [20e3, 1e9];
/// Cycles between two starts above which a period of unknown shape may be an alias.
const FAST: f64 = 0.125;
/// Lines examined, disturbances looked for, and candidates named, at most.
const STRONGEST: usize = 3;
const MOST: usize = 2;
const LISTED: usize = 4;

/// A disturbance that may have one of several periods, by a task's starts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AliasedDisturbance {
    /// Period in ns, if the shape of the latencies determines it.
    pub period_ns: Option<f64>,
    /// Periods that are equally possible by these starts, in ns, the longest first.
    pub candidates_ns: Vec<f64>,
    /// Periods of the lines that are of it, in due times.
    pub lines: Vec<f64>,
}

/// Returns the disturbances behind these lines whose true period differs from that of the line. Late starts
/// are those of the `largest` latencies above `late_ns`; `period_ns` is the task's period.
#[must_use]
pub fn aliased_disturbances(
    lines: &[Line],
    largest: &[Peak],
    late_ns: f64,
    period_ns: f64,
) -> Vec<AliasedDisturbance> {
    let mut late: Vec<Peak> =
        largest.iter().filter(|peak| peak.latency_ns as f64 > late_ns).copied().collect();
    late.sort_by_key(|peak| peak.index);
    let mut left: Vec<&Line> = lines.iter().collect();
    let mut found = Vec::new();
    while found.len() < MOST && late.len() >= FEWEST {
        let Some((window, find_disturbance)) =
            first_disturbance(&left[..left.len().min(STRONGEST)], &late, period_ns)
        else {
            break;
        };
        let of_it: Vec<f64> =
            left.iter().filter(|line| window.explains(line)).map(|line| line.period).collect();
        left.retain(|line| !window.explains(line));
        late.retain(|peak| !window.is_near_window(peak));
        // The strongest line may be an alias where the line at the period itself is weaker.
        let is_line = |ns: f64| of_it.first().is_some_and(|line| (line * period_ns / ns - 1.0).abs() < 0.01);
        let is_new = !of_it.is_empty()
            && match find_disturbance.period_ns {
                Some(ns) => !is_line(ns),
                // Without a shape, a slow line is taken at its apparent period.
                None => window.phi > FAST,
            };
        found.push((is_new, AliasedDisturbance { lines: of_it, ..find_disturbance }));
    }
    found.into_iter().filter(|(is_new, _)| *is_new).map(|(_, find_disturbance)| find_disturbance).collect()
}

/// Position of a disturbance within its cycles.
struct PhaseWindow {
    /// Cycles from one start to the next, without whole ones.
    phi: f64,
    from: f64,
    width: f64,
}

impl PhaseWindow {
    /// Returns the narrowest window of phases that holds this share of the late starts.
    fn narrowest_window(late: &[Peak], phi: f64, within: f64) -> PhaseWindow {
        let mut phases: Vec<f64> = late.iter().map(|peak| (peak.index as f64 * phi).fract()).collect();
        phases.sort_by(f64::total_cmp);
        let held = ((phases.len() as f64 * within).ceil() as usize).max(1);
        let width = |k: usize| {
            let end = k + held - 1;
            let (turns, place) = (end / phases.len(), end % phases.len());
            phases[place] + turns as f64 - phases[k]
        };
        let best = (0..phases.len()).min_by(|a, b| width(*a).total_cmp(&width(*b))).unwrap_or(0);
        PhaseWindow { phi, from: phases[best], width: width(best) }
    }

    /// Returns the position of a start within the window, in cycles from the beginning of the window.
    fn position_in_window(&self, peak: &Peak) -> f64 {
        ((peak.index as f64 * self.phi).fract() - self.from).rem_euclid(1.0)
    }

    fn is_near_window(&self, peak: &Peak) -> bool {
        let reach = 0.3 * self.width;
        (self.position_in_window(peak) + reach).rem_euclid(1.0) <= self.width + 2.0 * reach
    }

    /// True if a line is an alias of a harmonic of the disturbance in this window.
    fn explains(&self, line: &Line) -> bool {
        let frequency = 1.0 / line.period;
        (1..=HARMONICS).any(|h| {
            let folded = (f64::from(h) * self.phi).rem_euclid(1.0);
            (folded.min(1.0 - folded) - frequency).abs() < 2e-4
        })
    }

    /// Fits latency to position in the window: slope in ns per cycle, and share of variance explained; `None` for few.
    fn fit_ramp(&self, late: &[Peak]) -> Option<(f64, f64)> {
        let inside = |peak: &Peak| {
            (self.position_in_window(peak) <= self.width)
                .then(|| (self.position_in_window(peak), peak.latency_ns as f64))
        };
        let mut points: Vec<(f64, f64)> = late.iter().filter_map(inside).collect();
        for _ in 0..2 {
            let fit = least_squares(&points)?;
            let off = |p: &(f64, f64)| (p.1 - fit.line.intercept - fit.line.slope * p.0).abs();
            let mut all: Vec<f64> = points.iter().map(off).collect();
            let far = 3.0 * 1.4826 * crate::least_squares::median(&mut all)?;
            points.retain(|p| off(p) <= far.max(1.0));
        }
        let fit = least_squares(&points)?;
        let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
        let all: f64 = points.iter().map(|p| (p.1 - mean).powi(2)).sum();
        let left: f64 =
            points.iter().map(|p| (p.1 - fit.line.intercept - fit.line.slope * p.0).powi(2)).sum();
        (all > 0.0).then(|| (fit.line.slope, 1.0 - left / all))
    }
}

/// Returns the first disturbance found behind these lines, preferring one whose shape determines its period.
fn first_disturbance(
    lines: &[&Line],
    late: &[Peak],
    period_ns: f64,
) -> Option<(PhaseWindow, AliasedDisturbance)> {
    let mut first = None;
    for of in WITHIN {
        for line in lines {
            match find_disturbance(line, late, period_ns, of) {
                named @ Some((_, AliasedDisturbance { period_ns: Some(_), .. })) => return named,
                found => first = first.or(found),
            }
        }
    }
    first
}

/// Searches for a disturbance behind a line; `None` if no narrow window holds the share `within` of the late starts.
/// The first `first` of them are searched.
fn find_disturbance(
    line: &Line,
    late: &[Peak],
    period_ns: f64,
    (within, first): (f64, usize),
) -> Option<(PhaseWindow, AliasedDisturbance)> {
    let frequency = 1.0 / line.period;
    let first = &late[..late.len().min(first)];
    let mut best: Option<PhaseWindow> = None;
    for h in 1..=HARMONICS {
        for phi in (0..h).flat_map(|a| [f64::from(a) + frequency, f64::from(a) - frequency]) {
            let phi = phi / f64::from(h);
            if !(1e-6..=0.5).contains(&phi) {
                continue;
            }
            let window = PhaseWindow::narrowest_window(first, phi, within);
            if best.as_ref().is_none_or(|best| window.width * AS_NARROW < best.width) {
                best = Some(window);
            }
        }
    }
    let n = (late.last()?.index - late.first()?.index) as f64;
    let mut window = best.filter(|window| window.width <= WIDEST)?;
    for step in [0.5, 0.125, 1.0 / 32.0] {
        let around = (-4..=4)
            .map(|k| PhaseWindow::narrowest_window(late, window.phi + f64::from(k) * step / n, within));
        window = around.min_by(|a, b| a.width.total_cmp(&b.width))?;
    }
    if window.width > WIDEST {
        return None;
    }
    // The straightest linear ramp near it.
    let near = |k: i32| PhaseWindow::narrowest_window(late, window.phi + 0.1 * f64::from(k) / n, within);
    let linear_ramps = (-15..=15).filter_map(|k| near(k).fit_ramp(late));
    let linear_ramp =
        linear_ramps.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|linear_ramp| linear_ramp.1 >= STRAIGHT);
    let of = |sign: f64| {
        let all = (0..).map(move |j| f64::from(j) + sign * window.phi).skip_while(|cycles| *cycles <= 0.0);
        let all = all.map(|cycles| period_ns / cycles).take_while(|ns| *ns >= PLAUSIBLE[0]);
        all.filter(|ns| *ns <= PLAUSIBLE[1]).collect::<Vec<f64>>()
    };
    let named = linear_ramp.and_then(|(slope, _)| {
        let by_slope = slope.abs();
        let mut all = of(if slope < 0.0 { 1.0 } else { -1.0 });
        let apart = |ns: &f64| (ns / by_slope).ln().abs();
        all.sort_by(|a, b| apart(a).total_cmp(&apart(b)));
        let first = *all.first()?;
        let is_alone = all.get(1).is_none_or(|next| apart(next) > 2.0 * apart(&first));
        (apart(&first) <= (1.0 + NAMED).ln() && is_alone).then_some(first)
    });
    let mut candidates_ns: Vec<f64> = of(1.0).into_iter().chain(of(-1.0)).collect();
    candidates_ns.sort_by(|a, b| b.total_cmp(a));
    candidates_ns.truncate(LISTED);
    Some((window, AliasedDisturbance { period_ns: named, candidates_ns, lines: Vec::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::spectral_lines::lines;

    /// Latencies of starts every `t` that wait for disturbances of these periods and lengths, in ns.
    fn met(t: f64, all: &[(f64, f64)], count: usize, seed: u64) -> (Vec<Line>, Vec<Peak>) {
        let mut random = Random::new(seed);
        let latency = |k: usize, random: &mut Random| {
            let noise: f64 = (0..4).map(|_| -250.0 * random.uniform().max(1e-300).ln()).sum();
            let wait = |(p, w): &(f64, f64)| {
                let phase = (k as f64 * t + 0.3 * p).rem_euclid(*p);
                if phase < *w { w - phase } else { 0.0 }
            };
            noise + 2_000.0 + all.iter().map(wait).sum::<f64>()
        };
        let values: Vec<f64> = (0..count).map(|k| latency(k, &mut random)).collect();
        let mut peaks: Vec<Peak> =
            (0..).zip(&values).map(|(index, v)| Peak { index, latency_ns: *v as i64 }).collect();
        Peak::largest_first(&mut peaks, 4_096);
        let mean = values.iter().sum::<f64>() / count as f64;
        let centred: Vec<f64> = values.iter().map(|v| v - mean).collect();
        (lines(&[&centred]), peaks)
    }

    #[test]
    fn a_neighbour_s_true_period_is_named_or_listed() {
        let (mut named, mut all) = (0, 0);
        for (t, p, w) in [
            (250e3, 1_024.01e3, 20e3),
            (250e3, 1_024.01e3, 40e3),
            (250e3, 333.303e3, 15e3),
            (250e3, 100.701e3, 15e3),
            (1_000e3, 333.403e3, 20e3),
        ] {
            for seed in 1..4 {
                let (lines, peaks) = met(t, &[(p, w)], 40_000, seed);
                let found = aliased_disturbances(&lines, &peaks, 6_000.0, t);
                for ns in found.iter().filter_map(|found| found.period_ns) {
                    assert!((ns / p - 1.0).abs() < 1e-3, "{t} {p} {w}: {found:?}");
                    named += 1;
                }
                all += 1;
            }
        }
        assert!(2 * named >= all, "{named} of {all}");
    }

    #[test]
    fn a_neighbour_is_named_beside_another() {
        let periods = [1_024.013e3, 1_707.017e3];
        for seed in 1..6 {
            let (lines, peaks) = met(250e3, &[(periods[0], 25e3), (periods[1], 40e3)], 40_000, seed);
            // The other disturbance's own period may be its strongest line, which then explains it fully.
            let found = aliased_disturbances(&lines, &peaks, 6_000.0, 250e3);
            assert!(!found.is_empty(), "{seed}");
            for ns in found.iter().filter_map(|found| found.period_ns) {
                assert!(periods.iter().any(|p| (ns / p - 1.0).abs() < 1e-3), "{found:?}");
            }
        }
    }

    #[test]
    fn late_starts_at_random_are_of_no_disturber() {
        let mut random = Random::new(3);
        let (lines, _) = met(250e3, &[(1_024e3, 20e3)], 40_000, 1);
        let mut peaks: Vec<Peak> = (0..2_000)
            .map(|_| Peak {
                index: (random.uniform() * 40_000.0) as u64,
                latency_ns: (random.uniform() * 2e4) as i64,
            })
            .collect();
        Peak::largest_first(&mut peaks, 4_096);
        assert_eq!(aliased_disturbances(&lines, &peaks, 0.0, 250e3), []);
    }
}
