//! Effect of timing on motors and loops, in words, tables and figures.

pub(crate) mod devices;
pub(crate) mod servo;
pub mod servo_charts;
pub(crate) mod servo_live;
pub(crate) mod servo_loops;
pub mod servo_redesign;
mod servo_tables;
pub(crate) mod servo_verdict;
pub(crate) mod stepper;
mod stepper_charts;
pub(crate) mod stepper_conclusion;

use jitterlab_analysis::Caveat;
use jitterlab_model::{Fitness, Gap};
use jitterlab_motion::JudgedRun;

use crate::caveats::caveat_clause;
use crate::conclusion::{quoted_purpose, verdict_word};
use crate::section::Piece;
use crate::warnings::warning_sentence;
use crate::words::{self, list_some};

/// Clauses as paragraphs.
fn paragraphs(clauses: impl IntoIterator<Item = String>) -> impl Iterator<Item = Piece> {
    clauses.into_iter().map(|clause| Piece::text(words::sentence(&clause)))
}

fn note_pieces(clauses: Vec<String>) -> impl Iterator<Item = Piece> {
    clauses.into_iter().map(|clause| Piece::note(words::sentence(&clause)))
}

/// Clause on a run whose worst activations may be missing.
const LOST_RECORDS: &str = "records were lost, which may have held the worst activations";

/// Sentence on the verdict by timing alone, if just one of the two verdicts is that it is not fit; else empty.
fn timing_alone_sentence(run: Option<&JudgedRun>, judged: Fitness) -> String {
    let alone = run.and_then(|run| run.timing_alone.as_ref());
    let is_unfit = |fitness| fitness == Fitness::Unfit;
    let told = alone
        .and_then(quoted_purpose)
        .filter(|alone| alone.fitness != Fitness::CannotTell && is_unfit(alone.fitness) != is_unfit(judged));
    told.map_or_else(String::new, |alone| {
        format!(
            " By timing alone: {} for {} (jitterlab analyze); those limits are for any loop, this verdict is for this one.",
            verdict_word(alone.fitness),
            alone.purpose
        )
    })
}

fn run_caveats(run: &JudgedRun) -> Vec<String> {
    main_caveats(run).into_iter().chain(other_caveats(run)).collect()
}

/// Caveats about every figure: the default task, its clocks, and gaps of the source.
fn main_caveats(run: &JudgedRun) -> Vec<String> {
    let taken = (!run.others.is_empty()).then(|| {
        let others = list_some(&run.others);
        format!(
            "this is about task {}, and the run has other tasks: {others} (--task names another)",
            run.task
        )
    });
    let untold = run.unknown.contains(&Gap::Execution).then(|| {
        "how long its jobs work is unknown: outputs are taken to go out as soon as jobs start, and what the work takes comes on top \
         (--execution judges times you know or fear)"
            .into()
    });
    let clocks = run.caveats.iter().filter(|caveat| is_about_clocks(caveat));
    taken.into_iter().chain(caveat_clauses(clocks)).chain(untold).collect()
}

fn other_caveats(run: &JudgedRun) -> Vec<String> {
    let others = run.caveats.iter().filter(|caveat| !is_about_clocks(caveat));
    run.warnings.iter().map(warning_sentence).chain(caveat_clauses(others)).collect()
}

fn is_about_clocks(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::TwoClocks { .. })
}

fn caveat_clauses<'a>(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<String> {
    caveats.into_iter().map(caveat_clause).collect()
}

/// A relative change in percent with `decimals` decimals; a change that rounds to zero has no sign.
fn change_percent(share: f64, decimals: usize) -> String {
    let percent = share * 100.0;
    if percent.abs() < 0.5 * 0.1f64.powi(decimals as i32) {
        format!("{:.decimals$} %", 0.0)
    } else {
        format!("{percent:+.decimals$} %")
    }
}

