//! Further answers about a fleet: all machines, changes, causes, days, one machine.

use std::collections::BTreeMap;

use jitterlab_analysis::Summary;
use jitterlab_model::Error;
use serde::Serialize;

use crate::answer::{ChangeAnswer, FleetAnswer, MachineAnswer};
use crate::asking::{
    Asked, BINS, BinSumRow, CAUSES, COURSES, CauseSumRow, CourseRow, DAYS, DayRow, FIGURES, FigureRow,
    MonthRow, NameRow, SpanRow, ask_months,
};
use crate::calendar;
use crate::engine::Engine;
use crate::folder::Fleet;
use crate::rows::BinRow;
use crate::statistics::{Course, CourseModel, false_discoveries, first_alarm, placebo_p};
use crate::sums::TaskSum;

/// Days on either side of a restart that are compared.
const WINDOW: i64 = 28;
/// Days of a window that are enough.
const ENOUGH: usize = 14;
/// Share of false ones among machines that are accused.
const FALSE: f64 = 0.05;

/// All machines, the worst first.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct FleetWorst(pub FleetAnswer);

/// Everything about a fleet for a page: all machines, and months of the worst.
#[derive(Debug, Clone, Serialize)]
pub struct FleetPage {
    /// The answer.
    pub answer: FleetAnswer,
    /// Beginnings of the months, in order.
    pub months: Vec<(String, i64)>,
    /// Latencies of the worst machines by month.
    pub rows: Vec<MonthRow>,
}

/// Effects of changes.
#[derive(Debug, Clone, Serialize)]
pub struct KernelList {
    /// To classes of machines, the largest first.
    pub changes: Vec<ChangeAnswer>,
    /// Groups compared.
    pub tests: usize,
    /// Groups of fewer than three machines.
    pub too_few: usize,
    /// Updates of single machines that were tested.
    pub updates: usize,
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
    /// The days, in order.
    pub days: Vec<DayRow>,
    /// Machines whose days were looked at for changes.
    pub courses: usize,
    /// Machines that changed without an update: since when, and whether they got worse.
    pub changed: Vec<(String, i64, bool)>,
}

/// One machine.
#[derive(Debug, Clone, Serialize)]
pub struct OneMachine {
    /// Its name.
    pub name: String,
    /// Its part of the answer about the fleet.
    pub machine: Option<MachineAnswer>,
    /// Figures of its tasks, as `jitterlab analyze` gives them.
    pub summaries: Vec<Summary>,
}

impl FleetPage {
    /// Machines whose months are shown.
    pub const SHOWN: usize = 40;
    /// The latest months.
    const MONTHS: usize = 12;

    /// An answer with months that the engine sums.
    ///
    /// # Errors
    /// The engine failed.
    pub fn new(fleet: &Fleet, engine: &Engine, asked: &Asked, answer: FleetAnswer) -> Result<Self, Error> {
        let figures: Vec<FigureRow> = asked.answers.rows(FIGURES.name)?;
        let first = figures.iter().filter_map(|row| row.first_s).min();
        let last = figures.iter().filter_map(|row| row.last_s).max();
        let mut months = first.zip(last).map_or_else(Vec::new, |(first, last)| calendar::months(first, last));
        months.drain(..months.len().saturating_sub(Self::MONTHS));
        let spans: Vec<SpanRow> =
            months.iter().map(|(_, from_s, to_s)| SpanRow { from_s: *from_s, to_s: *to_s }).collect();
        let names =
            answer.machines.iter().take(Self::SHOWN).map(|of| NameRow { machine: of.machine.clone() });
        let names: Vec<NameRow> = names.collect();
        let rows = ask_months(fleet, engine, &asked.overlaps, &names, &spans)?;
        Ok(FleetPage {
            answer,
            months: months.into_iter().map(|(name, from_s, _)| (name, from_s)).collect(),
            rows,
        })
    }
}

impl CauseList {
    /// Rows that an engine summed.
    ///
    /// # Errors
    /// The engine left other rows than were asked for.
    pub fn new(asked: &Asked) -> Result<Self, Error> {
        asked.answers.rows(CAUSES.name).map(CauseList)
    }
}

impl OneMachine {
    /// One machine of an answer, with its bins.
    ///
    /// # Errors
    /// The engine left other rows than were asked for, or the fleet has no such machine.
    pub fn new(asked: &Asked, name: &str, answer: FleetAnswer) -> Result<Self, Error> {
        let figures: Vec<FigureRow> = asked.answers.rows(FIGURES.name)?;
        let of_name: Vec<FigureRow> = figures.into_iter().filter(|row| row.machine == name).collect();
        let bins: Vec<BinSumRow> = asked.answers.rows(BINS.name)?;
        let bins: Vec<BinRow> = bins.iter().map(BinSumRow::to_bin).collect();
        let mut sums = TaskSum::from_figures(&of_name);
        sums.iter_mut().for_each(|sum| sum.add_bins(&bins));
        let machine = answer.machines.into_iter().find(|machine| machine.machine == name);
        if machine.is_none() {
            return Err(Error::bad_use(format!("the fleet has no machine {name:?}"))
                .remedy("`jitterlab fleet worst FOLDER` lists all"));
        }
        Ok(OneMachine { name: name.into(), machine, summaries: sums.iter().map(TaskSum::summary).collect() })
    }
}

