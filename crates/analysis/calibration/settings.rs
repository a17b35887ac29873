//! Error rates and power of an experiment over settings: effects reported without reason, and those found.

use jitterlab_analysis::tune::{
    BLOCK_OVERHEAD_NS, BlockFigures, Experiment, Figure, LEVEL, PILOTS, Pilot, SettingResult, SettingVerdict,
    TunePlan,
};

use super::series::Noise;
use super::table::{Rate, TableSelection, print_head, print_row, share_text};

/// Process of the figure over the blocks of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    White,
    Wandering,
    Bursts,
    Drift,
    HeavyTail,
    Coarse,
}

/// All of them.
pub const BLOCKS: [Blocks; 6] =
    [Blocks::White, Blocks::Wandering, Blocks::Bursts, Blocks::Drift, Blocks::HeavyTail, Blocks::Coarse];

impl Blocks {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Blocks::White => "white, 10 %",
            Blocks::Wandering => "wandering over 20 blocks",
            Blocks::Bursts => "five times as slow for 6 blocks",
            Blocks::Drift => "10 %, drifts by 0.2 % a block",
            Blocks::HeavyTail => "heavy tail",
            Blocks::Coarse => "told to 10 %",
        }
    }
}

/// A machine whose settings have these effects on the logarithm of the deciding figure.
struct Machine {
    blocks: Blocks,
    noise: Noise,
    effects: Vec<f64>,
    level: f64,
    burst: bool,
    measured: usize,
    /// True if a program occupies the processor while the first setting is off.
    hog: bool,
    /// Standard deviation of the white part.
    scatter: f64,
}

impl Machine {
    fn new(blocks: Blocks, effects: Vec<f64>, seed: u64) -> Self {
        let noise = Noise::new(seed);
        Machine { blocks, noise, effects, level: 0.0, burst: false, measured: 0, hog: false, scatter: 0.1 }
    }

    fn block_deviation(&mut self) -> f64 {
        let white = self.scatter * self.noise.normal();
        match self.blocks {
            Blocks::White => white,
            Blocks::Wandering => {
                self.level = 0.95 * self.level + 0.1 * self.noise.normal();
                self.level + 0.3 * white
            }
            Blocks::Bursts => {
                self.burst = if self.burst { self.noise.below(6) > 0 } else { self.noise.below(60) == 0 };
                white + if self.burst { 5.0f64.ln() } else { 0.0 }
            }
            Blocks::Drift => white + 0.002 * self.measured as f64,
            Blocks::HeavyTail => (1.0 + 0.1 * (self.noise.uniform().powf(-0.5) - 1.0)).ln(),
            Blocks::Coarse => (white * 10.0).round() / 10.0,
        }
    }

    fn log_figure(&mut self, on: &[bool]) -> f64 {
        self.measured += 1;
        if self.hog && !on[0] {
            // 60 times as slow, and how slow that is depends on how they meet.
            return 60f64.ln() + 0.6 * self.noise.normal();
        }
        let set: f64 = self.effects.iter().zip(on).filter(|(_, on)| **on).map(|(effect, _)| effect).sum();
        set + self.block_deviation()
    }

    /// Simulates a block with these settings; with none on, it misses the share `missed` of its due times.
    fn measure(&mut self, on: &[bool], missed: f64) -> BlockFigures {
        const DUE: u64 = 1_500;
        let factor = self.log_figure(on).exp();
        let expected = (missed * factor).min(1.0) * DUE as f64;
        // A machine that misses none needs no chance.
        let scatter = if expected > 0.0 { expected.sqrt() * self.noise.normal() } else { 0.0 };
        let missed = (expected + scatter).round().clamp(0.0, DUE as f64) as u64;
        let tail_ns = (50_000.0 * factor) as i64;
        BlockFigures { tail_ns, max_ns: 2 * tail_ns, missed, due: DUE, verdict: None, repeated: 0 }
    }

