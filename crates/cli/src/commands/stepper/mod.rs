//! `jitterlab stepper`: what a run's timing means for a stepper axis.

mod axis;

use std::path::PathBuf;

use anyhow::anyhow;
use jitterlab_model::Overrun;
use jitterlab_model::units::{Exact, Human, parse_duration_ns, parse_period_ns};
use jitterlab_motion::stepper::{
    Assessment, Axis, Drive, IntervalErrors, Motor, POLICIES, Response, StepTiming, fastest_punctual,
    latencies_ns, play,
};
use jitterlab_report::page::documents;
use jitterlab_report::stepper::{Simulated, Simulations};
use jitterlab_runs::OneTask;
use serde::Serialize;

use self::axis::AxisArgs;
use crate::devices::{devices, like};
use crate::exit::{Failure, Outcome, Status};
use crate::output;
use crate::run_args::{RunArgs, caveats};

/// Say what a run's timing means for a stepper motor: torque, lost steps, step rate
///
/// Only a motor is needed: a data sheet's name, or a frame size and a holding torque. What else is not given is
/// assumed, and listed with the answer.
#[derive(clap::Args)]
pub struct Args {
    /// The run to judge, or the output of another tool such as cyclictest's histogram [default: the jitter given by
    /// --jitter]
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    #[command(flatten)]
    read: RunArgs,
    /// Without a run: latencies assumed to spread over this much
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME", conflicts_with = "run")]
    jitter: Option<i64>,
    /// A second run, such as one with compensation, to simulate beside the first
    #[arg(long, value_name = "RUN", requires = "run", conflicts_with = "jitter")]
    beside: Option<PathBuf>,

    #[command(flatten)]
    axis: AxisArgs,
    /// Base period of the step generator [default: the run's period up to 200us, else StepConf's]
    #[arg(long, value_parser = parse_period_ns, value_name = "TIME")]
    base_period: Option<i64>,

    /// Speeds for the table: 5rev/s, 300rpm, 600mm/min, 8kHz (pulses), 1000steps/s; a list with commas, or a range
    /// 1rev/s..10rev/s [default: ten, up to the fastest at which the motor carries its load]
    #[arg(long, value_name = "SPEEDS")]
    speed: Option<String>,
    /// Longest time to simulate, around the worst event
    #[arg(long, value_parser = parse_duration_ns, default_value = "20s", value_name = "TIME")]
    simulate: i64,

    /// List motors and drives, the shipped and your own, and the directory for your own
    #[arg(long)]
    list: bool,
    /// Print the result as JSON (docs/formats/motion.md)
    #[arg(long)]
    json: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
}

/// Version of the JSON layout.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    answer: String,
    axis: &'a Axis,
    run: Option<&'a PathBuf>,
    assessment: &'a Assessment,
    simulated_steps_per_s: Option<f64>,
    simulations: Vec<SimulationDocument<'a>>,
    caveats: &'a [String],
}

#[derive(Serialize)]
struct SimulationDocument<'a> {
    run: &'a str,
    policy: Option<&'a str>,
    response: &'a Response,
    loses_from_steps_per_s: Option<f64>,
}

/// Judges and prints.
pub fn execute(args: &Args) -> Outcome {
    if args.list {
        output::print(&list())?;
        return Ok(Status::Fine);
    }
    if let Some(base) = args.base_period.filter(|base| *base < SHORTEST_BASE_NS) {
        return Err(Failure::bad_use(anyhow!(
            "no computer makes step pulses on a base period of {}: give --base-period at least {}",
            Exact(base),
            Exact(SHORTEST_BASE_NS)
        )));
    }
    if args.simulate < SHORTEST_SIMULATION_NS {
        return Err(Failure::bad_use(anyhow!(
            "{} of simulation show nothing: give --simulate at least {}",
            Exact(args.simulate),
            Exact(SHORTEST_SIMULATION_NS)
        )));
    }
    let axis = args.axis.axis()?;
    let mut speeds = match &args.speed {
        Some(text) => axis.read_speeds(text).map_err(Failure::bad_use)?,
        None => Assessment::usual_speeds(&axis)?,
    };
    speeds.sort_by(f64::total_cmp);
    speeds.dedup();
    let run = args.run.as_ref().map(|path| args.open(path)).transpose()?;
    let (timing, whose, mut caveats) = match &run {
        Some(run) => {
            let timing = StepTiming::of(&run.stats).ok_or_else(|| anyhow!("the run has no activations"))?;
            let whose = format!("task {} every {}", run.name(), Human(run.stats.period_ns() as f64));
            (timing, whose, caveats(run))
        }
        None => {
            let jitter = args.jitter.ok_or_else(|| {
                Failure::bad_use(anyhow!(
                    "no timing to judge: name a run file, or assume a spread with --jitter 20us"
                ))
            })?;
            (StepTiming::assumed(jitter), "assumed".into(), Vec::new())
        }
    };
    let errors = run.as_ref().map(|run| match &run.stats.period_error {
        measured if measured.count() > 0 => IntervalErrors::Measured(measured),
        _ => IntervalErrors::FromLatency(&run.stats.latency),
    });
    if let Some(IntervalErrors::FromLatency(_)) = errors {
        caveats.push(
            "only a histogram of latencies is known: intervals are taken as if each latency were independent of the last"
                .into(),
        );
    }
    let found = Assessment::new(&axis, timing, errors, args.base_period, &speeds)?;
    if let Some(period_ns) = timing.period_ns {
        caveats.extend(other_period("the run has", period_ns, found.base_period_ns));
    }
    let beside = args.beside.as_ref().map(|path| args.open(path)).transpose()?;
    let simulations = match &run {
        Some(run) => match args.simulations(&axis, &found, [Some(run), beside.as_ref()], &speeds) {
            Ok(simulations) => Some(simulations),
            Err(why) => {
                caveats.push(format!("nothing was simulated: {why:#}"));
                None
            }
        },
        None => None,
    };
    if let Some(beside) = &beside {
        caveats.extend(other_period("the run beside it has", beside.stats.period_ns(), found.base_period_ns));
    }
    let document = Document {
        schema: SCHEMA,
        answer: jitterlab_report::stepper::answer(&axis, &found),
        axis: &axis,
        run: args.run.as_ref(),
        assessment: &found,
        simulated_steps_per_s: simulations.as_ref().map(|s| s.steps_per_s),
        simulations: simulations.iter().flat_map(|s| &s.of).map(SimulationDocument::from).collect(),
        caveats: &caveats,
    };
    output::print(&if args.json {
        serde_json::to_string_pretty(&document)? + "\n"
    } else {
        let text = jitterlab_report::stepper::text(&axis, &found, &whose, simulations.as_ref(), &caveats);
        // One speed makes no curve.
        if found.rows.len() < 2 {
            text
        } else {
            let figures = documents::charts(&document, &["torque"]);
            text + "\n" + &output::terminal(args.ascii).figures(&figures)
        }
    })?;
    Ok(Status::Fine)
}