/// Days of a task of a machine, and the environment of each.
struct Days {
    machine: String,
    course: Course,
    envs: BTreeMap<i64, (String, String)>,
}

fn courses(asked: &Asked) -> Result<Vec<Days>, Error> {
    let rows: Vec<CourseRow> = asked.answers.rows(COURSES.name)?;
    let mut all: Vec<(String, Days)> = Vec::new();
    for row in rows {
        let Some(value) = row.p999_ns.filter(|ns| *ns > 0) else { continue };
        let is_new = all.last().is_none_or(|(task, last)| *task != row.task || last.machine != row.machine);
        if is_new {
            let days = Days { machine: row.machine.clone(), course: Vec::new(), envs: BTreeMap::new() };
            all.push((row.task.clone(), days));
        }
        if let Some((_, days)) = all.last_mut() {
            let day = row.day_s.div_euclid(86_400);
            if days.envs.insert(day, (row.env, row.boot)).is_none() {
                days.course.push((day, (value as f64).ln()));
            }
        }
    }
    Ok(all.into_iter().map(|(_, days)| days).collect())
}

impl Days {
    /// Days that began with another environment (`true`) or only another start of the machine (`false`).
    fn restarts(&self) -> Vec<(i64, bool)> {
        let pairs = self.envs.iter().zip(self.envs.iter().skip(1));
        pairs
            .filter(|((_, before), (_, after))| before != after)
            .map(|((_, before), (day, after))| (*day, before.0 != after.0))
            .collect()
    }

    /// Difference of the means of the days before and after, without the day itself.
    fn shift(&self, at: i64) -> Option<f64> {
        let mean = |from: i64, to: i64| {
            let values =
                self.course.iter().filter(|(day, _)| (from..to).contains(day)).map(|(_, value)| *value);
            let values: Vec<f64> = values.collect();
            (values.len() >= ENOUGH).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Some(mean(at, at + WINDOW)? - mean(at - WINDOW, at)?)
    }
}

impl KernelList {
    /// Changes of an answer, and single machines by their days.
    ///
    /// # Errors
    /// The engine left other rows than were asked for.
    pub fn new(asked: &Asked, answer: FleetAnswer) -> Result<Self, Error> {
        let (mut updates, mut placebos) = (Vec::new(), Vec::new());
        for days in courses(asked)? {
            for (day, is_update) in days.restarts() {
                let Some(shift) = days.shift(day) else { continue };
                match is_update {
                    true => updates.push((days.machine.clone(), shift)),
                    false => placebos.push(shift),
                }
            }
        }
        if placebos.len() < 20 {
            // So few restarts without a change never show that one is unusual.
            updates.clear();
        }
        let p: Vec<f64> = updates.iter().map(|(_, shift)| placebo_p(*shift, &placebos)).collect();
        let found = false_discoveries(&p, FALSE);
        let worse = updates.iter().zip(found).filter(|(_, found)| *found);
        Ok(KernelList {
            changes: answer.changes,
            tests: answer.tests,
            too_few: answer.too_few,
            updates: updates.len(),
            worse: worse.map(|((machine, shift), _)| (machine.clone(), shift.exp_m1())).collect(),
        })
    }
}

impl DayList {
    /// Days, and machines that changed without an update.
    ///
    /// # Errors
    /// The engine left other rows than were asked for.
    pub fn new(asked: &Asked) -> Result<Self, Error> {
        let all = courses(asked)?;
        // An update ends a course: what it did is another question.
        let steady = all.iter().flat_map(|days| {
            let updates = days.restarts().into_iter().filter(|restart| restart.1).map(|restart| restart.0);
            let last = updates.max().unwrap_or(i64::MIN);
            let course: Course = days.course.iter().filter(|(day, _)| *day >= last).copied().collect();
            (course.len() >= ENOUGH).then(|| (days.machine.clone(), course))
        });
        let steady: Vec<(String, Course)> = steady.collect();
        let courses: Vec<Course> = steady.iter().map(|(_, course)| course.clone()).collect();
        let model = CourseModel::new(&courses);
        let changed = steady.iter().filter_map(|(machine, course)| {
            let (day, worse) = first_alarm(course, model.as_ref()?)?;
            Some((machine.clone(), day * 86_400, worse))
        });
        Ok(DayList {
            days: asked.answers.rows(DAYS.name)?,
            courses: if model.is_some() { courses.len() } else { 0 },
            changed: changed.collect(),
        })
    }
}
