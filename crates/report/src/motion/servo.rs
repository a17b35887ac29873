//! Effect of timing on a servo loop: the tables behind its verdict.

use jitterlab_model::Gap;
use jitterlab_motion::servo::{
    DelayMargin, LoopDescription, LoopUnderExecution, LoopUnderRun, OverrunPolicy, ServoResult, TimingSource,
};

use super::servo_tables::{self as tables, loop_sentence};
use super::{servo_charts, servo_redesign, servo_verdict};
use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::section::{Piece, Section};
use crate::words::{count, share, time};

impl Present for ServoResult {
    const KIND: &'static str = "servo";

    fn conclusion(&self) -> Option<Conclusion> {
        servo_verdict::conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        vec![section(self)]
    }
}

/// The answer of a loop, its figures, and its evidence, folded.
pub(crate) fn section(result: &ServoResult) -> Section {
    let figures = servo_charts::servo_charts(result).into_iter().map(Piece::Figure);
    let margins = tables::margin_pieces(&result.margins);
    let mut pieces = match &result.judged {
        TimingSource::Run(under) => run_pieces(result, under),
        TimingSource::Execution(under) => execution_pieces(result, under),
        TimingSource::ConstantDelays { costs } => {
            vec![Piece::text(margins_sentence(result)), tables::delay_table(costs)]
        }
    };
    pieces.extend(figures);
    match &result.judged {
        TimingSource::Run(under) => pieces.push(Piece::details(
            "Overrun actions, margins and responses",
            [margins, evidence_pieces(under)].concat(),
        )),
        _ => pieces.extend(margins),
    }
    Section::new(
        "servo",
        "What it does to the control loop",
        "The mean quadratic cost of the loop under this timing against punctual activations, which part of the timing \
         costs how much, and how much more delay the loop tolerates.",
        pieces,
    )
}

fn run_pieces(result: &ServoResult, under: &LoopUnderRun) -> Vec<Piece> {
    let found = &under.assessment;
    let mut pieces = vec![basis_piece(&result.closed, under)];
    pieces.extend(tables::cost_table(&found.evaluation));
    pieces.extend(tables::miss_sentences(&found.misses));
    pieces.extend(tables::remedy_table(&under.remedies));
    pieces.extend(servo_redesign::redesign_pieces(&found.redesigns));
    pieces.extend(super::note_pieces(super::run_caveats(&under.run)));
    pieces
}

/// Pieces that a terminal shows under `--details` alone.
fn evidence_pieces(under: &LoopUnderRun) -> Vec<Piece> {
    let found = &under.assessment;
    let mut pieces = tables::action_table(&found.actions, found.evaluation.ideal.cost);
    pieces.extend(tables::miss_sentences(&found.misses_seen));
    if found.misses_seen.is_some() || !found.misses.is_empty() {
        let cycles = count(found.shown);
        pieces.push(Piece::text(format!(
            "These jobs: {cycles} cycles of the run, evenly from all of each kind."
        )));
    }
    pieces.push(tables::velocity_error_piece(&under.velocity));
    let caption = "What the loop is asked to follow, through the worst event of the run";
    pieces.extend(tables::reference_tracking_table(caption, &found.responses));
    pieces
}

fn execution_pieces(result: &ServoResult, under: &LoopUnderExecution) -> Vec<Piece> {
    let mut basis = format!(
        "{}; execution {}, overrun {}, {} of its time at work.",
        loop_sentence(&result.closed),
        under.execution,
        under.overrun,
        share(under.utilisation)
    );
    if under.overrun.policy == OverrunPolicy::CatchUp && under.utilisation >= 1.0 {
        basis.push_str(
            " It never catches up: its lateness grows without bound; the figures are of jobs back to back.",
        );
    }
    let misses = tables::miss_sentences(&under.misses);
    let actions = tables::action_table(&under.actions, under.ideal.cost);
    [vec![Piece::text(basis)], tables::execution_pieces(under), actions, misses].concat()
}

