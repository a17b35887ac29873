//! Simulated fleets of known truth, on which the statistics are tried: days that depend on each other, weeks, steps.

use jitterlab_analysis::random::Random;
use jitterlab_fleet::statistics::{
    DailyModel, DailySeries, GroupChange, false_discoveries, first_alarm, group_change, placebo_p_value,
};

/// Kind of days that machines have.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in the table.
    pub name: &'static str,
    /// Correlation of a day's logarithm of p99.9 with the next.
    rho: f64,
    /// Standard deviation of that logarithm.
    sd: f64,
    /// Level of weekends.
    weekend: f64,
    /// Standard deviation of what a restart adds.
    restart: f64,
    /// Steps of each machine at days of its own: days from one to the next on average, and their standard deviation.
    steps: (f64, f64),
    /// Share of days that a spike makes half as large again.
    spikes: f64,
}

const PLAIN: Kind = Kind {
    name: "independent days",
    rho: 0.0,
    sd: 0.08,
    weekend: 0.0,
    restart: 0.05,
    steps: (0.0, 0.0),
    spikes: 0.0,
};

/// The kinds that tables have.
pub const KINDS: [Kind; 6] = [
    PLAIN,
    DEPENDENT,
    Kind { name: "dependent, 0.85", rho: 0.85, ..PLAIN },
    Kind { name: "dependent, 0.6, weekends 20 % faster", weekend: -0.22, ..DEPENDENT },
    Kind { name: "dependent, 0.6, steps of 10 % every 60 days", steps: (60.0, 0.1), ..DEPENDENT },
    Kind { name: "dependent, 0.6, one day in 20 half as slow again", spikes: 0.05, ..DEPENDENT },
];

/// Days that depend on each other, with weekends.
pub const DEPENDENT: Kind =
    Kind { name: "dependent, 0.6, weekends 6 % faster", rho: 0.6, weekend: -0.06, ..PLAIN };

/// Simulates a machine's values day by day, with a restart after a number of days, and a change from one day on.
pub fn simulated_series(
    random: &mut Random,
    kind: Kind,
    days: i64,
    restarts: i64,
    change: (i64, f64),
) -> DailySeries {
    let (mut level, mut noise) = (10.0 + random.normal() * 0.3, kind.sd * random.normal());
    (0..days)
        .map(|day| {
            noise = kind.rho * noise + kind.sd * (1.0 - kind.rho * kind.rho).sqrt() * random.normal();
            if restarts > 0 && day > 0 && day % restarts == 0 {
                level += kind.restart * random.normal();
            }
            if kind.steps.0 > 0.0 && random.uniform() < 1.0 / kind.steps.0 {
                level += kind.steps.1 * random.normal();
            }
            let weekend = if day.rem_euclid(7) > 4 { kind.weekend } else { 0.0 };
            let spike = if random.uniform() < kind.spikes { 1.5f64.ln() } else { 0.0 };
            let changed = if day >= change.0 { change.1 } else { 0.0 };
            (day, level + noise + weekend + spike + changed)
        })
        .collect()
}

fn mean(series: &DailySeries, from: i64, to: i64) -> f64 {
    let values: Vec<f64> = series.iter().filter(|day| (from..to).contains(&day.0)).map(|day| day.1).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Simulates machines with four weeks before and after an update, and estimates the change it made.
pub fn update_effect(random: &mut Random, kind: Kind, effect: f64, machines: usize) -> Option<GroupChange> {
    let pairs: Vec<(f64, f64)> = (0..machines)
        .map(|_| {
            let of = simulated_series(random, kind, 56, 28, (28, effect.ln_1p()));
            (mean(&of, 0, 28).exp(), mean(&of, 28, 56).exp())
        })
        .collect();
    group_change(&pairs)
}

/// Machines accused over some fleets.
#[derive(Debug, Default)]
pub struct Accused {
    /// Innocent ones.
    pub innocent: usize,
    /// Guilty ones.
    pub guilty: usize,
    /// Number of guilty machines.
    pub of: usize,
    /// Share of innocent ones among a fleet's accused, summed over fleets.
    shares: f64,
    fleets: usize,
}

impl Accused {
    /// Share of innocent ones among the accused of a fleet, the mean over fleets; it is what may be 5 %.
    pub fn false_share(&self) -> f64 {
        self.shares / self.fleets as f64
    }
}

/// Counts the accused in simulated fleets of 100, of which a fifth got slower by `effect` at its update.
pub fn accused_updates(random: &mut Random, kind: Kind, effect: f64, fleets: usize) -> Accused {
    let mut all = Accused::default();
    for _ in 0..fleets {
        let machines: Vec<(DailySeries, bool)> = (0..100)
            .map(|machine| {
                let is_guilty = machine < 20;
                let change = if is_guilty { effect.ln_1p() } else { 0.0 };
                (simulated_series(random, kind, 168, 28, (84, change)), is_guilty)
            })
            .collect();
        let shift = |of: &DailySeries, at: i64| mean(of, at, at + 28) - mean(of, at - 28, at);
        let placebos: Vec<f64> =
            machines.iter().flat_map(|(of, _)| [28, 140].map(|at| shift(of, at))).collect();
        let p: Vec<f64> = machines.iter().map(|(of, _)| placebo_p_value(shift(of, 84), &placebos)).collect();
        let accused = false_discoveries(&p, 0.05);
        let count =
            |guilty: bool| accused.iter().zip(&machines).filter(|(is, of)| **is && of.1 == guilty).count();
        let (innocent, guilty) = (count(false), count(true));
        all.innocent += innocent;
        all.guilty += guilty;
        all.of += machines.iter().filter(|of| of.1).count();
        all.shares += innocent as f64 / (innocent + guilty).max(1) as f64;
        all.fleets += 1;
    }
    all
}

/// Fits the model to simulated machines that do not change; returns it and how many it accuses in a year.
pub fn steady_alarms(random: &mut Random, kind: Kind, machines: usize) -> Option<(DailyModel, usize)> {
    let courses: Vec<DailySeries> =
        (0..machines).map(|_| simulated_series(random, kind, 365, 0, (0, 0.0))).collect();
    let model = DailyModel::new(&courses)?;
    Some((model, courses.iter().filter(|of| first_alarm(of, &model).is_some()).count()))
}

/// Counts simulated machines with a step on day 100 that are found within ten days of it.
pub fn detected_steps(
    random: &mut Random,
    kind: Kind,
    model: &DailyModel,
    effect: f64,
    machines: usize,
) -> usize {
    let courses = (0..machines).map(|_| simulated_series(random, kind, 200, 0, (100, effect.ln_1p())));
    let days = courses.filter_map(|of| first_alarm(&of, model));
    days.filter(|(day, is_worse)| *is_worse && (95..110).contains(day)).count()
}
