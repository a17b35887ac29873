//! "xenomai-user threads (Athlon)" (LinuxCNC wiki, Kent, 12 November 2012): largest period error ("max jitter") of a servo thread
//! of 1 ms and a base thread of 25 us on an Athlon II X4 640 under Xenomai, CPUs 2 and 3 isolated, two minutes for each pair of
//! CPUs, idle, with CPU hogs, and while a program reads the kernel's figures. Measured again here, and on four emulated processors.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Reproducer;
use crate::error::path_in_the_way_error;
use crate::measure::save_run;
use crate::paper::Paper;
use crate::statement::Evidence;
use crate::systems::{Kernels, System};
use crate::words::Reproduction;
use jitterlab_analysis::matrix::{
    Answer, CellMeasurement, CellSetting, CellStatistic, CellTiming, Matrix, MatrixIndex, Observation,
    condition_effect, outlier_cpus, propose, same_cpu_effect,
};
use jitterlab_host::Experiment;
use jitterlab_host::facts::{self, Root};
use jitterlab_host::load::parse_loads;
use jitterlab_host::matrix as cells;
use jitterlab_kernel::Machine;
use jitterlab_kernel::job::Step;
use jitterlab_kernel::machine::TIME_SLICE_NS;
use jitterlab_kernel::session::jitterlab_run_step;
use jitterlab_model::units::Exact;
use jitterlab_model::{CpuSet, Error, LoadRun, LoadSpec, Policy, SystemFacts, TaskSpec, WakeMethod};
use jitterlab_report::matrix::{cpu_choice_sentence, observation_sentence};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::FinishedParts;

/// Name of the condition without load, the report's test series 1.
pub const NO_LOAD: &str = "none";
/// Name of the condition with CPU hogs on CPUs 0 and 1, the report's test series 2.
pub const HOGS: &str = "hog@0-1";

/// Name of the condition of the report's note: a program reads the kernel's figures while the threads run.
pub const READING: &str = "proc";
/// Measurements of each cell here. The report made one; a spread needs more.
pub const REPETITIONS: u32 = 3;

/// Base CPU, servo CPU, largest period error of the servo and of the base thread in microseconds.
#[derive(Deserialize)]
struct PrintedSeries {
    load: String,
    cells: Vec<(u16, u16, f64, f64)>,
}

/// The report's two printed series as a matrix: one repetition, the largest period error of each cell.
pub fn printed_matrix() -> Matrix {
    let timing = |us: f64| CellTiming { period_error_ns: Some(us * 1e3), ..CellTiming::default() };
    let of_series = |PrintedSeries { load, cells }: PrintedSeries| {
        cells.into_iter().map(move |(base, servo, servo_us, base_us)| CellMeasurement {
            cpus: vec![servo, base],
            condition: load.clone(),
            repetition: 0,
            tasks: vec![timing(servo_us), timing(base_us)],
        })
    };
    let series: Vec<PrintedSeries> = Paper::Athlon.data_part("series");
    let measurements = series.into_iter().flat_map(of_series).collect();
    Matrix { tasks: vec!["servo".into(), "base".into()], measurements }
}

/// The report's tables measured again on this machine, and its observations tested on both.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct AthlonReproduction {
    pub machine: SystemFacts,
    pub tasks: Vec<TaskSpec>,
    pub duration_ns: i64,
    /// The report's hog on a processor of its own; `None` where it was not measured.
    pub hog: Option<LoadRun>,
    /// Share of its time that the hog's processor was idle without load; `None` where it was not measured.
    pub idle: Option<f64>,
    /// The longest time slice of emulated processors that share counted time; `None` where the processors are real.
    pub turn_ns: Option<i64>,
    /// Cells that an interrupted measurement left; another call measures them.
    pub left: usize,
    pub printed: Matrix,
    pub today: Matrix,
    pub observations: Vec<ComparedObservation>,
    pub printed_exceptions: OutlierCpus,
    pub exceptions: OutlierCpus,
}