fn basis_piece(closed: &LoopDescription, under: &LoopUnderRun) -> Piece {
    let timing = &under.assessment.evaluation.timing;
    let row = if timing.longest_missed > 1 {
        format!(", at most {} in a row", timing.longest_missed)
    } else {
        String::new()
    };
    let untold = |gap| under.run.unknown.contains(&gap);
    let execution = if untold(Gap::Execution) {
        "execution unknown".into()
    } else {
        format!("mean execution {}", time(timing.execution_ns))
    };
    let missed = if untold(Gap::Missed) && timing.missed == 0 {
        "how many periods had no output is unknown".into()
    } else {
        format!("{} of {} periods without an output{row}", count(timing.missed), count(timing.periods))
    };
    Piece::text(format!(
        "{} (task {}); {} activations, mean latency {}, {execution}, {missed}.",
        loop_sentence(closed),
        under.run.task,
        count(timing.executed),
        time(timing.latency_ns)
    ))
}

/// Margins of a loop in a sentence, for a loop without a run.
fn margins_sentence(result: &ServoResult) -> String {
    let closed = loop_sentence(&result.closed);
    let delay = match result.margins.delay {
        DelayMargin::Never => {
            return format!(
                "{closed} is NOT stable even without any delay: give it a shorter period, or another controller, such as \
                 --controller lqg."
            );
        }
        DelayMargin::Always => "any constant delay".into(),
        DelayMargin::UpTo(ns) => format!("a constant delay of up to {}", time(ns as f64)),
    };
    let jitter = result.margins.jitter_ns;
    let jitter = jitter.map_or(String::new(), |ns| format!(", and with any jitter of up to {}", time(ns)));
    let poor = tables::peak_clause(&result.margins).filter(|_| result.margins.is_poor_design());
    let poor = poor.map_or(String::new(), |peak| format!(" By its design alone, {peak}."));
    format!("{closed} stays stable with {delay}{jitter}.{poor}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::catalog;
    use jitterlab_motion::servo::SingleTaskLoop;

    use crate::chart::Terminal;

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: true, colour: false };

    #[test]
    fn margins_are_said_for_loops_that_stand_none_some_and_any_delay() {
        let question = SingleTaskLoop::new(catalog::find_device("dc-servo", None).unwrap(), 6_000_000);
        let mut result = ServoResult::without_run(&question).unwrap();
        let mut told = |delay, with_delay_ns| {
            (result.margins.delay, result.margins.with_delay_ns) = (delay, with_delay_ns);
            section(&result).text(TERMINAL).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let some = told(DelayMargin::UpTo(13_351_560), 0);
        assert!(
            some.contains("a constant delay of up to 13.4 ms, and with any jitter of up to 12 ms"),
            "{some}"
        );
        assert!(some.contains("delay margin 13.4 ms") && !some.contains("with 0 ns"), "{some}");
        assert!(told(DelayMargin::Always, 0).contains("stable with any constant delay"));
        let never = told(DelayMargin::Never, 200_000);
        assert!(never.contains("NOT stable") && never.contains("unstable without any delay"), "{never}");
        assert!(never.contains("with 200 µs"), "{never}");
    }

    #[test]
    fn given_execution_times_are_answered_with_the_action_that_would_be_best() {
        let question = SingleTaskLoop::new(catalog::find_device("dc-servo", None).unwrap(), 4_000_000);
        let result = ServoResult::under_execution(&question, "0.8h:0.5,1.2h:0.5", &[]).unwrap();
        let conclusion = servo_verdict::conclusion(&result).unwrap();
        let told = conclusion.text(TERMINAL) + &section(&result).text(TERMINAL);
        assert!(
            told.starts_with("USABLE: ")
                && conclusion.number.starts_with("This timing makes the loop 210 % worse"),
            "{conclusion:?}"
        );
        assert!(told.contains("177.855094"), "{told}");
        assert!(told.contains("0.764865419") && told.contains("0.841165845"), "{told}");
        assert!(told.contains("Next: when a job overruns"), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    }
}