/// A share in percent with three significant digits, whatever its sign.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => "without bound".into(),
        p if p.abs() < 0.01 => "0.00 %".into(),
        p => {
            let decimals = (2.0 - p.abs().log10().floor()).clamp(0.0, 3.0) as usize;
            format!("{p:.decimals$} %")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::change_percent;
    use crate::chart::Terminal;
    use crate::document::{self, Document, Extent, Present};
    use crate::section::Section;
    use jitterlab_model::Activation;
    use jitterlab_motion::servo::{AssessmentOptions, Plant, ServoResult, SingleTaskLoop};
    use jitterlab_motion::stepper::{Axis, AxisFacts, StepperDevices, StepperQuestion};
    use jitterlab_motion::{JudgedRun, catalog};

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: true, colour: false };
    const H: i64 = 6_000_000;

    #[test]
    fn a_change_that_rounds_to_nothing_has_no_sign() {
        assert_eq!(
            [-1e-9, 0.0, 1.5e-6, -0.25].map(|share| change_percent(share, 4)),
            ["0.0000 %", "0.0000 %", "+0.0002 %", "-25.0000 %"]
        );
    }

    fn question() -> SingleTaskLoop {
        SingleTaskLoop::new(catalog::find_device("dc-servo", None).unwrap(), H)
    }

    /// A loop under a run that stalls over 30 periods again and again: unstable by its bursts.
    fn stalled() -> ServoResult {
        let activation = |k: i64| {
            let (due_ns, late_ns) = (k * H, if k % 200 == 100 { 30 * H } else { 0 });
            let start_ns = due_ns + late_ns;
            Activation { index: k as u64, due_ns, start_ns, end_ns: start_ns + 500, ..Activation::default() }
        };
        let trace: Vec<Activation> =
            (0..2_000).filter(|k| !(101..130).contains(&(k % 200))).map(activation).collect();
        let run = JudgedRun {
            file: "stalled.parquet".into(),
            task: "main".into(),
            others: vec!["base".into()],
            unknown: Vec::new(),
            period_ns: H,
            executed: trace.len() as u64,
            warnings: vec![jitterlab_model::Warning::Parts { parts: 3 }],
            caveats: Vec::new(),
            has_lost_extremes: false,
            timing_alone: None,
        };
        ServoResult::under_run(&question(), run, trace.as_slice(), &AssessmentOptions::default()).unwrap()
    }

    fn section(result: &impl Present) -> Section {
        result.sections().remove(0)
    }

    fn text(result: &impl Present) -> String {
        document::terminal_text(result, Extent::Details, TERMINAL)
    }

    fn is_read_back(result: &impl Present) {
        let document = Document::new(result);
        let read = Document::read(&document::to_json(result).unwrap()).unwrap();
        assert_eq!((&read.kind, &read.head), (&document.kind, &document.head));
        // Figures are part of the text. (Their numbers are written with seven digits.)
        let texts = [&read, &document].map(|document| document.terminal_text(Extent::Details, TERMINAL));
        assert!(texts[0] == texts[1], "{}{}", texts[0], texts[1]);
        assert_eq!(read.sections.len(), 1);
    }

    #[test]
    fn every_result_is_read_back_from_its_json_and_shows_the_same() {
        let axis =
            Axis::new(catalog::find_device("as1050", None).unwrap(), None, AxisFacts::default()).unwrap();
        let stepper = |jitter| StepperQuestion::new(axis.clone(), None, None).unwrap().under_jitter(jitter);
        // No jitter costs nothing at any speed, and a large one all there is: both are infinite somewhere.
        for jitter_ns in [100_000, 0, 6_000_000] {
            is_read_back(&stepper(jitter_ns).unwrap());
        }
        is_read_back(&stalled());
        is_read_back(&ServoResult::without_run(&question()).unwrap());
        is_read_back(&ServoResult::under_execution(&question(), "0.5h..1.4h", &[]).unwrap());
        is_read_back(&StepperDevices::from_catalog());
        is_read_back(&catalog::devices_with_example::<Plant, _>("dc-servo"));
    }

    #[test]
    fn an_unstable_loop_has_no_cost_from_there_on() {
        let text = text(&stalled());
        assert!(text.contains("NOT stable") && text.contains("3 blocks"), "{text}");
        let section = section(&stalled());
        let captions: Vec<&str> = section.charts().iter().map(|chart| chart.caption.as_str()).collect();
        assert!(captions[0].contains("the loop is no longer stable"), "{captions:?}");
        assert_eq!(captions.len(), 3, "cost, step, sine: {captions:?}");
    }

    #[test]
    fn an_axis_shows_torque_and_rate_and_one_speed_makes_no_curve() {
        let axis =
            Axis::new(catalog::find_device("as1050", None).unwrap(), None, AxisFacts::default()).unwrap();
        let of =
            |speeds| StepperQuestion::new(axis.clone(), speeds, None).unwrap().under_jitter(20_000).unwrap();
        let result = of(None);
        let section = section(&result);
        let names: Vec<&str> = section.charts().iter().map(|chart| chart.name.as_ref()).collect();
        assert_eq!(names, ["torque", "step-rate"]);
        assert!(result.conclusion().unwrap().verdict.contains("rev/min"));
        let one = text(&of(Some("1rev/s")));
        assert!(!one.contains("left under the jitter"), "{one}");
    }
}
