//! The tables of "xenomai-user threads (Athlon)" (LinuxCNC wiki, Kent, 12 November 2012): largest period error ("max jitter") of a servo thread of 1 ms
//! and a base thread of 25 us on an Athlon II X4 640 under Xenomai, CPUs 2 and 3 isolated, two minutes for each pair of CPUs.

use jitterlab_model::{CpuSet, LoadRun, SystemFacts, TaskSpec};
use serde::{Deserialize, Serialize};

use crate::paper::Paper;
use crate::statement::{Evidence, Values};

use jitterlab_analysis::matrix::{
    Answer, CellMeasurement, CellStatistic, CellTiming, Matrix, Observation, condition_effect, exceptions,
    same_cpu,
};

/// Name of the condition without load, the report's test series 1.
pub const NO_LOAD: &str = "none";
/// Name of the condition with CPU hogs on CPUs 0 and 1, the report's test series 2.
pub const HOGS: &str = "hog@0-1";

/// Name of the condition of the report's note: a program reads the kernel's figures while the threads run.
pub const READING: &str = "proc";
/// Range to which the base thread's period error then "typically jumps", from below 10 us, according to the
/// report; it gives no table.
pub const READING_NS: (i64, i64) = (250_000, 350_000);

/// A test series of the report: base CPU, servo CPU, largest period error of the servo and of the base thread in microseconds.
#[derive(Deserialize)]
struct Series {
    load: String,
    cells: Vec<(u16, u16, f64, f64)>,
}

/// Both series as a matrix with one repetition. The report gives the largest period error only.
pub fn matrix() -> Matrix {
    #[derive(Default, Deserialize)]
    struct Printed {
        series: Vec<Series>,
    }
    let timing = |us: f64| CellTiming { period_error_ns: Some(us * 1e3), ..CellTiming::default() };
    let measurements =
        Paper::Athlon.read::<Printed>().series.into_iter().flat_map(|Series { load, cells }| {
            cells.into_iter().map(move |(base, servo, servo_us, base_us)| CellMeasurement {
                cpus: vec![servo, base],
                condition: load.clone(),
                repetition: 0,
                tasks: vec![timing(servo_us), timing(base_us)],
            })
        });
    Matrix { tasks: vec!["servo".into(), "base".into()], measurements: measurements.collect() }
}

/// The report's tables measured again on this machine, and its observations tested on both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AthlonReproduction {
    pub machine: SystemFacts,
    pub tasks: Vec<TaskSpec>,
    /// Length of each cell.
    pub duration_ns: i64,
    /// Number of measurements of each cell.
    pub repetitions: u32,
    /// The report's hog on a processor of its own; `None` where it was not measured.
    pub hog: Option<LoadRun>,
    /// The longest turn of emulated processors that share counted time; `None` where the processors are real.
    pub turn_ns: Option<i64>,
    /// Cells that an interrupted measurement left; another call measures them.
    pub left: usize,
    pub printed: Matrix,
    /// Results measured here.
    pub today: Matrix,
    pub observations: Vec<Compared>,
    /// CPUs that are an exception to the first observation, as CPU 0 was in the report.
    pub exceptions: Exceptions,
}

/// One of the report's observations, tested on its numbers and on today's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    pub asked: Asked,
    /// Answer from the report's numbers; `None` if it gives none.
    pub printed: Option<Observation>,
    /// Answer from today's numbers; `None` if nothing was measured.
    pub today: Option<Observation>,
    /// True if emulated processors that take turns favour today's answer, so that it may come from the turns
    /// alone.
    pub turns_decide: bool,
}

/// Question behind an observation of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// Is it better to have both threads on one CPU?
    SameCpu,
    /// Is it also better with CPU hogs?
    SameCpuWithHogs,
    /// Do CPU hogs help?
    Hogs,
    /// Does reading `/proc` during the run harm the base thread?
    ReadingProc,
}

