//! The answer about a fleet: which machines are fit, what a change did to which class, which machine comes next.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_analysis::Verdict;
use jitterlab_analysis::purposes::Purpose;
use jitterlab_analysis::verdict::PurposeVerdict;
use jitterlab_model::{Bench, Error, Fitness, RunInfo};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::overlaps::Overlaps;
use crate::queries::{
    BINNED, ENVIRONMENTS, EnvironmentRow, FIGURES, FigureRow, LEADING, LeadingRow, MACHINES, QUANTILES,
    QuantileRow, Question, Response, SHIFTS, ShiftRow,
};
use crate::rows::MachineRow;
use crate::statistics::{GammaRates, GroupChange, ShiftShare, group_change};
use crate::sums::TaskSum;

/// Label by which the user says what hardware a machine is of.
const CLASS_LABEL: &str = "class";

/// The answer about a fleet.
#[derive(Debug, Clone, Serialize)]
pub struct FleetAnswer {
    /// The purpose that was asked for.
    pub purpose: Option<String>,
    /// Every machine, the worst first.
    pub machines: Vec<MachineAnswer>,
    /// Effects of changes of the kernel.
    #[serde(flatten)]
    pub changes: Changes,
    /// Files that the answer does not rest on, each with the reason.
    pub left_out: Vec<String>,
    /// Corrections that keep slices from being counted twice.
    pub overlaps: Overlaps,
    /// Slices without a time: in these sums, and in no day.
    pub without_time: u64,
    pub activations: u64,
    /// The fleet's folder as it was named.
    #[serde(skip)]
    pub folder: String,
}

/// Figures of a machine.
#[derive(Debug, Clone, Serialize)]
pub struct MachineAnswer {
    pub machine: String,
    /// Hardware: the label `class`, or processor and board.
    pub class: String,
    /// The last kernel that it was measured with.
    pub kernel: String,
    pub labels: Map<String, Value>,
    pub fitness: Fitness,
    /// Quantity that decides the fitness.
    pub decided: Option<PurposeVerdict>,
    pub tasks: Vec<TaskAnswer>,
    /// Shifts of eight hours with a start above the purpose's limit, or with missed due times.
    pub shifts: Option<ShiftShare>,
    /// Rate of such shifts that it has at least, by which machines are ranked.
    pub rate: Option<f64>,
    /// The cause that took most of its lateness, with the share of it.
    pub leading: Option<LeadingCause>,
    /// End of its last slice, in seconds of the Unix epoch.
    pub last_s: Option<i64>,
}

/// A cause and its share of a machine's lateness.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeadingCause {
    /// Class of the cause in JSON.
    pub class: String,
    pub who: String,
    pub share: f64,
}

/// Figures of a task of a machine.
#[derive(Debug, Clone, Serialize)]
pub struct TaskAnswer {
    pub task: String,
    pub period_ns: i64,
    /// Activations that ran.
    pub ran: u64,
    /// Due times missed, where that is known.
    pub missed: Option<u64>,
    /// 99.9 % of its latencies are not above it.
    pub p999_ns: Option<i64>,
    /// 99.9 % of its due times are served not later than this.
    pub corrected_p999_ns: Option<i64>,
    pub max_ns: Option<i64>,
}

/// Effects of changes of the kernel on classes of machines.
#[derive(Debug, Clone, Serialize)]
pub struct Changes {
    /// The largest first.
    pub changes: Vec<ChangeAnswer>,
    /// Groups that were compared: one in twenty of those without a change seems to have one.
    pub tests: usize,
    /// Groups of fewer than three machines, of which nothing is said.
    pub too_few: usize,
}

/// Effect of a change on a class of machines.
#[derive(Debug, Clone, Serialize)]
pub struct ChangeAnswer {
    pub class: String,
    pub task: String,
    pub from: String,
    pub to: String,
    pub change: GroupChange,
}

impl FleetAnswer {
    pub const QUESTION: Question = Question {
        steps: &[BINNED],
        queries: &[FIGURES, QUANTILES, ENVIRONMENTS, MACHINES, LEADING, SHIFTS],
    };