    fn run_rounds(
        &mut self,
        experiment: &mut Experiment,
        missed: f64,
        settings: impl Fn(&[bool]) -> Vec<bool>,
    ) {
        while let Some(round) = experiment.next_round() {
            let figures = round.rows.iter().map(|row| self.measure(&settings(&row.on), missed)).collect();
            experiment.add_round(round, figures);
        }
        experiment.conclude();
    }

    fn run_experiment(&mut self, rounds: usize, seed: u64) -> Vec<SettingVerdict> {
        let settings = self.effects.len();
        let mut experiment = Experiment::new(settings, (settings + 1) * rounds, Figure::Tail, seed);
        self.run_rounds(&mut experiment, 0.0, <[bool]>::to_vec);
        experiment.results().iter().map(SettingResult::judgement).collect()
    }

    /// Runs pilot, plan, rounds and proof; returns each setting's verdict, and true if the proof succeeds. `None` if no
    /// plan fits.
    fn pilot_to_proof(
        &mut self,
        minutes: i64,
        missed: f64,
        seed: u64,
    ) -> Option<(Vec<SettingVerdict>, bool)> {
        let settings = self.effects.len();
        let pilots: Vec<BlockFigures> =
            (0..PILOTS).map(|_| self.measure(&vec![false; settings], missed)).collect();
        let pilot = Pilot::from_blocks(&pilots);
        let plan = TunePlan::new(settings, minutes * 60_000_000_000, 1_000_000, BLOCK_OVERHEAD_NS, pilot)?;
        let mut screening = Experiment::new(plan.knobs, plan.blocks(), pilot.figure, seed);
        let all = |on: &[bool]| -> Vec<bool> { (0..settings).map(|at| on.get(at) == Some(&true)).collect() };
        self.run_rounds(&mut screening, missed, all);
        let judgements: Vec<SettingVerdict> =
            screening.results().iter().map(SettingResult::judgement).collect();
        let kept: Vec<bool> =
            judgements.iter().map(|judgement| *judgement == SettingVerdict::Helps).collect();
        if !kept.contains(&true) {
            return Some((judgements, false));
        }
        let mut proof = Experiment::new(1, 2 * plan.pairs, pilot.figure, seed + 1);
        let together = |on: &[bool]| -> Vec<bool> {
            (0..settings).map(|at| on[0] && kept.get(at) == Some(&true)).collect()
        };
        self.run_rounds(&mut proof, missed, together);
        Some((judgements, proof.results()[0].judgement() == SettingVerdict::Helps))
    }
}

/// Whole experiments: a setting that helps among others that do nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Whole {
    pub repeats: usize,
    /// The setting that helps is kept and proven.
    pub kept: usize,
    /// Settings that do nothing, and those of them that were said to have an effect, and that were kept.
    pub nothing: usize,
    pub called: usize,
    pub wrong: usize,
}

/// Repeats experiments of 6 minutes over `knobs` settings, and counts what is kept and called. The first setting
/// divides the figure by `factor`; blocks have this scatter and miss this share.
pub fn repeat_pilot_to_proof(
    (blocks, scatter, missed): (Blocks, f64, f64),
    factor: f64,
    knobs: usize,
    repeats: usize,
    seed: u64,
) -> Whole {
    let mut effects = vec![0.0; knobs];
    effects[0] = -factor.ln();
    let helping = usize::from(factor != 1.0);
    let mut all = Whole { repeats, nothing: (knobs - helping) * repeats, ..Whole::default() };
    for n in 0..repeats as u64 {
        let mut machine = Machine::new(blocks, effects.clone(), seed * 10_000 + n);
        machine.scatter = scatter;
        let Some((judgements, proven)) = machine.pilot_to_proof(6, missed, seed + n) else { continue };
        all.kept += usize::from(judgements[0] == SettingVerdict::Helps && proven);
        let others = &judgements[helping..];
        let called =
            |of: &SettingVerdict| !matches!(of, SettingVerdict::Undecided | SettingVerdict::NoMatter);
        all.called += others.iter().filter(|judgement| called(judgement)).count();
        all.wrong += others.iter().filter(|of| **of == SettingVerdict::Helps && proven).count();
    }
    all
}