impl<'a> From<&'a Simulated> for SimulationDocument<'a> {
    fn from(s: &'a Simulated) -> Self {
        SimulationDocument {
            run: &s.run,
            policy: s.policy.as_deref(),
            response: &s.response,
            loses_from_steps_per_s: s.loses_from,
        }
    }
}

impl Args {
    /// The task that makes the step pulses: the named one, or the one with the shortest period.
    fn open(&self, path: &std::path::Path) -> Result<OneTask, Failure> {
        self.read.one_task(path, |spec| spec.period_ns)
    }

    /// The run, and the one beside it, under both policies, around their worst events.
    fn simulations(
        &self,
        axis: &Axis,
        found: &Assessment,
        runs: [Option<&OneTask>; 2],
        speeds: &[f64],
    ) -> Result<Simulations, anyhow::Error> {
        let most = found.most_pulses_per_s();
        let (within, beyond): (Vec<f64>, Vec<f64>) =
            speeds.iter().partition(|f| axis.pulses_per_s(**f) <= most);
        let Some(steps_per_s) = fastest_punctual(axis, found.base_period_ns, &within) else {
            return Err(anyhow!(
                "none of the speeds can be made on a base period of {} at {} microsteps, even by punctual steps; name \
                 a slower one with --speed or a shorter --base-period",
                Human(found.base_period_ns as f64),
                axis.microsteps
            ));
        };
        let base_period_ns = found.base_period_ns;
        let ticks = (self.simulate / base_period_ns).max(1) as u64;
        let second = vec![0; (1_000_000_000 / base_period_ns) as usize];
        let (made, lost): (Vec<f64>, Vec<f64>) =
            within.into_iter().partition(|f| fastest_punctual(axis, base_period_ns, &[*f]).is_some());
        let punctual = Simulated {
            run: "punctual ticks".into(),
            beside: false,
            policy: None,
            response: play(axis, steps_per_s, base_period_ns, &second, Overrun::Skip)?,
            loses_from: lost.into_iter().chain(beyond).next(),
        };
        let mut simulations = Simulations { steps_per_s, of: vec![punctual] };
        let named = |path: &Option<PathBuf>| {
            path.as_ref().and_then(|p| p.file_stem()).unwrap_or_default().to_string_lossy().into_owned()
        };
        let names = [named(&self.run), named(&self.beside)];
        for (number, (name, run)) in names.into_iter().zip(runs).enumerate() {
            let Some(run) = run else { continue };
            let rows = run.rows_around_worst(ticks / 2, ticks / 2)?;
            let activations = run.activations(rows)?;
            let latencies: Vec<i64> = latencies_ns(&activations).collect();
            if latencies.len() as i64 * base_period_ns > TOLD_FROM_NS {
                output::note(&format!("simulating the motor under {name} at {} speeds", made.len()));
            }
            for policy in POLICIES {
                let played = |f: f64| play(axis, f, base_period_ns, &latencies, policy);
                let lost = |f: &f64| played(*f).is_ok_and(|response| !response.kept_steps());
                simulations.of.push(Simulated {
                    run: name.clone(),
                    beside: number > 0,
                    policy: Some(policy.to_string()),
                    response: played(steps_per_s)?,
                    loses_from: made.iter().copied().find(lost),
                });
            }
        }
        Ok(simulations)
    }
}

/// What speaks against taking latencies of one period for those of another.
fn other_period(whose: &str, period_ns: i64, base_period_ns: i64) -> Option<String> {
    let base = Exact(base_period_ns);
    (period_ns != base_period_ns).then(|| {
        format!(
            "{whose} a period of {} and the step generator one of {base}: its latencies are taken as if they did not \
             depend on the period; measure one with --period {base} to be sure",
            Exact(period_ns)
        )
    })
}

/// A base period below this is a slip of the pen.
const SHORTEST_BASE_NS: i64 = 1_000;
/// About a swing of a rotor.
const SHORTEST_SIMULATION_NS: i64 = 10_000_000;
/// Longer stretches take seconds to play at every speed, which is said.
const TOLD_FROM_NS: i64 = 5_000_000_000;

fn list() -> String {
    let (motors, of_motors) = devices::<Motor>();
    let (drives, of_drives) = devices::<Drive>();
    format!(
        "{}your own: TOML files in {of_motors}{}\n{}your own: TOML files in {of_drives}{}",
        jitterlab_report::stepper::motors(motors),
        like::<Motor>("as1050"),
        jitterlab_report::stepper::drives(drives),
        like::<Drive>("gecko203v")
    )
}