/// An observation of the report, tested on its printed numbers and on today's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedObservation {
    pub statement: &'static str,
    pub printed: Option<Observation>,
    pub today: Option<Observation>,
    /// True if time slices of emulated processors favour today's answer, and may be all that is behind it.
    pub turns_decide: bool,
}

/// CPUs that are exceptions among the same-CPU cells without load, as CPU 0 was in the report, each with its factor against the
/// others; `None` with fewer than three CPUs, where none can be one.
pub type OutlierCpus = Option<Vec<(u16, f64)>>;

/// An observation of the report: its statement, its answer from a table, `None` if that has not the cells for it, and the answers
/// that time slices give even without an effect: any work on another processor makes a task wait.
type ObservationTest = (&'static str, fn(&Matrix) -> Option<Observation>, &'static [Answer]);

const ERROR: CellStatistic = CellStatistic::PeriodError;

const OBSERVATIONS: [ObservationTest; 4] = [
    ("same-cpu", |of| same_cpu_effect(of, NO_LOAD, ERROR), &[Answer::Yes, Answer::Little]),
    ("same-cpu-with-hogs", |of| same_cpu_effect(of, HOGS, ERROR), &[Answer::Yes, Answer::Little]),
    ("hogs", |of| condition_effect(of, (NO_LOAD, HOGS), &[0, 1], ERROR, true), &[Answer::Opposite]),
    (
        "proc",
        |of| condition_effect(of, (NO_LOAD, READING), &[1], ERROR, false),
        &[Answer::Yes, Answer::Little],
    ),
];

impl AthlonReproduction {
    /// Tests the observations on the measurements on `machine`; `turn_ns` is the time slice of emulated processors.
    pub fn new(machine: SystemFacts, today: Matrix, turn_ns: Option<i64>) -> Self {
        let printed = printed_matrix();
        let observations = OBSERVATIONS.map(|(statement, answer, of_time_slices)| {
            let found = answer(&today);
            let may_be_slices = found.as_ref().is_some_and(|found| of_time_slices.contains(&found.answer));
            let turns_decide = turn_ns.is_some() && may_be_slices;
            ComparedObservation { statement, printed: answer(&printed), today: found, turns_decide }
        });
        AthlonReproduction {
            machine,
            turn_ns,
            observations: observations.into(),
            printed_exceptions: pair_outliers(&printed),
            exceptions: pair_outliers(&today),
            printed,
            today,
            ..AthlonReproduction::default()
        }
    }

    /// Evidence on the report's observations, and on what it says of its tables.
    pub fn evidence(&self) -> Vec<Evidence> {
        let one = |compared: &ComparedObservation| {
            let holds = match compared.today.as_ref().map(|today| today.answer) {
                _ if compared.turns_decide => None,
                Some(Answer::Yes | Answer::Little) => Some(true),
                Some(Answer::No | Answer::Opposite) => Some(false),
                Some(Answer::CannotTell) | None => None,
            };
            let [here, report] = [&compared.today, &compared.printed].map(|of| observation_text(of.as_ref()));
            let values = json!({ "holds": holds, "here": here, "report": report });
            Evidence::new(compared.statement, "holds", values)
        };
        let user = self.hog.as_ref().map(|hog| json!({ "user": hog.user_share() }));
        let usage = user.map(|user| Evidence::new("usage", "user", user));
        let idle = self.idle.map(|idle| Evidence::new("idle", "idle", json!({ "idle": idle })));
        let mut all: Vec<Evidence> = self.observations.iter().map(one).chain(usage).chain(idle).collect();
        if !self.today.measurements.is_empty() {
            all.extend(self.table_evidence());
        }
        all
    }

