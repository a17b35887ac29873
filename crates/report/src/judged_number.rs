//! Verdict on a single number, in words.

use jitterlab_model::Fitness;
use jitterlab_motion::judged_number::{JudgedNumber, TRAVEL_MM};

use crate::conclusion::{Conclusion, verdict_word};
use crate::document::Present;
use crate::purpose::{decision_sentence, purpose_list, purpose_table, purposes_by_fitness};
use crate::section::{Piece, Section};
use crate::words::{count, time};

impl Present for JudgedNumber {
    const KIND: &'static str = "judged-number";

    fn conclusion(&self) -> Option<Conclusion> {
        let verdict = &self.verdict;
        let only = verdict.purposes.first().filter(|_| verdict.asked.is_some());
        let number =
            only.and_then(|only| Some(decision_sentence(&only.purpose, only.decided_by.as_ref()?, 1)));
        Some(Conclusion {
            fitness: verdict.fitness,
            asked: verdict.asked.is_some(),
            verdict: verdict_sentence(self),
            number: number.unwrap_or_else(|| software_steps_sentence(self)),
            next: next_step(self),
        })
    }

    fn sections(&self) -> Vec<Section> {
        let late = time(self.late_ns as f64);
        let mut pieces: Vec<Piece> = purpose_table(&self.verdict).into_iter().collect();
        let open = purpose_list(self.verdict.with_fitness(Fitness::CannotTell));
        if self.verdict.asked.is_none() && !open.is_empty() {
            pieces.push(Piece::note(format!(
                "{open} is judged by the standard deviation of periods, which a largest value does not tell."
            )));
        }
        pieces.push(Piece::note(format!(
            "This holds if no start is later than {late}: in a long run, of the period that is judged, under the load that the machine will have."
        )));
        pieces.push(Piece::note(
            "What usually helps, in this order: a kernel with PREEMPT_RT, power saving off, CPUs of its own for the task. jitterlab check says what is missing.",
        ));
        vec![Section::new(
            "purposes",
            "What it is good for",
            "Each purpose with the limits that its field publishes.",
            pieces,
        )]
    }
}

fn verdict_sentence(judged: &JudgedNumber) -> String {
    let (late, verdict) = (time(judged.late_ns as f64), &judged.verdict);
    if let Some(asked) = &verdict.asked {
        return match verdict.fitness {
            Fitness::CannotTell => format!(
                "CANNOT TELL for {asked}: it is judged by the standard deviation of periods, not by the largest."
            ),
            fitness => format!("{} for {asked}, if no start is later than {late}.", verdict_word(fitness)),
        };
    }
    let best_first = purposes_by_fitness(verdict).rev().map(|(how, names)| format!("{how} for {names}"));
    format!("{late} is {}.", best_first.collect::<Vec<_>>().join("; "))
}

fn software_steps_sentence(judged: &JudgedNumber) -> String {
    match judged.steps {
        Some(steps) => format!(
            "Software steps: at most {}/s = {} mm/min (eighths of 200 steps, {TRAVEL_MM} mm/rev; base period {}).",
            count(steps.pulses_per_s as u64),
            count(steps.mm_per_min as u64),
            time(steps.base_period_ns as f64)
        ),
        None => "Software steps: LinuxCNC's manual advises against them above 100 µs.".into(),
    }
}

fn next_step(judged: &JudgedNumber) -> String {
    // The most demanding of the purposes that it is good enough for.
    let (verdict, fit) = (&judged.verdict, [Fitness::Good, Fitness::Limited]);
    let best = fit.into_iter().find_map(|fitness| verdict.with_fitness(fitness).next());
    let name = verdict.asked.as_deref().or(best.map(|best| best.purpose.as_str())).unwrap_or("servo-thread");
    format!("jitterlab run --for {name} --load cpu:1 --duration 10min (rare events need time and load)")
}