/// CPUs that are exceptions among the same-CPU cells without load, each with its factor against the others;
/// `None` with fewer than three CPUs, where none can be one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exceptions {
    /// Exceptions in the report.
    pub printed: Option<Vec<(u16, f64)>>,
    pub today: Option<Vec<(u16, f64)>>,
}

impl AthlonReproduction {
    /// Tests the observations on the measurements on `machine`: each cell `repetitions` times for
    /// `duration_ns`, with `left` cells missing.
    pub fn new(
        machine: SystemFacts,
        tasks: Vec<TaskSpec>,
        duration_ns: i64,
        repetitions: u32,
        left: usize,
        today: Matrix,
    ) -> Self {
        let printed = matrix();
        let asked = [Asked::SameCpu, Asked::SameCpuWithHogs, Asked::Hogs, Asked::ReadingProc];
        let observations = asked.map(|asked| Compared {
            asked,
            printed: asked.answer(&printed),
            today: asked.answer(&today),
            turns_decide: false,
        });
        let exceptions = Exceptions { printed: standing_out(&printed), today: standing_out(&today) };
        AthlonReproduction {
            machine,
            tasks,
            duration_ns,
            repetitions,
            hog: None,
            turn_ns: None,
            left,
            observations: observations.into(),
            exceptions,
            printed,
            today,
        }
    }

    /// The same for emulated processors that take turns of this length on a common clock.
    #[must_use]
    pub fn in_turns(mut self, turn_ns: i64) -> Self {
        self.turn_ns = Some(turn_ns);
        for compared in &mut self.observations {
            let answer = compared.today.as_ref().map(|today| today.answer);
            compared.turns_decide = answer.is_some_and(|answer| compared.asked.is_what_turns_do(answer));
        }
        self
    }

    /// Evidence on the report's observations, all of them confirmed by its own numbers.
    pub fn evidence(&self) -> Vec<Evidence> {
        let one = |compared: &Compared| {
            let holds = match compared.today.as_ref().map(|today| today.answer) {
                _ if compared.turns_decide => None,
                Some(Answer::Yes | Answer::Little) => Some(true),
                Some(Answer::No | Answer::Opposite) => Some(false),
                Some(Answer::CannotTell) | None => None,
            };
            let here = Values::Observed(Box::new(compared.today.clone()));
            Evidence::answered(compared.asked.statement(), holds).and("here", here)
        };
        let user = self.hog.as_ref().map(|hog| hog.user_share());
        let usage = user.map(|user| Evidence::decided_by("usage", "user", user));
        self.observations.iter().map(one).chain(usage).collect()
    }

    /// The isolated CPUs of this machine.
    pub fn isolated(&self) -> Option<&CpuSet> {
        self.machine.isolation.isolated.as_ref().filter(|cpus| !cpus.is_empty())
    }
}

impl Asked {
    /// Answer from a table; `None` if the table has not the cells for it.
    fn answer(self, matrix: &Matrix) -> Option<Observation> {
        let error = CellStatistic::PeriodError;
        match self {
            Asked::SameCpu => same_cpu(matrix, NO_LOAD, error),
            Asked::SameCpuWithHogs => same_cpu(matrix, HOGS, error),
            Asked::Hogs => condition_effect(matrix, (NO_LOAD, HOGS), &[0, 1], error, true),
            Asked::ReadingProc => condition_effect(matrix, (NO_LOAD, READING), &[1], error, false),
        }
    }
}

impl Asked {
    /// Name of the report's statement.
    fn statement(self) -> &'static str {
        match self {
            Asked::SameCpu => "same-cpu",
            Asked::SameCpuWithHogs => "same-cpu-with-hogs",
            Asked::Hogs => "hogs",
            Asked::ReadingProc => "proc",
        }
    }

    /// True if processors that take turns give this answer even without an effect: any work on another
    /// processor, the other task or a load, makes a task wait.
    fn is_what_turns_do(self, answer: Answer) -> bool {
        match self {
            Asked::SameCpu | Asked::SameCpuWithHogs | Asked::ReadingProc => {
                matches!(answer, Answer::Yes | Answer::Little)
            }
            Asked::Hogs => answer == Answer::Opposite,
        }
    }
}