    /// Evidence on the tables: errors on one CPU against those on two, and against RTAI's.
    fn table_evidence(&self) -> impl Iterator<Item = Evidence> {
        let same = |servo: u16, base: u16| servo == base;
        let apart = |servo: u16, base: u16| servo != base;
        let [on, off] = [mean_errors(&self.printed, same), mean_errors(&self.printed, apart)];
        let ratios: Vec<_> = on.iter().zip(&off).map(|(on, off)| Some((*on)? / (*off)?)).collect();
        let [here_on, here_off] = [mean_errors(&self.today, same), mean_errors(&self.today, apart)];
        let diagonal =
            json!({ "ratios": ratios, "on": on, "off": off, "here_on": here_on, "here_off": here_off });
        let diagonal = Evidence::new("diagonal", "ratios", diagonal);
        Some(diagonal).into_iter().chain(Paper::Athlon.printed_evidence("as-good-as-rtai"))
    }
}

const SERIES: [&str; 2] = [NO_LOAD, HOGS];

/// Largest period errors of a task in the cells of a series whose servo and base CPU `are` accepts.
fn period_errors(matrix: &Matrix, series: &str, task: usize, are: impl Fn(u16, u16) -> bool) -> Vec<f64> {
    let cells = matrix.measurements.iter().filter(|cell| cell.condition == series);
    let cells = cells.filter(|cell| matches!(cell.cpus[..], [servo, base] if are(servo, base)));
    cells.filter_map(|cell| cell.tasks.get(task)?.period_error_ns).collect()
}

/// Mean largest period errors where `are` accepts the CPUs: servo and base without load, then with hogs.
fn mean_errors(matrix: &Matrix, are: impl Fn(u16, u16) -> bool) -> Vec<Option<f64>> {
    let each = SERIES.into_iter().flat_map(|series| [0, 1].map(|task| (series, task)));
    let values = each.map(|(series, task)| period_errors(matrix, series, task, &are));
    values.map(|all| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)).collect()
}

fn observation_text(answer: Option<&Observation>) -> String {
    answer
        .map_or_else(|| "nothing was measured".into(), |of| observation_sentence("", of).trim_start().into())
}

/// CPUs that stand out in the same-CPU cells without load; `None` with fewer than three CPUs.
fn pair_outliers(matrix: &Matrix) -> OutlierCpus {
    (matrix.cpus_of(0).len() >= 3).then(|| outlier_cpus(matrix, NO_LOAD, ERROR))
}

/// Number of pairs of CPUs of the report's machine.
const PAIRS: usize = 16;

/// Measures the missing cells of the report on this machine, and writes the results.
pub fn reproduce(at: &mut Reproducer<'_>) -> Result<Reproduction, Error> {
    let guest = at.run_file(GUEST);
    if guest.exists() {
        // Cells of emulated processors, which are no part of this machine's.
        return Err(path_in_the_way_error(&guest));
    }
    let machine = facts::read(&Root::system());
    let mut index = match cells::read_index(at.directory)? {
        Some(index) => index,
        None => plan_cells(at, &machine)?,
    };
    let (folder, interrupted) = (at.directory, at.interrupted);
    let mut progress = at.step_announcer();
    let mut experiment = Experiment::new(FinishedParts::without_file(), &mut progress, interrupted);
    cells::measure_cells(&mut index, folder, &mut experiment)?;
    drop(progress);
    let (hog, idle) = run_hog(at, &machine)?;
    save(
        at,
        AthlonReproduction { hog, idle, ..AthlonReproduction::new(machine, index.matrix(), None) },
        index,
    )
}

/// Writes the results, with the settings of the cells and the number of those that are left.
fn save(at: &Reproducer<'_>, found: AthlonReproduction, index: MatrixIndex) -> Result<Reproduction, Error> {
    let (left, duration_ns) = (index.cells_left(), index.duration_ns);
    let found = AthlonReproduction { tasks: index.tasks, duration_ns, left, ..found };
    at.write_results(&found, found.evidence())
}

fn hog_load(cpu: u16) -> Result<Vec<LoadSpec>, Error> {
    parse_loads(&format!("exec:while true; do echo \"nothing\" > /dev/null; done@{cpu}"))
}

