//! Controllers redesigned for the measured timing: the table, and their numbers for other programs.

use std::fmt::Write as _;

use jitterlab_motion::servo::{DelayMargin, Gains, Interval, PidGains, Redesign, RedesignKind};

use super::percent;
use super::servo_tables::cost_text;
use crate::json;
use crate::section::Piece;
use crate::words::time;

/// A number for a file: as short as it can be read back.
fn exact_number(value: f64) -> String {
    let plain = format!("{value}");
    if plain.len() <= 12 { plain } else { format!("{value:e}") }
}

fn controller_text(redesign: &Redesign) -> String {
    match redesign.redesign {
        RedesignKind::MeanDelay { delay_ns } | RedesignKind::LinearQuadratic { delay_ns } => {
            format!("{} for the mean delay of {}", redesign.controller, time(delay_ns as f64))
        }
        RedesignKind::Retuned => format!("{} with other gains", redesign.controller),
    }
}

pub(super) fn redesign_pieces(all: &[Redesign]) -> Vec<Piece> {
    let share = |new: f64, old: f64, interval: Option<Interval>| {
        if !new.is_finite() || !old.is_finite() {
            return if new.is_finite() { "stable".into() } else { "unstable".into() };
        }
        let value = percent(1.0 - new / old);
        interval.map_or(value.clone(), |i| match (percent(i.low), percent(i.high)) {
            (low, high) if low == high => low,
            (low, high) => format!("{} to {high}", low.trim_end_matches(" %")),
        })
    };
    if all.is_empty() {
        return Vec::new();
    }
    let rows = all
        .iter()
        .map(|r| vec![controller_text(r), cost_text(r.cost), share(r.cost, r.instead_of, r.recovered)]);
    let table = Piece::table("", &["designed anew", "cost along the run", "recovers"], rows);
    let each = all.iter().map(|redesign| {
        let tolerates = match redesign.delay {
            DelayMargin::Always => "any constant delay".into(),
            DelayMargin::UpTo(ns) => format!("a constant delay of {}", time(ns as f64)),
            DelayMargin::Never => "no delay".into(),
        };
        let peak = if redesign.peak.is_finite() {
            format!(", and amplifies no disturbance more than {:.2} times", redesign.peak)
        } else {
            String::new()
        };
        Piece::text(format!("{}; tolerates {tolerates}{peak}.", gains_text(redesign)))
    });
    std::iter::once(table).chain(each).collect()
}

fn gains_text(redesign: &Redesign) -> String {
    match &redesign.gains {
        Gains::Pid { loops, .. } => {
            let each = loops.iter().map(|g| {
                let integral =
                    g.integral_time_s.map_or(String::new(), |ti| format!(" Ti {}", time(ti * 1e9)));
                let hal = hal_pid_parameters(g)
                    .map(|(name, value)| format!("{name} {value:.6}"))
                    .collect::<Vec<_>>()
                    .join(", ");
                format!(
                    "K {:.6}{integral} Td {}, in LinuxCNC's pid {hal}",
                    g.gain,
                    time(g.derivative_time_s * 1e9)
                )
            });
            format!("{}: {}", controller_text(redesign), each.collect::<Vec<_>>().join("; "))
        }
        Gains::StateSpace { a, .. } => format!(
            "{}: a controller of {} states, whose matrices --json and --gains FILE give; LinuxCNC's pid has no such structure",
            controller_text(redesign),
            a.len()
        ),
    }
}

fn hal_pid_parameters(gains: &PidGains) -> impl Iterator<Item = (&'static str, f64)> {
    let [ff0, ff1, ff2] = gains.feedforward.unwrap_or_default();
    let feedforward = [("FF0", ff0), ("FF1", ff1), ("FF2", ff2)];
    let known = if gains.feedforward.is_some() { 3 } else { 0 };
    [("Pgain", gains.p), ("Igain", gains.i), ("Dgain", gains.d)]
        .into_iter()
        .chain(feedforward.into_iter().take(known))
}

