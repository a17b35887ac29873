//! The head of a source document's repetition: number of its statements that hold here, the deciding number,
//! the next step.

use crate::statement::StatementVerdict;
use jitterlab_model::Fitness;

use super::statements::{Tested, outcome};
use super::{Found, Reproduction};
use jitterlab_report::head::Head;
use jitterlab_report::words::plural;

/// The head of a repetition.
pub(crate) fn build(reproduction: &Reproduction) -> Head {
    let next = match &reproduction.found {
        Found::Athlon(athlon) => match athlon.left {
            0 => "jitterlab matrix (which CPUs to take here)".into(),
            cells => format!("the same again, for the {} left", plural(cells as u64, "cell")),
        },
        Found::Epos(_) => {
            "jitterlab mcu recommend --need PERIOD:TOLERANCE (which strategy keeps your periods)".into()
        }
        Found::EposVirtual(_) => "jitterlab reproduce epos (the paper's table and figures)".into(),
        Found::Nist(_) => virtually("nist"),
        Found::NistVirtual(_) => here("nist"),
        Found::Twente(twente) if twente.loops.in_virtual_time => here("twente"),
        Found::Twente(_) => virtually("twente"),
    };
    tested(&reproduction.statements, next)
}

fn virtually(document: &str) -> String {
    format!("jitterlab reproduce {document} --virtual (on an ordinary and a real-time kernel)")
}

fn here(document: &str) -> String {
    format!("jitterlab reproduce {document} (on this machine)")
}

/// Number of statements that hold, and the first that does not, else the first undecided one, else the first.
fn tested(all: &[Tested], next: String) -> Head {
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
    let decided =
        deciding.map_or_else(|| "Nothing was measured.".into(), |said| format!("{}.", outcome(said)));
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
    use super::*;
    use crate::claims::athlon::{AthlonReproduction, matrix};
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_model::SystemFacts;

    fn head(found: Found) -> Head {
        build(&Reproduction::new("athlon".into(), found))
    }

    fn athlon(left: usize, today: Matrix) -> Head {
        let found = AthlonReproduction::new(SystemFacts::default(), Vec::new(), 1, 3, left, today);
        head(Found::Athlon(Box::new(found)))
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
            let head = tested(&all, "sleep".into());
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
        assert_eq!(
            whole.number,
            "reading /proc during the run harms the base thread: cannot be told (nothing was measured)."
        );
        let found =
            AthlonReproduction::new(SystemFacts::default(), Vec::new(), 1, 1, 0, matrix()).in_turns(7_000);
        let turns = head(Found::Athlon(Box::new(found)));
        assert_eq!(turns.verdict, "SOME HOLD: of 4 statements, 1 holds here, 0 do not, 3 cannot be told.");
        assert!(athlon(3, Matrix::default()).next.starts_with("the same again, for the 3 cells left"));
        assert_eq!(athlon(3, Matrix::default()).fitness, Fitness::CannotTell);
    }
}
