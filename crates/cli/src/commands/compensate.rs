//! `jitterlab compensate`: what compensating jitter costs and brings on this machine, measured and proven.

use std::path::PathBuf;

use anyhow::anyhow;
use jitterlab_analysis::expectation::{MarginPoint, ServiceTime, latency_law};
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::recommendation::{DEFAULT_WISH, MarginChoice, Wish, best};
use jitterlab_analysis::trial::{Candidate, CompensationTrial, Disturbance, TrialNote};
use jitterlab_bench::host::{self, DmaLatency};
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use jitterlab_model::{Compensation, Policy, TaskSpec, WakeMethod};
use jitterlab_report::document::Content;
use jitterlab_report::figure::{self, load};

use crate::exit::{Failure, Outcome, Status};
use crate::output::{self, OutputArgs};
use crate::session::{Session, views};

/// Cut the jitter of a task by waking early and polling: measure what it costs, recommend how, prove it
///
/// Measures what a wake-up costs and how late early sleeps end, recommends the wake-up method and the margin for a
/// wanted share of late starts or a budget of processor time, and proves it by uncompensated and compensated blocks
/// in turns.
#[derive(clap::Args)]
pub struct Args {
    /// Period of the task, as a time (500us) or a rate (2kHz)
    #[arg(long, value_parser = parse_period_ns, default_value = "500us", value_name = "TIME")]
    period: i64,
    /// Processor of the task
    #[arg(long)]
    cpu: Option<u16>,
    /// Scheduling policy
    #[arg(long)]
    policy: Option<Policy>,
    /// How the task waits for its early wake-up [default: the best of nanosleep, timerfd and timer-signal]
    #[arg(long)]
    wake: Option<WakeMethod>,

    /// Share of the starts that may be late, such as 1e-4 [default: 1e-3, as far as 20% of a processor go]
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    late: Option<f64>,
    /// Share of a processor that may be polled away, such as 20% or 0.2
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    budget: Option<f64>,

    /// Pairs of blocks in the proof
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: u32,
    /// How long each block is
    #[arg(long, value_parser = parse_duration_ns, default_value = "1s", value_name = "TIME")]
    block: i64,
    /// How long latencies of early sleeps are measured, for each wake-up method
    #[arg(long, value_parser = parse_duration_ns, default_value = "5s", value_name = "TIME")]
    sample: i64,

    /// The two run files: FILE-uncompensated.parquet and FILE-compensated.parquet [default: jitterlab-DATE-TIME]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write no run files
    #[arg(long, conflicts_with = "output")]
    no_file: bool,
    /// Draw the load curve into this file, .svg or .png; replaced if it exists
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Leave /dev/cpu_dma_latency alone (keep), or hold it at this many microseconds while measuring
    #[arg(long, default_value = "keep", value_name = "keep|US")]
    cpu_dma_latency: DmaLatency,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    shown: OutputArgs,
}

/// Wake-up methods to choose from, in order of preference.
const METHODS: [WakeMethod; 3] = [WakeMethod::Nanosleep, WakeMethod::Timerfd, WakeMethod::TimerSignal];
/// Turns in which the methods are measured.
const SAMPLE_TURNS: i64 = 10;
/// What the run files of the proof are called.
const WAYS: [&str; 2] = ["uncompensated", "compensated"];
/// Margins whose polling is compared with what was expected.
const MARGINS_NS: [i64; 4] = [20_000, 50_000, 100_000, 200_000];
/// How long each of several turns of a margin is.
const TURN_NS: i64 = 250_000_000;
const MARGIN_TURNS: usize = 6;
/// A start later than this many readings of the clock is late.
const LATE_READINGS: i64 = 3;

/// Reads `20%`, `0.2` or `1e-4`: a share above 0 and below 1.
fn parse_share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    match number.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share < scale => Ok(share / scale),
        _ => Err(format!("{text:?} is not a share above 0 and below 1, such as 1e-4 or 20%")),
    }
}

