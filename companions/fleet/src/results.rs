//! Further answers about a fleet: all machines, changes, causes, days, one machine.

use std::collections::BTreeMap;

use jitterlab_analysis::Summary;
use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::Error;
use serde::Serialize;

use crate::answer::{Changes, FleetAnswer, MachineAnswer};
use crate::calendar::{self, DAY_S};
use crate::engine::Engine;
use crate::folder::Fleet;
use crate::queries::{
    BINNED, BINS, CAUSES, COURSES, CauseSumRow, DAY_PARTS, DAY_STEPS, DAYS, DayRow, ENVIRONMENTS, FIGURES,
    FigureRow, LEADING, MACHINES, MonthRow, NameRow, QUANTILES, Question, Response, SHIFTS, SpanRow,
    TaskDayRow, ask_months,
};
use crate::rows::BinRow;
use crate::statistics::{DailyModel, DailySeries, false_discoveries, first_alarm, placebo_p_value};
use crate::sums::TaskSum;

/// Days on either side of a restart that are compared.
const WINDOW_DAYS: i64 = 28;
/// Days with a value at least in a window.
const MIN_DAYS: usize = 14;
/// Share of false discoveries at most among machines that are called worse (Benjamini & Hochberg 1995).
const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// All machines, the worst first.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct FleetWorst(pub FleetAnswer);

/// Everything about a fleet for a page: all machines, and months of the worst.
#[derive(Debug, Clone, Serialize)]
pub struct FleetPage {
    pub answer: FleetAnswer,
    /// Beginnings of the months, in order.
    pub months: Vec<(String, i64)>,
    /// Latencies of the worst machines by month.
    pub rows: Vec<MonthRow>,
}

/// Result that is made of an engine's answers alone.
pub trait ListResult: Sized {
    const QUESTION: Question;

    /// Makes the result from the answers of an engine.
    fn new(response: &Response) -> Result<Self, Error>;
}

/// Effects of changes.
#[derive(Debug, Clone, Serialize)]
pub struct KernelList {
    #[serde(flatten)]
    pub changes: Changes,
    /// Updates of single machines that were tested.
    pub updates: usize,
    /// Those with too few days on a side, or too few restarts to compare them with.
    pub untold: usize,
    /// Machines that got worse by more than restarts without an update explain, with the relative change.
    pub worse: Vec<(String, f64)>,
}

/// Causes on all machines.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct CauseList(pub Vec<CauseSumRow>);

/// Days of all machines.
#[derive(Debug, Clone, Serialize)]
pub struct DayList {
    pub days: Vec<DayRow>,
    /// Machines whose daily series were tested for changes.
    pub courses: usize,
    /// Machines with too few days since their last update.
    pub untold: usize,
    /// Machines that changed without an update: since when, and whether they got worse.
    pub changed: Vec<(String, i64, bool)>,
}

#[derive(Debug, Clone, Serialize)]
pub struct OneMachine {
    /// The purpose that was asked for.
    pub purpose: Option<String>,
    /// The machine's part of the answer about the fleet.
    pub machine: MachineAnswer,
    /// Figures of its tasks, as `jitterlab analyze` gives them.
    pub summaries: Vec<Summary>,
}

impl FleetPage {
    /// Machines whose months are shown.
    pub const SHOWN: usize = 40;
    /// The latest months.
    const MONTHS: usize = 12;

    /// Page of an answer, for which it asks the engine to sum the months of the worst machines.
    pub fn new(
        fleet: &Fleet,
        engine: &Engine,
        response: &Response,
        answer: FleetAnswer,
    ) -> Result<Self, Error> {
        let figures: Vec<FigureRow> = response.answers.rows(FIGURES)?;
        let first = figures.iter().filter_map(|row| row.first_s).min();
        let last = figures.iter().filter_map(|row| row.last_s).max();
        let mut months = first.zip(last).map_or_else(Vec::new, |(first, last)| calendar::months(first, last));
        months.drain(..months.len().saturating_sub(Self::MONTHS));
        let spans: Vec<SpanRow> =
            months.iter().map(|(_, from_s, to_s)| SpanRow { from_s: *from_s, to_s: *to_s }).collect();
        let names =
            answer.machines.iter().take(Self::SHOWN).map(|of| NameRow { machine: of.machine.clone() });
        let names: Vec<NameRow> = names.collect();
        let rows = ask_months(fleet, engine, &response.overlaps, &names, &spans)?;
        Ok(FleetPage {
            answer,
            months: months.into_iter().map(|(name, from_s, _)| (name, from_s)).collect(),
            rows,
        })
    }
}

impl ListResult for CauseList {
    const QUESTION: Question = Question { steps: &[], queries: &[CAUSES] };

    fn new(response: &Response) -> Result<Self, Error> {
        response.answers.rows(CAUSES).map(CauseList)
    }
}

impl OneMachine {
    pub const QUESTION: Question = Question {
        steps: &[BINNED],
        queries: &[FIGURES, QUANTILES, ENVIRONMENTS, MACHINES, LEADING, SHIFTS, BINS],
    };