/// Machines of whole experiments: blocks, the scatter of their white part, and the share that they miss.
pub const WHOLE: [(Blocks, f64, f64); 7] = [
    (Blocks::White, 0.1, 0.0),
    (Blocks::White, 0.3, 0.0),
    (Blocks::White, 0.6, 0.0),
    (Blocks::White, 0.3, 0.05),
    (Blocks::White, 0.6, 0.05),
    (Blocks::Wandering, 0.3, 0.0),
    (Blocks::HeavyTail, 0.3, 0.0),
];

/// Returns the rate of experiments that report an effect of any setting, where `knobs` settings have none.
pub fn false_effect_rate(blocks: Blocks, knobs: usize, rounds: usize, repeats: usize, seed: u64) -> Rate {
    let says = |judgement: &SettingVerdict| {
        !matches!(judgement, SettingVerdict::Undecided | SettingVerdict::NoMatter)
    };
    let wrong = (0..repeats as u64).filter(|n| {
        let found =
            Machine::new(blocks, vec![0.0; knobs], seed * 10_000 + n).run_experiment(rounds, seed + n);
        found.iter().any(says)
    });
    Rate { count: wrong.count(), of: repeats, bound: LEVEL }
}

/// Returns the rate of experiments that report an effect of a setting without one. The first of `knobs`
/// settings removes a program that occupies the processor; the others have no effect.
pub fn false_effect_rate_beside_hog(
    blocks: Blocks,
    knobs: usize,
    rounds: usize,
    repeats: usize,
    seed: u64,
) -> Rate {
    let says = |judgement: &SettingVerdict| {
        !matches!(judgement, SettingVerdict::Undecided | SettingVerdict::NoMatter)
    };
    let wrong = (0..repeats as u64).filter(|n| {
        let mut machine = Machine::new(blocks, vec![0.0; knobs], seed * 10_000 + n);
        machine.hog = true;
        machine.run_experiment(rounds, seed + n)[1..].iter().any(says)
    });
    Rate { count: wrong.count(), of: repeats, bound: LEVEL }
}

/// Returns the share of experiments that find that the first of `knobs` settings multiplies the figure by `factor`. The
/// second value is the effect that the plan claims to find with 90 %; `None` if no plan fits the minutes.
pub fn detection_share(
    knobs: usize,
    minutes: i64,
    scatter: f64,
    factor: f64,
    repeats: usize,
    seed: u64,
) -> Option<(f64, f64)> {
    let pilot = Pilot { figure: Figure::Tail, spread: scatter, blocks: PILOTS };
    let plan = TunePlan::new(knobs, minutes * 60_000_000_000, 1_000_000, BLOCK_OVERHEAD_NS, pilot)?;
    let mut effects = vec![0.0; plan.knobs];
    effects[0] = factor.ln();
    let found = (0..repeats as u64).filter(|n| {
        let mut machine = Machine::new(Blocks::White, effects.clone(), seed * 10_000 + n);
        machine.scatter = scatter;
        machine.run_experiment(plan.rounds, seed + n)[0] == SettingVerdict::Harms
    });
    Some((found.count() as f64 / repeats as f64, plan.detectable_change(scatter)))
}

/// Experiments over ten settings, one of which is a tenth better and one a tenth worse.
#[derive(Debug, Clone, Copy, Default)]
pub struct TenthsFound {
    pub repeats: usize,
    /// The better one is found.
    pub better: usize,
    /// The worse one is.
    pub worse: usize,
    /// One of the two is taken for the other.
    pub swapped: usize,
}

/// Repeats experiments with one setting better and one worse by 10 %, and counts those found.
pub fn find_tenths(blocks: Blocks, rounds: usize, repeats: usize, seed: u64) -> TenthsFound {
    let mut effects = vec![0.0; 10];
    (effects[3], effects[7]) = (1.1f64.ln(), 0.9f64.ln());
    let mut all = TenthsFound { repeats, ..TenthsFound::default() };
    for n in 0..repeats as u64 {
        let found = Machine::new(blocks, effects.clone(), seed * 10_000 + n).run_experiment(rounds, seed + n);
        all.better += usize::from(found[7] == SettingVerdict::Helps);
        all.worse += usize::from(found[3] == SettingVerdict::Harms);
        all.swapped += usize::from(found[3] == SettingVerdict::Helps || found[7] == SettingVerdict::Harms);
    }
    all
}