/// Text of a file with the redesigned gains, by its extension; `None` if such a file could hold none. JSON holds all of
/// them. TOML holds the table [controller] of the best one, for one plant; HAL holds LinuxCNC's commands for the best
/// ones, plant by plant.
pub fn gains_file(of_plants: &[&[Redesign]], extension: &str) -> Option<String> {
    let best = |all: &[Redesign], wanted: &dyn Fn(&Redesign) -> bool| {
        let found = all.iter().filter(|r| r.cost.is_finite() && wanted(r));
        found.min_by(|a, b| a.cost.total_cmp(&b.cost)).cloned()
    };
    match (extension, of_plants) {
        ("json", [all]) if !all.is_empty() => json::indented(all).ok(),
        ("json", [_, ..]) if of_plants.iter().any(|all| !all.is_empty()) => json::indented(of_plants).ok(),
        ("toml", [all]) => best(all, &|_| true).as_ref().map(controller_toml),
        ("hal", _) => {
            let mut text = String::new();
            let mut number = 0;
            for all in of_plants {
                if let Some(best) = best(all, &|r| matches!(r.gains, Gains::Pid { .. })) {
                    append_hal_commands(&best, &mut number, &mut text);
                }
            }
            Some(text).filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

fn controller_toml(redesign: &Redesign) -> String {
    let list =
        |values: &mut dyn Iterator<Item = String>| format!("[{}]", values.collect::<Vec<_>>().join(", "));
    let mut text = format!("# {}\n[controller]\n", controller_text(redesign));
    // Writing to a String cannot fail.
    let _ = match &redesign.gains {
        Gains::Pid { loops, .. } => {
            let seconds = |value: f64| format!("\"{} s\"", exact_number(value));
            let integral = loops.iter().filter_map(|g| g.integral_time_s).map(seconds).collect::<Vec<_>>();
            let kind = if integral.is_empty() { "pd" } else { "pid" };
            let gain = list(&mut loops.iter().map(|g| exact_number(g.gain)));
            let derivative = list(&mut loops.iter().map(|g| seconds(g.derivative_time_s)));
            let _ = writeln!(text, "kind = \"{kind}\"\ngain = {gain}");
            if !integral.is_empty() {
                let _ = writeln!(text, "integral_time = {}", list(&mut integral.into_iter()));
            }
            writeln!(text, "derivative_time = {derivative}")
        }
        Gains::StateSpace { reads_states: false, a, b, c, d, .. } => {
            let rows = |m: &[Vec<f64>], sign: f64| {
                let row = |row: &Vec<f64>| list(&mut row.iter().map(|v| exact_number(sign * v)));
                list(&mut m.iter().map(row))
            };
            let _ = writeln!(text, "# of the error, reference - output\nkind = \"state-space\"");
            writeln!(
                text,
                "a = {}\nb = {}\nc = {}\nd = {}",
                rows(a, 1.0),
                rows(b, -1.0),
                rows(c, 1.0),
                rows(d, -1.0)
            )
        }
        Gains::StateSpace { c, d, .. } => {
            // u = -L [x; u_prev], and the controller's states are u_prev.
            let row = |(x, before): (&Vec<f64>, &Vec<f64>)| {
                list(&mut x.iter().chain(before).map(|v| exact_number(-v)))
            };
            writeln!(text, "kind = \"state-feedback\"\ngain = {}", list(&mut d.iter().zip(c).map(row)))
        }
    };
    text
}

/// Appends LinuxCNC's commands for the loops of a plant, which are `pid` number `number` and so on.
fn append_hal_commands(redesign: &Redesign, number: &mut usize, text: &mut String) {
    let Gains::Pid { period_s, loops } = &redesign.gains else { return };
    let _ =
        writeln!(text, "# {}, for a thread of {} ns", controller_text(redesign), (period_s * 1e9).round());
    for gains in loops {
        // Else pid takes the command of the cycle before, and a step is answered a cycle later than was computed.
        let _ = writeln!(text, "setp pid.{number}.error-previous-target 0");
        for (name, value) in hal_pid_parameters(gains) {
            let _ = writeln!(text, "setp pid.{number}.{name} {}", exact_number(value));
        }
        *number += 1;
    }
}
