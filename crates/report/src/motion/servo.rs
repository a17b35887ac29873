//! Effect of timing on a servo loop: the tables behind its verdict.

use jitterlab_model::Gap;
use jitterlab_motion::servo::{
    DelayMargin, Judged, Late, LoopDescription, LoopUnderExecution, LoopUnderRun, ServoResult,
};

use super::servo_tables::{self as tables, described};
use super::{servo_charts, servo_redesign};
use crate::chart::Terminal;
use crate::section::{Piece, Section};
use crate::words::{count, share, time};
use crate::wrap::wrap;

/// Short text below the head on the terminal; `None` if that would be the full text.
pub(crate) fn answer(result: &ServoResult) -> Option<String> {
    let Judged::Run(under) = &result.judged else { return None };
    let found = &under.assessment;
    let remedies = if found.remedies.is_empty() { String::new() } else { tables::remedies(&found.remedies) };
    let misses = tables::misses(&found.misses);
    let mut parts = vec![basis(&result.closed, under), tables::costs(&found.evaluation), misses, remedies];
    parts.retain(|part| !part.is_empty());
    if !found.redesigns.is_empty() {
        parts.push(servo_redesign::text(&found.redesigns));
    }
    Some(parts.join("\n") + &super::caveats_text(&super::of_run(&under.run)))
}

/// Everything below the head, readable at 80 columns.
pub fn text(result: &ServoResult, terminal: Terminal) -> String {
    let margins = tables::margins(&result.margins);
    match &result.judged {
        Judged::ConstantDelays { costs } => {
            let answer = wrap(&margins_sentence(result));
            format!("{answer}\n{margins}\n{}", tables::delays(costs)) + &terminal.figures(&figures(result))
        }
        Judged::Execution(under) => of_execution(result, under, &margins),
        Judged::Run(under) => {
            let found = &under.assessment;
            let misses = tables::misses(found.misses_seen.iter().chain(&found.misses));
            let mut parts = vec![
                basis(&result.closed, under),
                tables::costs(&found.evaluation),
                tables::actions(&found.actions, found.evaluation.ideal.cost),
                margins + &misses + &tables::shown(&misses, found.shown) + &tables::velocity(&found.velocity),
            ];
            if !found.remedies.is_empty() {
                parts.push(tables::remedies(&found.remedies));
            }
            if !found.redesigns.is_empty() {
                parts.push(servo_redesign::text(&found.redesigns));
            }
            if !found.responses.is_empty() {
                let heading =
                    "What the loop is asked to follow, through the worst event of the run:\n".to_owned();
                parts.push(heading + &found.responses.iter().map(tables::followed).collect::<String>());
            }
            parts.join("\n")
                + &super::caveats_text(&super::of_run(&under.run))
                + "\n"
                + &terminal.figures(&figures(result))
        }
    }
}

fn of_execution(result: &ServoResult, under: &LoopUnderExecution, margins: &str) -> String {
    let mut basis = format!(
        "{}; execution {}, overrun {}, {} of its time at work.",
        described(&result.closed),
        under.execution,
        under.overrun,
        share(under.utilisation)
    );
    if under.overrun.late == Late::CatchUp && under.utilisation >= 1.0 {
        basis.push_str(
            " It never catches up: its lateness grows without bound; the figures are of jobs back to back.",
        );
    }
    let parts = [
        wrap(&basis),
        tables::execution(under),
        tables::actions(&under.actions, under.ideal.cost),
        margins.to_owned() + &tables::misses(under.misses.iter().chain(&under.misses_as_given)),
    ];
    parts.join("\n")
}

pub fn figures(result: &ServoResult) -> Vec<crate::chart::Chart> {
    servo_charts::all(result)
}

/// Section of the page for a loop.
pub(crate) fn section(result: &ServoResult) -> Section {
    let text = |text: String| Piece::Text { text };
    let mut pieces = vec![text(described(&result.closed) + ".")];
    if let Judged::ConstantDelays { .. } = &result.judged {
        pieces.push(text(margins_sentence(result)));
    }
    pieces.extend(servo_charts::all(result).into_iter().map(Piece::Figure));
    if let Judged::Run(under) = &result.judged {
        pieces.extend(super::minded_pieces(super::of_run(&under.run)));
    }
    Section::new(
        "servo",
        "What it does to the control loop",
        "The mean quadratic cost of the loop under this timing against punctual activations, which part of the timing \
         costs how much, and how much more the loop stands.",
        pieces,
    )
}

fn basis(closed: &LoopDescription, under: &LoopUnderRun) -> String {
    let timing = &under.assessment.evaluation.timing;
    let row = if timing.longest_missed > 1 {
        format!(", at most {} in a row", timing.longest_missed)
    } else {
        String::new()
    };
    let untold = |gap| under.run.unknown.contains(&gap);
    let execution = if untold(Gap::Execution) {
        "execution not told".into()
    } else {
        format!("mean execution {}", time(timing.execution_ns))
    };
    let missed = if untold(Gap::Missed) && timing.missed == 0 {
        "how many periods had no output is not told".into()
    } else {
        format!("{} of {} periods without an output{row}", count(timing.missed), count(timing.periods))
    };
    wrap(&format!(
        "{} (task {}); {} activations, mean latency {}, {execution}, {missed}.",
        described(closed),
        under.run.task,
        count(timing.executed),
        time(timing.latency_ns)
    ))
}

/// Margins of a loop in a sentence, for a loop without a run.
fn margins_sentence(result: &ServoResult) -> String {
    let closed = described(&result.closed);
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
    let poor = tables::peaked(&result.margins).filter(|_| result.margins.design_is_poor());
    let poor = poor.map_or(String::new(), |peak| format!(" By its design alone, {peak}."));
    format!("{closed} stays stable with {delay}{jitter}.{poor}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::catalog;
    use jitterlab_motion::servo::Question;

    #[test]
    fn margins_are_said_for_loops_that_stand_none_some_and_any_delay() {
        let question = Question::new(catalog::find("dc-servo", None).unwrap(), 6_000_000);
        let mut result = ServoResult::alone(&question).unwrap();
        let terminal = Terminal { columns: 80, ascii: true, colour: false };
        let mut told = |delay, with_delay_ns| {
            (result.margins.delay, result.margins.with_delay_ns) = (delay, with_delay_ns);
            text(&result, terminal).split_whitespace().collect::<Vec<_>>().join(" ")
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
        let question = Question::new(catalog::find("dc-servo", None).unwrap(), 4_000_000);
        let result = ServoResult::under_execution(&question, "0.8h:0.5,1.2h:0.5", &[]).unwrap();
        let head = super::super::servo_verdict::head(&result).unwrap();
        let terminal = Terminal { columns: 80, ascii: true, colour: false };
        let told = head.text(terminal) + &text(&result, terminal);
        assert!(
            told.starts_with("USABLE: ") && head.number.starts_with("This timing makes the loop 210 % worse"),
            "{head:?}"
        );
        assert!(told.contains("177.855094"), "{told}");
        assert!(told.contains("0.764865419") && told.contains("0.841165845"), "{told}");
        assert!(told.contains("Next: when a job overruns"), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    }
}