pub fn print_table(selection: &TableSelection) {
    let repeats = 400.min(selection.most);
    print_head(&["settings that do nothing", "1, 20 rounds", "6, 8 rounds", "40, 4 rounds"]);
    for (seed, blocks) in (1..).zip(BLOCKS).filter(|(_, of)| selection.includes(of.name())) {
        let rates = [(1, 20, 5), (6, 8, 5), (40, 4, 1)]
            .map(|(knobs, rounds, times)| false_effect_rate(blocks, knobs, rounds, times * repeats, seed));
        print_row([blocks.name().to_owned()].into_iter().chain(rates.map(|rate| rate.to_string())));
    }
    print_head(&[
        "the first of so many stops a hog, the others do nothing",
        "3, 6 rounds",
        "3, 20 rounds",
        "7, 8 rounds",
    ]);
    for (seed, blocks) in (31..).zip(BLOCKS).filter(|(_, of)| selection.includes(of.name())) {
        let rates = [(3, 6), (3, 20), (7, 8)]
            .map(|(knobs, rounds)| false_effect_rate_beside_hog(blocks, knobs, rounds, 5 * repeats, seed));
        print_row([blocks.name().to_owned()].into_iter().chain(rates.map(|rate| rate.to_string())));
    }
    for (what, factor, scatters) in
        [("10 % on one, white blocks", 1.1, [0.05, 0.1, 0.2]), ("three times on one", 3.0, [0.3, 0.6, 0.9])]
    {
        print_head(&[what, "1 in 2 min", "10 in 6 min", "10 in 10 min", "10 in 30 min", "10 in 8 h"]);
        for (seed, scatter) in (41..).zip(scatters) {
            let cell =
                |(knobs, minutes)| match detection_share(knobs, minutes, scatter, factor, repeats, seed) {
                    Some((found, shows)) => format!("{} ({:.0} %)", share_text(found), 100.0 * shows),
                    None => "-".into(),
                };
            let cells = [(1, 2), (10, 6), (10, 10), (10, 30), (10, 480)].map(cell);
            print_row([format!("differ by {:.0} %", 100.0 * scatter)].into_iter().chain(cells));
        }
    }
    print_head(&[
        "pilot, plan, rounds and proof in 6 min, 8 settings",
        "one three times better: kept and proven",
        "7 beside it: called",
        "8 that do nothing: called",
        "kept",
    ]);
    for (seed, machine) in (61..).zip(WHOLE) {
        let (blocks, scatter, missed) = machine;
        let name = format!("{}, {:.0} %, misses {:.0} %", blocks.name(), 100.0 * scatter, 100.0 * missed);
        if !selection.includes(&name) {
            continue;
        }
        let helps = repeat_pilot_to_proof(machine, 3.0, 8, repeats, seed);
        let nothing = repeat_pilot_to_proof(machine, 1.0, 8, repeats, seed);
        let of = |count: usize, of: usize| format!("{count} of {of}");
        print_row([
            name,
            of(helps.kept, helps.repeats),
            of(helps.called, helps.nothing),
            of(nothing.called, nothing.nothing),
            of(nothing.wrong, nothing.nothing),
        ]);
    }
    print_head(&[
        "one of ten is 10 % better, one 10 % worse",
        "better found",
        "worse found",
        "taken for the other",
    ]);
    for (seed, blocks) in (11..).zip(BLOCKS).filter(|(_, of)| selection.includes(of.name())) {
        let found = find_tenths(blocks, 48, repeats, seed);
        let share = |count: usize| share_text(count as f64 / found.repeats as f64);
        print_row([blocks.name().to_owned(), share(found.better), share(found.worse), share(found.swapped)]);
    }
}