impl Args {
    fn wish(&self) -> Wish {
        match (self.late, self.budget) {
            (None, None) => DEFAULT_WISH,
            (late, budget) => Wish { late, budget },
        }
    }

    fn methods(&self) -> Vec<WakeMethod> {
        self.wake.map_or_else(|| METHODS.to_vec(), |wake| vec![wake])
    }

    fn task(&self) -> Result<TaskSpec, Failure> {
        for (value, option) in [(self.block, "block"), (self.sample / SAMPLE_TURNS, "sample")] {
            if value < self.period {
                return Err(Failure::bad_use(anyhow!("--{option} is too short for the period: raise it")));
            }
        }
        let spec = TaskSpec {
            name: "compensated".into(),
            period_ns: self.period,
            cpu: self.cpu,
            policy: self.policy,
            wake: self.wake.unwrap_or_default(),
            ..TaskSpec::default()
        };
        // Whatever contradicts a margin is found with any.
        let with_margin = Compensation::Margin { margin_ns: (self.period / 2).max(1) };
        TaskSpec { compensate: with_margin, ..spec.clone() }.validate().map_err(Failure::bad_use)?;
        Ok(spec)
    }

    /// The run file of one of the two ways.
    fn file(&self, way: &str) -> PathBuf {
        let named = || {
            let stamp: String = host::now_utc().chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from(format!("jitterlab-{stamp}"))
        };
        let stem = self.output.clone().unwrap_or_else(named);
        let stem =
            if stem.extension().is_some_and(|e| e == "parquet") { stem.with_extension("") } else { stem };
        let name = stem.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        stem.with_file_name(format!("{name}-{way}.parquet"))
    }

    /// What all steps take together.
    fn planned_ns(&self) -> i64 {
        self.sample * self.methods().len() as i64
            + Session::curve_ns(self.period)
            + TURN_NS * (MARGIN_TURNS * (1 + self.margins().len())) as i64
            + 2 * i64::from(self.pairs) * self.block
    }

    fn margins(&self) -> Vec<i64> {
        MARGINS_NS.into_iter().filter(|margin_ns| *margin_ns < self.period / 2).collect()
    }
}

/// Latencies of early sleeps, which are those of the uncompensated task, for each wake-up method.
fn sample(args: &Args, session: &mut Session) -> Result<Vec<(TaskSpec, Vec<host::Block>)>, Failure> {
    session.progress.step("measuring latencies of early sleeps");
    let ways: Vec<TaskSpec> =
        args.methods().into_iter().map(|wake| TaskSpec { wake, ..session.spec.clone() }).collect();
    let blocks = session.turns(&ways, SAMPLE_TURNS as usize, args.sample / SAMPLE_TURNS)?;
    Ok(ways.into_iter().zip(blocks).collect())
}

/// Polling as measured and as the latencies of uncompensated blocks in between foretell it.
fn margins(args: &Args, session: &mut Session) -> Result<Vec<MarginPoint>, Failure> {
    session.progress.step("measuring how much margins poll");
    let margins = args.margins();
    let mut ways = vec![session.spec.clone()];
    ways.extend(margins.iter().map(|m| session.compensated(Compensation::Margin { margin_ns: *m })));
    let turns = session.turns(&ways, MARGIN_TURNS, TURN_NS)?;
    let latencies = latency_law(&views(args.period, &turns[0]));
    let tolerance_ns = LATE_READINGS * session.floor_ns;
    let point = |(m, blocks): (&i64, &Vec<host::Block>)| {
        MarginPoint::of(*m, &views(args.period, blocks), &latencies, tolerance_ns)
    };
    Ok(margins.iter().zip(&turns[1..]).filter_map(point).collect())
}