    /// Judges the machines by what an engine summed, for one purpose or for all, and sorts the worst first.
    pub fn new(response: &Response, purpose: Option<&Purpose>) -> Result<Self, Error> {
        let answers = &response.answers;
        let figures: Vec<FigureRow> = answers.rows(FIGURES)?;
        let quantiles: Vec<QuantileRow> = answers.rows(QUANTILES)?;
        let leading: Vec<LeadingRow> = answers.rows(LEADING)?;
        let shifts: Vec<ShiftRow> = answers.rows(SHIFTS)?;
        let described = Environments::new(response)?;
        let sums = TaskSum::from_rows(figures.iter().map(|row| row.sum.clone()));
        let without_time =
            figures.iter().filter(|row| row.sum.quantity == 0).map(|row| row.without_time).sum::<i64>();
        let mut machines: Vec<MachineAnswer> = Vec::new();
        for sum in &sums {
            let Some(first) = sum.rows.first() else { continue };
            if machines.last().is_none_or(|last| last.machine != first.machine) {
                machines.push(described.new_answer(&first.machine));
            }
            let quantile =
                quantiles.iter().find(|row| row.machine == first.machine && row.task == first.task);
            if let Some(machine) = machines.last_mut() {
                machine.add_and_judge_task(sum, quantile, purpose);
            }
        }
        for machine in &mut machines {
            let lead = leading.iter().find(|row| row.machine == machine.machine);
            machine.leading = lead.filter(|row| row.total_ns > 0).map(|row| LeadingCause {
                class: row.class.clone(),
                who: row.who.clone(),
                share: row.sum_ns as f64 / row.total_ns as f64,
            });
            machine.shifts = late_shifts(&machine.machine, &shifts, purpose);
        }
        rank_machines(&mut machines);
        Ok(FleetAnswer {
            purpose: purpose.map(|purpose| purpose.name.into()),
            activations: sums.iter().filter_map(|sum| u64::try_from(sum.rows.first()?.count).ok()).sum(),
            machines,
            changes: Changes::from_environments(response, &described)?,
            left_out: response.left_out.clone(),
            overlaps: response.overlaps.clone(),
            without_time: u64::try_from(without_time).unwrap_or_default(),
            folder: response.folder.clone(),
        })
    }

    /// Fitness of the whole fleet: that of its worst machine; undecided machines count only if all are.
    pub fn fitness(&self) -> Fitness {
        let each = self.machines.iter().map(|machine| machine.fitness);
        each.filter(|fitness| *fitness != Fitness::CannotTell).max().unwrap_or(Fitness::CannotTell)
    }
}

/// Key that sorts verdicts, the worst last: an untested purpose counts only if none was tested.
fn severity(fitness: Fitness) -> (bool, Fitness) {
    (fitness != Fitness::CannotTell, fitness)
}

impl MachineAnswer {
    fn add_and_judge_task(
        &mut self,
        sum: &TaskSum,
        quantile: Option<&QuantileRow>,
        purpose: Option<&Purpose>,
    ) {
        let summary = sum.summary();
        let bench =
            if sum.rows.iter().any(|row| row.source == "import") { Bench::Import } else { Bench::Host };
        let mut run = RunInfo::new(bench, "monotonic", []);
        run.tasks.push(sum.task_run());
        if let Some(verdict) = Verdict::from_run(&run, &[(&summary, None)], purpose) {
            // The first of those served worst, as the conclusion of a run has it.
            let decides = verdict.purposes.iter().rev().max_by_key(|of| severity(of.fitness));
            if self.decided.is_none() || severity(verdict.fitness) > severity(self.fitness) {
                self.fitness = verdict.fitness;
                self.decided = decides.cloned();
            }
        }
        let clamped = |ns: Option<i64>, max: Option<i64>| ns.map(|ns| max.map_or(ns, |max| ns.min(max)));
        let max_ns = summary.latency.max_ns;
        let is_corrected = summary.missed.exactly().is_some();
        let of_missed = sum.rows.iter().find(|row| row.quantity == 1).and_then(|row| row.max_ns);
        let due_max_ns = max_ns.max(of_missed);
        self.tasks.push(TaskAnswer {
            task: summary.task,
            period_ns: summary.period_ns,
            ran: summary.executed.exactly().unwrap_or_default(),
            missed: summary.missed.exactly(),
            p999_ns: quantile.and_then(|row| clamped(row.p999_ns, max_ns)),
            corrected_p999_ns: quantile
                .filter(|_| is_corrected)
                .and_then(|row| clamped(row.due_p999_ns, due_max_ns)),
            max_ns,
        });
    }

    /// The largest p99.9 latency of its tasks; `None` if none is known.
    pub fn p999_ns(&self) -> Option<i64> {
        self.tasks.iter().filter_map(|task| task.p999_ns).max()
    }
}

/// Environments of all machines.
struct Environments {
    rows: Vec<MachineRow>,
}

impl Environments {
    /// Environments from the answers of an engine; another machine of the same name gets a copy of its own.
    fn new(response: &Response) -> Result<Self, Error> {
        let mut rows: Vec<MachineRow> = response.answers.rows(MACHINES)?;
        for (machine, env, number) in &response.overlaps.namesakes {
            let of = |row: &&MachineRow| row.machine == *machine && row.env == *env;
            if let Some(row) = rows.iter().find(of).cloned() {
                rows.push(MachineRow { machine: format!("{machine}~{number}"), ..row });
            }
        }
        Ok(Environments { rows })
    }

    fn find(&self, machine: &str, env: &str) -> Option<&MachineRow> {
        self.rows.iter().find(|row| row.machine == machine && row.env == env)
    }

