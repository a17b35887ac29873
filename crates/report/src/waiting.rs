//! Wait of a task, and its thread's measurements of it: polling, margin, other clocks.

use jitterlab_model::units::Human;
use jitterlab_model::watched::DueTimeSource;
use jitterlab_model::{ClockFit, MarginUsed, ReadClock, ReturnTime, SleepClock, TaskRun, TaskSpec, Watched};

use crate::dictionary::display_text;
use crate::words::{count, sentence, share};

/// Wait of a task, for its line: method, clocks and compensation, as far as they differ from the defaults.
pub fn wait_text(spec: &TaskSpec) -> String {
    let mut text = format!("wake {}", spec.wake);
    if spec.clock != SleepClock::Monotonic {
        text += &format!(" on {}", spec.clock);
    }
    if spec.read != ReadClock::Monotonic {
        text += &format!(", read by {}", spec.read);
    }
    if spec.compensate.to_string() != "none" {
        text += &format!(", compensate {}", spec.compensate);
    }
    text
}

/// Wait of another program's thread, and the source of its due times, for its line.
pub fn watched_text(watched: &Watched) -> String {
    let waits = display_text("wait", &watched.waits);
    let due = match watched.due {
        DueTimeSource::OwnTimer => "due times of its own timer",
        DueTimeSource::FittedGrid => "due times of a fitted grid",
    };
    format!("thread {} of {} ({}), {waits}, {due}", watched.thread, watched.program, watched.process)
}

/// Measurements of the task's thread about its wait, a sentence each; none for a plain wait.
pub fn finding_sentences(task: &TaskRun) -> Vec<String> {
    let Some(result) = &task.result else { return Vec::new() };
    let mut lines: Vec<String> =
        task.watched.as_ref().map(|watched| start_time_sentence(watched.returns)).into_iter().collect();
    lines.extend(result.core.as_ref().map(|core| {
        format!(
            "{}: {} activations outside real-time mode, {} mode switches, gravity {} ns",
            core.core,
            count(core.outside),
            count(core.mode_switches),
            core.gravity_ns
        )
    }));
    let length_ns = result.last_end_ns.saturating_sub(result.first_due_ns);
    if result.polled_ns > 0 && length_ns > 0 {
        lines.push(format!(
            "polled {} of the time; the longest hole in a poll was {}",
            share(result.polled_ns as f64 / length_ns as f64),
            Human(result.longest_hole_ns as f64)
        ));
    }
    lines.extend(result.margin.as_ref().and_then(margin_text));
    if result.clock_steps > 0 {
        lines.push(format!(
            "clock {} was set {} while it ran, by {} altogether; {}",
            task.spec.clock,
            if result.clock_steps == 1 { "once".into() } else { format!("{} times", result.clock_steps) },
            Human(result.clock_moved_ns as f64),
            match task.watched {
                Some(_) => "starts around it are unknown",
                None => "due times stayed where they were",
            }
        ));
    }
    lines.extend(result.clock_fit.as_ref().map(|fit| clock_text(task.spec.read, fit)));
    lines.iter().map(|line| sentence(line)).collect()
}

/// Explains the start times of a watched thread.
fn start_time_sentence(returns: Option<ReturnTime>) -> String {
    let Some(ReturnTime { times, lower_ns, taken_ns, upper_ns }) = returns else {
        return "starts are its returns from the kernel; how long after them it can read a clock was not measured"
            .into();
    };
    let show = |ns: i64| Human(ns as f64);
    format!(
        "starts are {} after its returns from the kernel: so long a thread of jitterlab's own took there to read a \
         clock, with restartable sequences and without (quartiles of {times}: {} and {})",
        show(taken_ns),
        show(lower_ns),
        show(upper_ns)
    )
}

fn margin_text(used: &MarginUsed) -> Option<String> {
    let margins = || used.course.iter().map(|(_, margin_ns)| *margin_ns);
    let (low, high) = (margins().min()?, margins().max()?);
    let show = |ns: i64| Human(ns as f64);
    let from = match used.samples {
        0 => String::new(),
        n => format!(", chosen from {n} latencies"),
    };
    Some(match used.course.as_slice() {
        [_] => format!("margin {}{from}", show(low)),
        [(_, first), .., (_, last)] => format!(
            "margin {} at first{from}, {} at last, between {} and {} in between",
            show(*first),
            show(*last),
            show(low),
            show(high)
        ),
        [] => return None,
    })
}

/// Rate of a counter, and the accuracy of its conversion to nanoseconds.
pub fn clock_text(read: ReadClock, fit: &ClockFit) -> String {
    let rate = format!("{read} counts {:.6} MHz", fit.units_per_s as f64 / 1e6);
    if fit.pairs == 0 {
        return format!("{rate}; how well that could be stated in CLOCK_MONOTONIC was never checked");
    }
    format!(
        "{rate}; stated in CLOCK_MONOTONIC it was wrong by {} rms and {} at most, at {} checks",
        Human(fit.rms_error_ns as f64),
        Human(fit.max_error_ns as f64),
        fit.pairs
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::TaskResult;

    fn task(spec: &str, result: TaskResult) -> TaskRun {
        TaskRun { result: Some(result), ..TaskRun::new(spec.parse().unwrap()) }
    }

    #[test]
    fn a_plain_wait_needs_no_words() {
        let plain = task("period=1ms", TaskResult { last_end_ns: 1_000, ..TaskResult::default() });
        let unchecked = ClockFit { units_per_s: 2_000_000_000, ..ClockFit::default() };
        assert!(clock_text(ReadClock::Tsc, &unchecked).ends_with("never checked"));
        assert_eq!((wait_text(&plain.spec).as_str(), finding_sentences(&plain).len()), ("wake nanosleep", 0));
    }

    #[test]
    fn where_the_starts_of_a_watched_thread_are_is_told() {
        let returns = ReturnTime { times: 64, lower_ns: 2_100, taken_ns: 2_400, upper_ns: 2_900 };
        let told = start_time_sentence(Some(returns));
        assert!(told.contains("2.40 µs after") && told.contains("of 64: 2.10 µs and 2.90 µs"), "{told}");
        assert!(start_time_sentence(None).contains("was not measured"));
    }

    #[test]
    fn what_was_polled_set_and_fitted_is_told() {
        let special = task(
            "period=1ms,clock=realtime,read=tsc,compensate=adaptive:0.01",
            TaskResult {
                last_end_ns: 1_000_000,
                polled_ns: 50_000,
                longest_hole_ns: 7_000,
                margin: Some(MarginUsed {
                    samples: 400,
                    course: vec![(0, 20_000), (1, 90_000), (2, 30_000)],
                }),
                clock_steps: 2,
                clock_moved_ns: -3_000_000_000,
                clock_fit: Some(ClockFit {
                    pairs: 99,
                    units_per_s: 2_100_000_123,
                    rms_error_ns: 12,
                    max_error_ns: 70,
                }),
                ..TaskResult::default()
            },
        );
        let how = wait_text(&special.spec);
        assert_eq!(how, "wake nanosleep on realtime, read by tsc, compensate adaptive:1e-2");
        let text = finding_sentences(&special).join(" ");
        for part in [
            "Polled 5.0 % of the time; the longest hole in a poll was 7 µs",
            "Margin 20 µs at first, chosen from 400 latencies, 30 µs at last, between 20 µs",
            "Clock realtime was set 2 times",
            "-3 s altogether",
            "Tsc counts 2100.000123 MHz",
            "12 ns rms and 70 ns at most, at 99",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