/// What the methods were like, and which of them to use.
fn choose(
    args: &Args,
    sampled: &[(TaskSpec, Vec<host::Block>)],
    service: &ServiceTime,
) -> Result<(usize, Vec<Candidate>), Failure> {
    let candidates = sampled
        .iter()
        .map(|(spec, blocks)| Candidate::of(spec.wake, &views(args.period, blocks), args.wish(), service));
    let none = || anyhow!("no latency was measured: raise --sample");
    let candidates: Vec<Candidate> = candidates.collect::<Option<_>>().ok_or_else(none)?;
    let choices: Vec<MarginChoice> = candidates.iter().map(|c| c.choice).collect();
    Ok((best(&choices).ok_or_else(none)?, candidates))
}

/// Measures, recommends and proves.
pub fn execute(args: &Args) -> Outcome {
    if let Some(path) = &args.figure {
        output::check_figure(path, "--figure")?;
    }
    // Found now rather than after a minute of measuring.
    let paths = if args.no_file { Vec::new() } else { WAYS.map(|way| args.file(way)).to_vec() };
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        let path = path.display();
        return Err(Failure::bad_use(anyhow!(
            "{path} exists already: remove it, or choose another --output"
        )));
    }
    let mut session = Session::prepare(args.task()?, args.cpu_dma_latency, args.planned_ns(), args.quiet)?;
    let sampled = sample(args, &mut session)?;
    session.progress.step("measuring what waking early costs");
    let service = session.service(&sampled[0].1)?;
    let (chosen, candidates) = choose(args, &sampled, &service)?;
    session.spec = sampled[chosen].0.clone();
    let load_curve = session.load_curve(&service, &sampled[chosen].1)?;
    let margins = margins(args, &mut session)?;

    session.progress.step("proving it: uncompensated and compensated blocks in turns");
    let margin_ns = candidates[chosen].choice.margin_ns;
    let ways = [session.spec.clone(), session.compensated(Compensation::Margin { margin_ns })];
    let before = session.stage.facts_now();
    let proven = session.interleave(&ways, args.pairs as usize, args.block)?;
    let after = session.stage.facts_now();
    let proof = (!proven[0].is_empty()).then(|| {
        let [plain, compensated] = [0, 1].map(|way| views(args.period, &proven[way]));
        Proof::of(&plain, &compensated, LATE_READINGS * session.floor_ns)
    });

    let mut notes: Vec<TrialNote> =
        session.stage.warnings().iter().cloned().map(|warning| TrialNote::Machine { warning }).collect();
    notes.append(&mut session.notes);
    for refusal in sampled.iter().flat_map(|(_, blocks)| blocks).flat_map(|b| &b.refused) {
        let refused = TrialNote::Refused { refusal: refusal.clone() };
        if !notes.contains(&refused) {
            notes.push(refused);
        }
    }
    if session.is_interrupted() {
        notes.push(TrialNote::Interrupted);
    }
    notes.extend(proven[1].iter().find_map(|b| b.overload).map(|overload| TrialNote::Stopped { overload }));
    let mut files = Vec::new();
    if proof.is_some() {
        for ((spec, blocks), path) in ways.iter().zip(&proven).zip(&paths) {
            match session.save(spec, blocks, path) {
                Ok(path) => files.push(path.display().to_string()),
                Err(error) => notes.push(TrialNote::NotSaved { why: error.to_string() }),
            }
        }
    }
    if let Some(path) = &args.figure {
        let chart = load::curve(args.period, service.often_ns, &load_curve, None);
        output::write_figure(path, &figure::svg(&[chart])?)?;
        files.push(path.display().to_string());
    }
    let trial = CompensationTrial {
        period_ns: args.period,
        clock_floor: session.clock_floor,
        service,
        candidates,
        chosen,
        load_curve,
        margins,
        longest_hole_ns: proven[1].iter().map(|b| b.result.longest_hole_ns).max().unwrap_or(0),
        proof,
        disturbance: Disturbance::between(&before, &after, session.spec.cpu),
        files,
        notes,
    };
    // Ends the line of the progress first.
    drop(session);
    args.shown.show(Content::Compensation(trial))?;
    Ok(Status::Fine)
}
