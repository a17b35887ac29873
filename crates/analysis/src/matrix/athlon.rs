//! The tables of "xenomai-user threads (Athlon)" (LinuxCNC wiki, Kent, 12 November 2012): largest jitter of a servo thread of 1 ms
//! and a base thread of 25 us on an Athlon II X4 640 under Xenomai, CPUs 2 and 3 isolated, two minutes for each pair of CPUs.

use super::{Matrix, Measurement, TaskFigures};

/// Name of the condition without load, the report's test series 1.
pub const NO_LOAD: &str = "none";
/// Name of the condition with CPU hogs on CPUs 0 and 1, the report's test series 2.
pub const HOGS: &str = "hog@0-1";

/// Base CPU, servo CPU, largest jitter of the servo and of the base thread in microseconds.
type Cell = (u16, u16, f64, f64);

/// Test series 1 and 2 of the report.
#[rustfmt::skip]
const TABLES: [(&str, [Cell; 16]); 2] = [
    (
        NO_LOAD,
        [
            (0, 0, 7.7, 7.5),
            (0, 1, 14.8, 7.8),
            (0, 2, 10.1, 9.8),
            (0, 3, 10.5, 9.2),
            (1, 0, 15.4, 6.7),
            (1, 1, 4.2, 5.2),
            (1, 2, 11.1, 6.1),
            (1, 3, 13.7, 9.4),
            (2, 0, 16.5, 5.5),
            (2, 1, 14.3, 8.4),
            (2, 2, 2.5, 5.3),
            (2, 3, 10.8, 7.5),
            (3, 0, 15.0, 5.7),
            (3, 1, 14.2, 7.3),
            (3, 2, 12.3, 8.9),
            (3, 3, 2.9, 5.5),
        ],
    ),
    (
        HOGS,
        [
            (0, 0, 5.8, 8.0),
            (0, 1, 12.8, 7.9),
            (0, 2, 7.8, 8.7),
            (0, 3, 8.1, 10.0),
            (1, 0, 14.3, 5.4),
            (1, 1, 3.7, 4.9),
            (1, 2, 7.3, 7.4),
            (1, 3, 7.9, 6.4),
            (2, 0, 15.3, 4.6),
            (2, 1, 15.2, 4.8),
            (2, 2, 2.5, 4.9),
            (2, 3, 8.8, 5.8),
            (3, 0, 14.3, 5.6),
            (3, 1, 13.4, 5.0),
            (3, 2, 7.4, 7.4),
            (3, 3, 2.6, 4.7),
        ],
    ),
];

/// Both series as a matrix with one repetition. The report gives the largest period error only, so that stands for the largest
/// latency too.
pub fn matrix() -> Matrix {
    let figures =
        |us: f64| TaskFigures { max_ns: us * 1e3, jitter_ns: Some(us * 1e3), ..TaskFigures::default() };
    let measurements = TABLES.iter().flat_map(|(condition, rows)| {
        rows.iter().map(|&(base, servo, servo_us, base_us)| Measurement {
            cpus: vec![servo, base],
            condition: (*condition).into(),
            repetition: 0,
            tasks: vec![figures(servo_us), figures(base_us)],
        })
    });
    Matrix { tasks: vec!["servo".into(), "base".into()], measurements: measurements.collect() }
}
