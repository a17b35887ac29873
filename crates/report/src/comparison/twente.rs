//! The comparison of the University of Twente's report: durations of loops, and their jitter in bins of 0.1 ms.

use jitterlab_analysis::compare::{BIN_NS, TwenteRun};

use crate::section::{Cell, Piece};

/// Durations of loops in milliseconds, and the number of loops for each jitter.
pub(super) fn loop_tables(task: &str, runs: &[TwenteRun]) -> [Piece; 2] {
    let ms = |ns: Option<f64>| Cell::optional(ns, |ns| format!("{:.4}", ns / 1e6).into());
    let whole = |ns: Option<i64>| ms(ns.map(|ns| ns as f64));
    let durations = runs.iter().map(|r| {
        vec![
            r.name.as_str().into(),
            Cell::Count(r.count),
            ms(r.mean_ns),
            ms(r.sd_ns),
            whole(r.min_ns),
            whole(r.max_ns),
            ms(r.mean_period_error_ns),
        ]
    });
    let header: Vec<&str> =
        std::iter::once("|error|, ms").chain(runs.iter().map(|r| r.name.as_str())).collect();
    let longest = runs.iter().map(|r| r.histogram.len()).max().unwrap_or(0);
    let loops = |r: &TwenteRun, bin: usize| r.histogram.get(bin).copied().unwrap_or(0);
    let occupied = (0..longest).filter(|bin| runs.iter().any(|r| loops(r, *bin) > 0));
    let bins = occupied.map(|bin| {
        let from = bin as f64 * BIN_NS as f64 / 1e6;
        let label = format!("{from:.1} to {:.1}", from + BIN_NS as f64 / 1e6);
        std::iter::once(label.into()).chain(runs.iter().map(|r| Cell::Count(loops(r, bin)))).collect()
    });
    [
        Piece::table(
            format!("{task}: duration of a loop, from one start to the next"),
            &["ms", "loops", "mean", "sd", "shortest", "longest", "mean |error|"],
            durations,
        ),
        Piece::table(
            format!("{task}: loops by the size of their period error (jitter, in the report)"),
            &header,
            bins,
        ),
    ]
}
