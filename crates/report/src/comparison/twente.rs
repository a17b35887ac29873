//! The comparison of the University of Twente's report, for the terminal.

use jitterlab_analysis::compare::{BIN_NS, TwenteRun};

use crate::table::columns;
use crate::words::count;

/// The comparison of the University of Twente's report: durations of loops, and their jitter in bins of 0.1 ms.
pub(super) fn twente(runs: &[TwenteRun]) -> String {
    let ms = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{:.4}", ns / 1e6));
    let whole = |ns: Option<i64>| ms(ns.map(|ns| ns as f64));
    let rows = runs.iter().map(|r| {
        vec![
            r.name.clone(),
            count(r.count),
            ms(r.mean_ns),
            ms(r.sd_ns),
            whole(r.min_ns),
            whole(r.max_ns),
            ms(r.mean_period_error_ns),
        ]
    });
    let mut text = String::from("duration of a loop in ms, from one start to the next\n");
    text.push_str(&columns(&["", "loops", "mean", "sd", "shortest", "longest", "mean |error|"], rows));
    text.push_str("loops by the size of their period error (jitter, in the report), in ms\n");
    let names = runs.iter().map(|r| r.name.as_str());
    let header: Vec<&str> = std::iter::once("|error|").chain(names).collect();
    let longest = runs.iter().map(|r| r.histogram.len()).max().unwrap_or(0);
    let loops = |r: &TwenteRun, bin: usize| r.histogram.get(bin).copied().unwrap_or(0);
    let occupied = (0..longest).filter(|bin| runs.iter().any(|r| loops(r, *bin) > 0));
    let rows = occupied.map(|bin| {
        let from = bin as f64 * BIN_NS as f64 / 1e6;
        let label = format!("{from:.1} to {:.1}", from + BIN_NS as f64 / 1e6);
        std::iter::once(label).chain(runs.iter().map(|r| count(loops(r, bin)))).collect()
    });
    text + &columns(&header, rows)
}
