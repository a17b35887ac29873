//! The head of a source document's repetition: number of its statements that hold here, the deciding number,
//! the next step.

use crate::statement::{StatementVerdict, Tested};
use jitterlab_model::Fitness;
use jitterlab_report::head::Head;
use jitterlab_report::words::plural;

/// Number of statements that hold, and the first that does not, else the first undecided one, else the first.
pub(super) fn of_statements(all: &[Tested], next: String) -> Head {
    let count = |standing| all.iter().filter(|said| said.standing == standing).count();
    let [holds, not, open] =
        [StatementVerdict::Holds, StatementVerdict::DoesNotHold, StatementVerdict::CannotBeTold].map(count);
    let (fitness, word) = match (holds, not) {
        (0, 0) => (Fitness::CannotTell, "CANNOT TELL"),
        (_, 0) if open == 0 => (Fitness::Good, "ALL HOLD"),
        (0, _) => (Fitness::Unfit, "NONE HOLDS"),
        _ => (Fitness::Limited, "SOME HOLD"),
    };
    let deciding = [StatementVerdict::DoesNotHold, StatementVerdict::CannotBeTold, StatementVerdict::Holds];
    let deciding = deciding.iter().find_map(|standing| all.iter().find(|said| said.standing == *standing));
    let decided = deciding.map_or_else(
        || "Nothing was measured.".into(),
        |said| format!("{}: {} ({}).", said.says, said.standing.words(), said.numbers),
    );
    let do_not = if not == 1 { "does" } else { "do" };
    Head {
        fitness,
        asked: false,
        verdict: format!(
            "{word}: of {}, {holds} hold{} here, {not} {do_not} not, {open} cannot be told.",
            plural(all.len() as u64, "statement"),
            if holds == 1 { "s" } else { "" },
        ),
        number: decided,
        next,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reproduction;
    use super::*;
    use crate::athlon::{AthlonReproduction, matrix};
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_model::SystemFacts;
    use jitterlab_report::document::Present;

    fn head(found: &AthlonReproduction) -> Head {
        Reproduction::new("athlon".as_ref(), found, found.evidence()).unwrap().head().unwrap()
    }

    fn athlon(left: usize, today: Matrix) -> Head {
        head(&AthlonReproduction { left, ..AthlonReproduction::new(SystemFacts::default(), today) })
    }

    #[test]
    fn statements_are_counted_and_what_does_not_hold_decides() {
        let said = |standing| Tested {
            item: "so".into(),
            says: "it is so".into(),
            standing,
            numbers: "1 of 2".into(),
            values: Default::default(),
        };
        let of = |standings: &[StatementVerdict]| {
            let all: Vec<Tested> = standings.iter().map(|standing| said(*standing)).collect();
            let head = of_statements(&all, "sleep".into());
            (head.fitness, head.verdict + "\n" + &head.number)
        };
        let (yes, no, open) =
            (StatementVerdict::Holds, StatementVerdict::DoesNotHold, StatementVerdict::CannotBeTold);
        assert_eq!(
            of(&[yes, no, open, yes]),
            (
                Fitness::Limited,
                "SOME HOLD: of 4 statements, 2 hold here, 1 does not, 1 cannot be told.\nit is so: DOES NOT HOLD (1 of 2)."
                    .into()
            )
        );
        assert_eq!(of(&[yes, yes]).0, Fitness::Good);
        assert!(
            of(&[yes, open]).1.starts_with("SOME HOLD: of 2 statements, 1 holds here, 0 do not, 1 cannot")
        );
        assert!(of(&[no, open]).1.starts_with("NONE HOLDS"));
        assert_eq!(of(&[open]).0, Fitness::CannotTell);
        assert!(of(&[]).1.ends_with("Nothing was measured."));
    }

    #[test]
    fn the_athlon_report_holds_on_its_own_numbers_as_far_as_it_gives_any() {
        let whole = athlon(0, matrix());
        assert_eq!(whole.verdict, "SOME HOLD: of 4 statements, 3 hold here, 0 do not, 1 cannot be told.");
        let decides =
            "reading /proc during the run harms the base thread: cannot be told (here: nothing was measured;";
        assert!(whole.number.starts_with(decides), "{}", whole.number);
        let found = AthlonReproduction::new(SystemFacts::default(), matrix()).in_turns(7_000);
        let turns = head(&found);
        assert_eq!(turns.verdict, "SOME HOLD: of 4 statements, 1 holds here, 0 do not, 3 cannot be told.");
        assert!(athlon(3, Matrix::default()).next.starts_with("the same again, for the 3 cells left"));
        assert_eq!(athlon(3, Matrix::default()).fitness, Fitness::CannotTell);
    }
}