/// Measures idle and with the report's hog; returns the hog's load and the idle share, `None` with one CPU.
fn run_hog(at: &mut Reproducer<'_>, facts: &SystemFacts) -> Result<(Option<LoadRun>, Option<f64>), Error> {
    let mut usable = facts.usable_cpus().iter().collect::<Vec<_>>().into_iter();
    let (Some(hogged), Some(other)) = (usable.next(), usable.next()) else { return Ok((None, None)) };
    let task =
        TaskSpec { name: "servo".into(), period_ns: 1_000_000, cpu: Some(other), ..TaskSpec::default() };
    let loads = hog_load(hogged)?;
    let words: Vec<String> = loads.iter().map(ToString::to_string).collect();
    let idle = at.measure("idle", vec![task.clone()], NO_LOAD, at.duration_ns)?;
    let hog = at.measure("hog", vec![task], &words.join(" "), at.duration_ns)?;
    let idle = Run::open(&idle, &Hints::default())?;
    let idle = idle_share(idle.info().facts_before.as_ref(), idle.info().facts_after.as_ref(), hogged);
    Ok((Run::open(&hog, &Hints::default())?.info().loads.first().cloned(), idle))
}

/// Share of the time between two readings that a processor was idle; `None` if its times were not counted.
fn idle_share(before: Option<&SystemFacts>, after: Option<&SystemFacts>, cpu: u16) -> Option<f64> {
    let times = |facts: Option<&SystemFacts>| facts?.cpus.iter().find(|of| of.id == cpu)?.times;
    times(after)?.share_since(&times(before)?, |times| times.idle_ns)
}

/// Plans the cells of the report's threads on a machine's CPUs; announces the choice where these are not all.
fn plan_cells(at: &mut Reproducer<'_>, facts: &SystemFacts) -> Result<MatrixIndex, Error> {
    let usable = facts.usable_cpus();
    if usable.len() < 2 {
        return Err(Error::bad_use(
            "this machine has one CPU: there are no pairs to compare. `jitterlab run` \
             measures it",
        ));
    }
    let chosen = propose(facts, &usable, 2, PAIRS);
    if chosen.omits_cpus() {
        (at.announce)(&cpu_choice_sentence(&chosen, "`jitterlab matrix` takes others"));
    }
    // CPUs of the report's hogs: two of those that the system may use.
    let open = Some(usable.without(&facts.isolation.isolated.clone().unwrap_or_default()))
        .filter(|open| !open.is_empty())
        .unwrap_or(usable);
    let hogs: Result<Vec<_>, Error> = open.iter().take(2).map(hog_load).collect();
    let setting = |name: &str, loads| CellSetting { name: name.into(), loads, isolate: None };
    let settings = vec![
        setting(NO_LOAD, parse_loads("none")?),
        setting(HOGS, hogs?.into_iter().flatten().collect()),
        setting(READING, parse_loads(&format!("proc@{open}"))?),
    ];
    // The report's threads ran under Xenomai.
    let wake = System::nearest_to_xenomai(&System::all_of_machine(facts))
        .map_or(WakeMethod::Nanosleep, |system| system.wake);
    Ok(MatrixIndex::new(report_tasks(wake).into(), settings, &chosen.cpus, REPETITIONS, at.duration_ns, 2012))
}

fn report_tasks(wake: WakeMethod) -> [TaskSpec; 2] {
    let task = |name: &str, period_ns: i64, priority: u8| TaskSpec {
        name: name.into(),
        period_ns,
        policy: Some(Policy::Fifo(priority)),
        wake,
        ..TaskSpec::default()
    };
    [task("servo", 1_000_000, 90), task("base", 25_000, 95)]
}

/// Length of a cell on emulated processors where no other is asked for: 4 000 activations of the base thread.
pub const VIRTUAL_CELL_NS: i64 = 100_000_000;
/// The report's processors and the isolated ones among them.
const CPUS: (u16, &str) = (4, "isolcpus=2,3");
/// The steps of the boot: all cells, and a run whose file describes the guest.
const CELLS: &str = "cells";
const GUEST: &str = "guest";

