//! The NIST paper's jitter and its compensation (sections 2 and 3) on this machine, beside the paper's figures.

use std::fmt::Write as _;

use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime};
use jitterlab_analysis::proof::MedianInterval;
use jitterlab_model::units::{Exact, Human};
use jitterlab_model::{ClockFit, ReadClock};

use crate::chart::Terminal;
use crate::compensation::{interval, load_table};
use crate::figure::nist::{figure_1, figure_2};
use crate::summary::wrap;
use crate::table;
use crate::waiting::clock;
use crate::words::share;

/// What was measured.
#[derive(Debug, Clone)]
pub struct NistJitter {
    /// T, the paper's 500 us.
    pub period_ns: i64,
    /// How well the time stamp counter could be stated in nanoseconds; `None` if CLOCK_MONOTONIC was read.
    pub clock_fit: Option<ClockFit>,
    /// Time between two readings of the clock.
    pub floor_ns: i64,
    /// Figure 1: 100 samples.
    pub short: Deviations,
    /// Their clusters.
    pub short_clusters: Vec<LatencyCluster>,
    /// Figure 2: 10,000 samples.
    pub long: Deviations,
    /// Their clusters.
    pub long_clusters: Vec<LatencyCluster>,
    /// Figure 5: S.
    pub service: ServiceTime,
    /// Figure 5: measured loads.
    pub load_curve: Vec<LoadPoint>,
    /// Figure 6: 100 uncompensated samples.
    pub uncompensated: Deviations,
    /// Figure 6: 100 compensated samples.
    pub compensated: Deviations,
    /// Margin of the compensated task.
    pub margin_ns: i64,
    /// Jitter of uncompensated series of 100 samples.
    pub uncompensated_jitter_ns: Option<MedianInterval>,
    /// Jitter of compensated series of 100 samples.
    pub compensated_jitter_ns: Option<MedianInterval>,
    /// How many times smaller, series by series.
    pub factor: Option<MedianInterval>,
    /// Additional share of a processor.
    pub extra_load: Option<MedianInterval>,
}

impl NistJitter {
    /// For people, at 80 columns.
    pub fn to_text(&self, terminal: Terminal) -> String {
        let mut out = format!(
            "NIST paper, sections 2 and 3: a task of {} that logs the {}\n(deviations from the least-squares \
             line through the starts; jitter: largest minus smallest)\n",
            Exact(self.period_ns),
            if self.clock_fit.is_some() { "time stamp counter" } else { "monotonic clock" },
        );
        if let Some(fit) = &self.clock_fit {
            out.push_str(&wrap(&clock(ReadClock::Tsc, fit)));
        }
        self.write_series(&mut out, terminal);
        let _ = write!(
            out,
            "\nFigure 5: extra load of waking every A. Paper: S = 5 us assumed, least 19 % at 50 us\n"
        );
        out.push_str(&load_table(&self.load_curve, &self.service, self.period_ns, terminal.ascii));
        self.write_compensation(&mut out, terminal);
        out
    }

    fn write_series(&self, out: &mut String, terminal: Terminal) {
        let [short, _] = figure_1(&self.short, &self.short_clusters);
        let long = figure_2(&self.long);
        for (figure, series, chart, clusters, told) in [
            ("1", &self.short, short, &self.short_clusters, "3.60 us (figure 6; \"about 3.5\" in figure 2)"),
            ("2", &self.long, long, &self.long_clusters, "about 3.5 us; the first sample stands out"),
        ] {
            let n = series.each_ns.len();
            let _ = write!(
                out,
                "\nFigure {figure}: {n} samples. Jitter {}; paper {told}\n",
                Human(series.residual.peak_to_peak())
            );
            if let Some(first) = series.each_ns.first() {
                let beyond = series.each_ns.iter().filter(|ns| *ns > first).count();
                let _ = writeln!(
                    out,
                    "  the first deviates by {}; of the others {beyond} by more",
                    Human(*first)
                );
            }
            out.push_str(&terminal.figure(&chart));
            let rows = clusters.iter().map(|c| {
                vec![
                    format!("{} .. {}", Human(c.low_ns as f64), Human(c.high_ns as f64)),
                    share(c.weight),
                    Human(c.centre_ns).to_string(),
                ]
            });
            out.push_str(&table::columns(&["boxed cluster", "share", "centre"], rows));
        }
    }

    fn write_compensation(&self, out: &mut String, terminal: Terminal) {
        let time = |ns: f64| Human(ns).to_string();
        let _ = writeln!(
            out,
            "\nFigure 6: compensated by waking {} early and polling, series of 100 samples in turns",
            Human(self.margin_ns as f64)
        );
        let rows = [
            vec![
                "uncompensated jitter".into(),
                interval(self.uncompensated_jitter_ns, time),
                "3.60 us".into(),
            ],
            vec!["compensated jitter".into(), interval(self.compensated_jitter_ns, time), "0.098 us".into()],
            vec![
                "smaller by a factor of".into(),
                interval(self.factor, |f| format!("{f:.1}")),
                "36.7 (\"about 40\")".into(),
            ],
            vec!["extra processor load".into(), interval(self.extra_load, share), "about 20 %".into()],
        ];
        out.push_str(&table::columns(&["", "here", "paper"], rows));
        let _ = writeln!(
            out,
            "  The paper disabled interrupts while it polled, which a Linux program cannot; its clock\n  \
             was read in a few cycles, here two readings are {} apart.",
            Human(self.floor_ns as f64)
        );
        for (name, series) in [("uncompensated", &self.uncompensated), ("compensated", &self.compensated)] {
            let jitter = Human(series.residual.peak_to_peak());
            let _ = writeln!(out, "  {name}, the series with the median jitter: {jitter}");
            out.push_str(&terminal.figure(&figure_2(series)));
        }
    }
}
