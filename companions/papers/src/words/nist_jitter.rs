//! NIST's report, sections 2 and 3: the jitter of a task of 500 us and its compensation, with the paper's
//! figures.

use std::fmt::Write as _;

use crate::claims::nist::NistJitter;
use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_model::ReadClock;

use super::PaperFigure;
use super::nist_figures::{figure_1, figure_2, figure_4, figure_6};
use jitterlab_report::chart::Terminal;
use jitterlab_report::compensation::{interval, load_curve};
use jitterlab_report::figure::load;
use jitterlab_report::section::Section;
use jitterlab_report::table;
use jitterlab_report::waiting::clock;
use jitterlab_report::words::{exact, share, time};
use jitterlab_report::wrap::wrap;

/// Figures 1, 2, 4, 5 and 6.
pub(super) fn figures(found: &NistJitter) -> Vec<PaperFigure> {
    let beside = format!("the paper: equation 1, S = {}", time(found.printed.service_ns));
    let beside = Some((found.printed.service_ns, beside.as_str()));
    let calls = found.early_calls.as_ref().map(|calls| ("figure-4".into(), vec![figure_4(calls)]));
    let first = [
        ("figure-1".into(), figure_1(&found.short, &found.short_clusters).into()),
        ("figure-2".into(), vec![figure_2(&found.long)]),
    ];
    let last = [
        (
            "figure-5".into(),
            vec![load::curve(found.period_ns, found.service.often_ns, &found.load_curve, beside)],
        ),
        ("figure-6".into(), vec![figure_6(&found.uncompensated, &found.compensated)]),
    ];
    first.into_iter().chain(calls).chain(last).collect()
}

/// The numbers of the figures, for the terminal.
pub(super) fn numbers(found: &NistJitter, terminal: Terminal) -> String {
    let printed = &found.printed;
    let mut out = format!(
        "NIST paper, sections 2 and 3: a task of {} that logs the {}\n",
        exact(found.period_ns),
        if found.clock_fit.is_some() { "time stamp counter" } else { "monotonic clock" },
    );
    let terms = "(deviations from the least-squares line through the starts; jitter: largest minus smallest)";
    out.push_str(&wrap(terms));
    if let Some(fit) = &found.clock_fit {
        out.push_str(&wrap(&clock(ReadClock::Tsc, fit)));
    }
    let about = format!("about {}", time(printed.jitter_in_figure_2_ns));
    let paper = format!("{} (figure 6; \"{about}\" in figure 2)", time(printed.jitter_ns));
    out.push_str(&series(("1", &paper), &found.short));
    out.push_str(&clusters(&found.short_clusters));
    let paper = format!("{about}; the first sample stands out");
    out.push_str(&series(("2", &paper), &found.long));
    out.push_str(&clusters(&found.long_clusters));
    out.push_str("\nFigure 4: the early calls of one activation. Paper: \"about 9 calls will return\"\n");
    match &found.early_calls {
        Some(calls) => out.push_str(&wrap(&figure_4(calls).caption)),
        None => out.push_str("  not measured: no call came before its due time\n"),
    }
    out.push('\n');
    out.push_str(&wrap(&format!(
        "Figure 5: extra load of waking every A. Paper: S = {} assumed, least {} at {}",
        time(printed.service_ns),
        share(printed.least_load),
        exact(printed.least_load_every_ns)
    )));
    let load = load_curve(&found.load_curve, &found.service, found.period_ns);
    out.push_str(&Section::new("", "", "", load).text(terminal));
    out.push_str(&compensation(found));
    for (name, series) in [("uncompensated", &found.uncompensated), ("compensated", &found.compensated)] {
        let jitter = time(series.residual.peak_to_peak());
        let _ = writeln!(out, "  {name}, the series with the median jitter: {jitter}");
    }
    out
}

/// A series of samples in numbers, with the paper's statement.
fn series((figure, paper): (&str, &str), series: &Deviations) -> String {
    let mut out = "\n".to_owned();
    out.push_str(&wrap(&format!(
        "Figure {figure}: {} samples. Jitter {}; paper {paper}",
        series.each_ns.len(),
        time(series.residual.peak_to_peak())
    )));
    if let Some(first) = series.each_ns.first() {
        let beyond = series.each_ns.iter().filter(|ns| *ns > first).count();
        let _ = writeln!(out, "  the first deviates by {}; of the others {beyond} by more", time(*first));
    }
    out
}

fn clusters(clusters: &[LatencyCluster]) -> String {
    let rows = clusters.iter().map(|c| {
        vec![
            format!("{} .. {}", time(c.low_ns as f64), time(c.high_ns as f64)),
            share(c.weight),
            time(c.centre_ns),
        ]
    });
    table::columns(&["boxed cluster", "share", "centre"], rows)
}

fn compensation(found: &NistJitter) -> String {
    let printed = &found.printed;
    let factor = printed.jitter_ns / printed.compensated_jitter_ns;
    let row = |name: &str, here: String, paper: String| vec![name.into(), here, paper];
    let rows = [
        row("uncompensated jitter", interval(found.uncompensated_jitter_ns, time), time(printed.jitter_ns)),
        row(
            "compensated jitter",
            interval(found.compensated_jitter_ns, time),
            time(printed.compensated_jitter_ns),
        ),
        row(
            "the first over the second",
            interval(found.factor, |f| format!("{f:.1}")),
            format!("{factor:.1} (\"about {}\")", printed.factor),
        ),
        row(
            "extra processor load",
            interval(found.extra_load, share),
            format!("about {}", share(printed.extra_load)),
        ),
    ];
    format!(
        "\nFigure 6: compensated by waking {} early and polling, series of 100 samples in turns\n{}  \
         The paper disabled interrupts while it polled, which a Linux program cannot; its clock\n  \
         was read in a few cycles, here two readings are {} apart.\n",
        time(found.margin_ns as f64),
        table::columns(&["", "here", "paper"], rows),
        time(found.floor_ns as f64)
    )
}