/// Measures the report's cells on four emulated processors, or takes those of an earlier call; writes the results.
/// The kernel is Xenomai's where one is given, else PREEMPT_RT.
pub fn reproduce_in_virtual_time(at: &mut Reproducer<'_>, kernels: &Kernels) -> Result<Reproduction, Error> {
    let file = at.run_file(GUEST);
    let index = match cells::read_index(at.directory)? {
        Some(index) if at.reuse_run_file(&file) => index,
        // Cells of this machine, which took their time.
        Some(_) => return Err(path_in_the_way_error(at.directory)),
        None => measure_cells(at, kernels, &file)?,
    };
    let machine = Run::open(&file, &Hints::default())?.info().facts_before.clone().unwrap_or_default();
    save(at, AthlonReproduction::new(machine, index.matrix(), Some(TIME_SLICE_NS)), index)
}

/// Measures the cells in one boot; writes their index and the guest's run file.
fn measure_cells(at: &mut Reproducer<'_>, kernels: &Kernels, file: &Path) -> Result<MatrixIndex, Error> {
    let (cpus, isolated) = CPUS;
    let system = System::nearest_to_xenomai(&kernels.systems());
    let system = system.ok_or_else(|| Error::defect("no real-time system"))?;
    let tasks = report_tasks(system.wake);
    let mut command: Vec<String> = ["jitterlab", "matrix", "--json"].map(String::from).into();
    let mut option = |name: &str, value: &str| command.extend([name, value].map(String::from));
    option("--output", "/tmp/cells");
    option("--rounds", &REPETITIONS.to_string());
    option("--budget", "24h");
    option("--duration", &Exact(at.duration_ns).to_string());
    option("--cpus", &CpuSet::from_iter(0..cpus).to_string());
    // /proc/xenomai/stat is there under Cobalt alone.
    let reading = (system.wake == WakeMethod::Cobalt).then_some(READING);
    [NO_LOAD, HOGS].into_iter().chain(reading).for_each(|load| option("--load", load));
    tasks.iter().for_each(|task| option("--task", &task.to_string()));
    let described = jitterlab_run_step(GUEST, &["--period", "1ms", "--count", "1"].map(String::from));
    let machine = Machine { cpus, parameters: vec![isolated.into()], ..Machine::default() };
    let steps = vec![described, Step { name: CELLS.into(), command }];
    let kernel = system.kernel.as_ref().unwrap_or(&kernels.preempt_rt);
    let guest = at.boot(system.name, kernel, machine, steps, &tasks)?;
    let said = guest.step_output(CELLS)?;
    let index = parse_cells(said).ok_or_else(|| {
        let line = said.lines().next().unwrap_or_default();
        Error::defect(format!("the guest did not send the cells it measured but {line:?}"))
    })?;
    cells::write_index(&index, at.directory)?;
    save_run(&guest, GUEST, file)?;
    Ok(index)
}