    /// Answer about a machine with its environment, and without figures.
    fn new_answer(&self, name: &str) -> MachineAnswer {
        let rows = self.rows.iter().filter(|row| row.machine == name);
        let last = rows.max_by_key(|row| (row.last_s, &row.env));
        MachineAnswer {
            machine: name.into(),
            class: last.map_or_else(String::new, hardware_class),
            kernel: last.map_or_else(String::new, |row| row.kernel.clone()),
            labels: last.map(parse_labels).unwrap_or_default(),
            fitness: Fitness::CannotTell,
            decided: None,
            tasks: Vec::new(),
            shifts: None,
            rate: None,
            leading: None,
            last_s: last.and_then(|row| row.last_s),
        }
    }
}

fn parse_labels(row: &MachineRow) -> Map<String, Value> {
    serde_json::from_slice(row.labels.as_bytes()).unwrap_or_default()
}

/// Hardware of a machine: the label `class`, or processor and board.
fn hardware_class(row: &MachineRow) -> String {
    if let Some(Value::String(class)) = parse_labels(row).get(CLASS_LABEL) {
        return class.clone();
    }
    let parts = [&row.processor, &row.board].into_iter().filter(|part| !part.is_empty());
    parts.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Share of shifts with starts beyond the purpose's limits or missed, of the task with most; `None` if unknown.
fn late_shifts(machine: &str, shifts: &[ShiftRow], purpose: Option<&Purpose>) -> Option<ShiftShare> {
    let purpose = purpose?;
    let largest = purpose.limits.iter().map(|limit| limit.limited).max()?;
    let of =
        |row: &&ShiftRow| row.machine == machine && row.purpose == purpose.name && row.limit_ns == largest;
    let shares = shifts
        .iter()
        .filter(of)
        .filter_map(|row| ShiftShare::new(u64::try_from(row.late).ok()?, u64::try_from(row.shifts).ok()?));
    shares.max_by(|a, b| (a.late * b.shifts).cmp(&(b.late * a.shifts)))
}

/// Computes the machines' rates of late shifts and sorts the worst first: by fitness, rate, quantile. A rate is the
/// lower bound; what cannot be told comes last.
fn rank_machines(machines: &mut [MachineAnswer]) {
    let counts = |machine: &MachineAnswer| machine.shifts.map(|of| (of.late as f64, of.shifts as f64));
    let rates = GammaRates::new(&machines.iter().filter_map(counts).collect::<Vec<_>>());
    for machine in machines.iter_mut() {
        machine.rate = rates.zip(counts(machine)).map(|(rates, (late, shifts))| rates.lower(late, shifts));
    }
    machines.sort_by(|a, b| {
        let rate = |of: &MachineAnswer| of.rate.unwrap_or_default();
        let by_fitness = severity(b.fitness).cmp(&severity(a.fitness));
        let by_rate = || rate(b).total_cmp(&rate(a));
        let by_quantile = || b.p999_ns().cmp(&a.p999_ns());
        by_fitness.then_with(by_rate).then_with(by_quantile).then_with(|| a.machine.cmp(&b.machine))
    });
}

impl Changes {
    /// Judges the effect of changes of kernels on classes of machines, by what an engine summed.
    pub fn new(response: &Response) -> Result<Self, Error> {
        Changes::from_environments(response, &Environments::new(response)?)
    }

    fn from_environments(response: &Response, described: &Environments) -> Result<Self, Error> {
        let environments: Vec<EnvironmentRow> = response.answers.rows(ENVIRONMENTS)?;
        let mut pairs: BTreeMap<[String; 4], BTreeMap<&str, (f64, f64)>> = BTreeMap::new();
        let tasks: BTreeSet<(&str, &str)> =
            environments.iter().map(|row| (row.machine.as_str(), row.task.as_str())).collect();
        for (machine, task) in tasks {
            let mut of: Vec<(&EnvironmentRow, &MachineRow)> = environments
                .iter()
                .filter(|row| row.machine == machine && row.task == task && row.p999_ns.is_some())
                .filter_map(|row| Some((row, described.find(machine, &row.env)?)))
                .collect();
            of.sort_by_key(|(row, _)| (row.first_s, &row.env));
            for pair in of.windows(2) {
                let [(before, was), (after, is)] = pair else { continue };
                let (Some(before_ns), Some(after_ns)) = (before.p999_ns, after.p999_ns) else { continue };
                if (&was.kernel, &was.build) != (&is.kernel, &is.build) {
                    let key = [hardware_class(is), task.to_owned(), was.kernel.clone(), is.kernel.clone()];
                    pairs.entry(key).or_default().insert(machine, (before_ns as f64, after_ns as f64));
                }
            }
        }
        let compared = pairs.len();
        let mut changes: Vec<ChangeAnswer> = pairs
            .into_iter()
            .filter_map(|([class, task, from, to], of)| {
                let change = group_change(&of.into_values().collect::<Vec<_>>())?;
                Some(ChangeAnswer { class, task, from, to, change })
            })
            .collect();
        changes.sort_by(|a, b| b.change.largest().total_cmp(&a.change.largest()));
        let tests = changes.len();
        Ok(Changes { changes, tests, too_few: compared - tests })
    }
}