fn standing_out(matrix: &Matrix) -> Option<Vec<(u16, f64)>> {
    (matrix.cpus_of(0).len() >= 3).then(|| exceptions(matrix, NO_LOAD, CellStatistic::PeriodError))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::matrix::{Effect, recommend};

    #[test]
    fn the_report_s_observations_hold_on_its_own_numbers() {
        let of = |today| AthlonReproduction::new(SystemFacts::default(), Vec::new(), 1, 3, 0, today);
        let same = of(matrix());
        let answers: Vec<_> =
            same.observations.iter().map(|o| o.printed.as_ref().map(|found| found.answer)).collect();
        assert_eq!(answers, [Some(Answer::Yes), Some(Answer::Yes), Some(Answer::Little), None]);
        assert!(same.observations.iter().all(|o| o.printed == o.today));
        assert_eq!(same.exceptions.printed.as_deref().map(|found| found[0].0), Some(0));
        let nothing = of(Matrix::default());
        assert!(nothing.observations.iter().all(|o| o.today.is_none()));
        assert_eq!(nothing.exceptions.today, None);
        // Turns make tasks apart wait, so "better together" may be theirs; that hogs help they do not do.
        assert!(same.observations.iter().all(|o| !o.turns_decide));
        let turns: Vec<bool> = same.in_turns(7_000).observations.iter().map(|o| o.turns_decide).collect();
        assert_eq!(turns, [true, true, false, false]);
    }

    #[test]
    fn the_report_s_author_is_confirmed() {
        let m = matrix();
        for condition in ["none", "hog@0-1"] {
            let same = same_cpu(&m, condition, CellStatistic::PeriodError).unwrap();
            assert_eq!(same.answer, Answer::Yes, "{same:?}");
            assert!(same.factor < 0.6 && same.p < 0.01, "{same:?}");
        }
        let hogs =
            condition_effect(&m, ("none", "hog@0-1"), &[0, 1], CellStatistic::PeriodError, true).unwrap();
        assert_eq!((hogs.answer, hogs.values), (Answer::Little, 32), "{hogs:?}");
        let Effect::Condition { change_ns, .. } = hogs.effect else { panic!("{hogs:?}") };
        assert!(hogs.factor > 0.8 && (-1_150.0..=-1_050.0).contains(&change_ns), "{change_ns}");
        for condition in ["none", "hog@0-1"] {
            let found = exceptions(&m, condition, CellStatistic::PeriodError);
            assert_eq!(found.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), [0], "{condition}");
            assert!(found[0].1 > 1.5);
        }
        let r = recommend(&m, None).unwrap();
        assert!(r.cpus == [2, 2] || r.cpus == [3, 3], "{:?}", r.cpus);
        assert_eq!((r.probability, r.statistic), (None, CellStatistic::PeriodError));
        // In each row and column of the servo's table the diagonal is the lowest.
        for cpu in 0..4u16 {
            let at = |servo, base| m.joint(&[servo, base], "none", 0, CellStatistic::PeriodError).unwrap();
            assert!((0..4).all(|other| at(cpu, cpu) <= at(cpu, other) && at(cpu, cpu) <= at(other, cpu)));
        }
        // Beside hogs the base thread's is the lowest of its row on CPUs 1 and 3 alone.
        let base = |row: u16, servo: u16| {
            m.cell(&[servo, row], "hog@0-1").next().unwrap().tasks[1].period_error_ns.unwrap()
        };
        let lowest: Vec<u16> =
            (0..4).filter(|&row| (0..4).all(|servo| base(row, row) <= base(row, servo))).collect();
        assert_eq!(lowest, [1, 3]);
        // Two processors alone decide nothing.
        let mut two = matrix();
        two.measurements.retain(|m| m.cpus.iter().all(|cpu| *cpu < 2));
        let same = same_cpu(&two, "none", CellStatistic::PeriodError).unwrap();
        assert_eq!((same.answer, same.interval), (Answer::CannotTell, None));
    }
}