/// The measured cells in the output of `matrix --json`; `None` if it has none.
fn parse_cells(json: &str) -> Option<MatrixIndex> {
    let mut printed: serde_json::Value = serde_json::from_slice(json.as_bytes()).ok()?;
    serde_json::from_value(printed.pointer_mut("/result/index")?.take()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::matrix::{ComparedPair, recommend};
    use jitterlab_model::facts::{Cpu, CpuTimes};

    #[test]
    fn the_report_s_observations_hold_on_its_own_numbers() {
        let of = |today, turn_ns| AthlonReproduction::new(SystemFacts::default(), today, turn_ns);
        let same = of(printed_matrix(), None);
        let answers: Vec<_> =
            same.observations.iter().map(|o| o.printed.as_ref().map(|found| found.answer)).collect();
        assert_eq!(answers, [Some(Answer::Yes), Some(Answer::Yes), Some(Answer::Little), None]);
        assert!(same.observations.iter().all(|o| o.printed == o.today));
        assert_eq!(same.printed_exceptions.as_deref().map(|found| found[0].0), Some(0));
        let nothing = of(Matrix::default(), None);
        assert!(nothing.observations.iter().all(|o| o.today.is_none()));
        assert_eq!(nothing.exceptions, None);
        // Turns make tasks apart wait, so "better together" may be theirs; that hogs help they do not do.
        assert!(same.observations.iter().all(|o| !o.turns_decide));
        let turns: Vec<bool> =
            of(printed_matrix(), Some(7_000)).observations.iter().map(|o| o.turns_decide).collect();
        assert_eq!(turns, [true, true, false, false]);
    }

    #[test]
    fn but_for_cpu_0_the_base_thread_is_worse_than_under_rtai() {
        let but_0 = |servo: u16, base: u16| servo == base && servo != 0;
        let largest = [0, 1].map(|task| {
            let of_series = SERIES.map(|series| period_errors(&printed_matrix(), series, task, but_0));
            of_series.into_iter().flatten().reduce(f64::max).unwrap()
        });
        let own = Paper::Athlon.printed_evidence("as-good-as-rtai").unwrap().values;
        assert_eq!(["servo", "base"].map(|name| own[name].as_f64().unwrap()), largest);
        for (number, ns) in largest.into_iter().enumerate() {
            let against = ns / [4_400.0, 2_400.0][number];
            assert!((own["against"][number].as_f64().unwrap() - against).abs() < 0.005, "{against}");
        }
    }

    #[test]
    fn a_processor_is_idle_for_what_its_times_say() {
        let facts = |user_ns, idle_ns| {
            let times = Some(CpuTimes { user_ns, idle_ns, ..CpuTimes::default() });
            let cpus = vec![Cpu { times, ..Cpu::default() }];
            SystemFacts { cpus, ..SystemFacts::default() }
        };
        let (before, after) = (facts(5, 10), facts(6, 29));
        let share = |after, cpu| idle_share(Some(&before), after, cpu);
        assert_eq!(share(Some(&after), 0), Some(0.95));
        assert_eq!([share(Some(&after), 1), share(Some(&before), 0), share(None, 0)], [None; 3]);
    }

    #[test]
    fn the_report_s_author_is_confirmed() {
        let m = printed_matrix();
        for condition in ["none", "hog@0-1"] {
            let same = same_cpu_effect(&m, condition, CellStatistic::PeriodError).unwrap();
            assert_eq!(same.answer, Answer::Yes, "{same:?}");
            assert!(same.factor < 0.6 && same.p < 0.01, "{same:?}");
        }
        let hogs =
            condition_effect(&m, ("none", "hog@0-1"), &[0, 1], CellStatistic::PeriodError, true).unwrap();
        assert_eq!((hogs.answer, hogs.values), (Answer::Little, 32), "{hogs:?}");
        let ComparedPair::Condition { change_ns, .. } = hogs.effect else { panic!("{hogs:?}") };
        assert!(hogs.factor > 0.8 && (-1_150.0..=-1_050.0).contains(&change_ns), "{change_ns}");
        for condition in ["none", "hog@0-1"] {
            let found = outlier_cpus(&m, condition, CellStatistic::PeriodError);
            assert_eq!(found.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), [0], "{condition}");
            assert!(found[0].1 > 1.5);
        }
        let r = recommend(&m, None).unwrap();
        assert!(r.cpus == [2, 2] || r.cpus == [3, 3], "{:?}", r.cpus);
        assert_eq!((r.probability, r.statistic), (None, CellStatistic::PeriodError));
        // In each row and column of the servo's table the diagonal is the lowest.
        for cpu in 0..4u16 {
            let at = |servo, base| {
                m.over_repetitions(&[servo, base], "none", 0, CellStatistic::PeriodError).unwrap()
            };
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
        let mut two = printed_matrix();
        two.measurements.retain(|m| m.cpus.iter().all(|cpu| *cpu < 2));
        let same = same_cpu_effect(&two, "none", CellStatistic::PeriodError).unwrap();
        assert_eq!((same.answer, same.interval), (Answer::CannotTell, None));
    }
}