    /// The answer about one machine, with percentiles from its bins.
    pub fn new(response: &Response, name: &str, purpose: Option<&Purpose>) -> Result<Self, Error> {
        let machines = FleetAnswer::new(response, purpose)?.machines;
        let machine = machines.into_iter().find(|machine| machine.machine == name).ok_or_else(|| {
            Error::bad_use(format!("the fleet has no machine {name:?}"))
                .remedy("`jitterlab fleet worst FOLDER` lists all")
        })?;
        let figures: Vec<FigureRow> = response.answers.rows(FIGURES)?;
        let bins: Vec<BinRow> = response.answers.rows(BINS)?;
        let own = figures.into_iter().map(|row| row.sum).filter(|row| row.machine == name);
        let mut sums = TaskSum::from_rows(own);
        sums.iter_mut().for_each(|sum| sum.add_bins(&bins));
        let summaries = sums.iter().map(TaskSum::summary).collect();
        Ok(OneMachine { purpose: purpose.map(|purpose| purpose.name.into()), machine, summaries })
    }
}

/// Daily series of a task of a machine, and the environment and boot of each day.
struct TaskDays {
    machine: String,
    series: DailySeries,
    envs: BTreeMap<i64, (String, String)>,
}

fn read_task_days(response: &Response) -> Result<Vec<TaskDays>, Error> {
    let mut all: BTreeMap<(String, String), TaskDays> = BTreeMap::new();
    for row in response.answers.rows::<TaskDayRow>(COURSES)?.into_iter().filter(|row| row.p999_ns > 0) {
        let days = all.entry((row.machine.clone(), row.task)).or_insert_with(|| TaskDays {
            machine: row.machine,
            series: Vec::new(),
            envs: BTreeMap::new(),
        });
        let day = row.day_s.div_euclid(DAY_S);
        days.series.push((day, (row.p999_ns as f64).ln()));
        days.envs.insert(day, (row.env, row.boot));
    }
    Ok(all.into_values().collect())
}

impl TaskDays {
    /// Days that began with another environment (`true`) or only another start of the machine (`false`).
    fn restarts(&self) -> Vec<(i64, bool)> {
        let pairs = self.envs.iter().zip(self.envs.iter().skip(1));
        pairs
            .filter(|((_, before), (_, after))| before != after)
            .map(|((_, before), (day, after))| (*day, before.0 != after.0))
            .collect()
    }

    /// Mean of the days after a day less that of the days before; `None` if either has too few.
    fn mean_shift(&self, at: i64) -> Option<f64> {
        let mean = |from: i64, to: i64| {
            let values =
                self.series.iter().filter(|(day, _)| (from..to).contains(day)).map(|(_, value)| *value);
            let values: Vec<f64> = values.collect();
            (values.len() >= MIN_DAYS).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Some(mean(at + 1, at + 1 + WINDOW_DAYS)? - mean(at - WINDOW_DAYS, at)?)
    }
}

impl ListResult for KernelList {
    const QUESTION: Question =
        Question { steps: &[BINNED, DAY_PARTS, DAY_STEPS], queries: &[ENVIRONMENTS, MACHINES, COURSES] };

    fn new(response: &Response) -> Result<Self, Error> {
        let (mut updates, mut placebos) = (Vec::new(), Vec::new());
        let mut untold = 0;
        for days in read_task_days(response)? {
            for (day, is_update) in days.restarts() {
                match days.mean_shift(day) {
                    Some(shift) if is_update => updates.push((days.machine.clone(), shift)),
                    Some(shift) => placebos.push(shift),
                    None => untold += usize::from(is_update),
                }
            }
        }
        if placebos.len() < 20 {
            // So few restarts without a change never show that one is unusual.
            untold += updates.len();
            updates.clear();
        }
        let p: Vec<f64> = updates.iter().map(|(_, shift)| placebo_p_value(*shift, &placebos)).collect();
        let found = false_discoveries(&p, FALSE_DISCOVERY_RATE);
        let worse = updates.iter().zip(found).filter(|(_, found)| *found);
        Ok(KernelList {
            changes: Changes::new(response)?,
            updates: updates.len(),
            untold,
            worse: worse.map(|((machine, shift), _)| (machine.clone(), shift.exp_m1())).collect(),
        })
    }
}

impl ListResult for DayList {
    const QUESTION: Question = Question { steps: &[DAY_PARTS, DAY_STEPS], queries: &[DAYS, COURSES] };

    fn new(response: &Response) -> Result<Self, Error> {
        let all = read_task_days(response)?;
        // An update ends a series: what it did is another question.
        let steady = all.iter().flat_map(|days| {
            let updates = days.restarts().into_iter().filter(|restart| restart.1).map(|restart| restart.0);
            let last = updates.max().unwrap_or(i64::MIN);
            let series: DailySeries = days.series.iter().filter(|(day, _)| *day >= last).copied().collect();
            (series.len() >= MIN_DAYS).then(|| (days.machine.clone(), series))
        });
        let steady: Vec<(String, DailySeries)> = steady.collect();
        let all_series: Vec<DailySeries> = steady.iter().map(|(_, series)| series.clone()).collect();
        let model = DailyModel::new(&all_series);
        let changed = steady.iter().filter_map(|(machine, series)| {
            let (day, worse) = first_alarm(series, model.as_ref()?)?;
            Some((machine.clone(), day * DAY_S, worse))
        });
        let judged = if model.is_some() { all_series.len() } else { 0 };
        Ok(DayList {
            days: response.answers.rows(DAYS)?,
            courses: judged,
            untold: all.len() - judged,
            changed: changed.collect(),
        })
    }
}
