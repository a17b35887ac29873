//! `jitterlab servo`: what a run's timing means for a control loop.

mod live;

use std::cmp::Reverse;
use std::path::PathBuf;

use anyhow::anyhow;
use jitterlab_model::units::{Exact, parse_duration_ns};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::{
    Actuation, Assessment, Design, Margins, Plant, Question, Reference, Sampling, Stationary, TaskTiming,
};
use jitterlab_report::figure;
use jitterlab_report::page::documents;
use jitterlab_report::servo::Answer;
use serde::Serialize;

use self::live::LiveArgs;
use crate::devices::{devices, like};
use crate::exit::{Failure, Outcome, Status};
use crate::output;
use crate::run_args::{RunArgs, caveats};

/// Say what a run's timing means for a servo loop: its cost, its stability, what would help
///
/// Without a run, what the loop stands: its margins, and its cost under constant delays.
#[derive(clap::Args)]
pub struct Args {
    /// The run to judge
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    #[command(flatten)]
    read: RunArgs,

    /// The plant: a name from --list, or a TOML file [default: dc-servo, with --live jiwy]
    #[arg(long, value_name = "NAME|FILE")]
    plant: Option<String>,
    /// Another controller than the plant's file names: pd:GAIN:TD, pid:GAIN:TI:TD, state-feedback or lqg
    #[arg(long, value_name = "CONTROLLER")]
    controller: Option<String>,
    /// Constant delay that the controller's design takes into account
    #[arg(long, value_parser = parse_duration_ns, default_value = "0ns", value_name = "TIME")]
    design_delay: i64,
    /// When the sensors are read: at the start of the task, or by hardware when it is due
    #[arg(long, default_value = "start", value_name = "start|due", conflicts_with = "live")]
    sampling: Sampling,
    /// When the output is written: at the end of the task, at its start, at the next start, or by hardware when
    /// the next is due
    #[arg(
        long,
        default_value = "end",
        value_name = "end|start|next-start|next-due",
        conflicts_with = "live"
    )]
    actuation: Actuation,
    /// What to follow in the time-domain simulation: step:1, sine:1:0.5Hz or ramp:2, in the output's unit; may be
    /// given several times [default: a step of 1 and a slow sine]
    #[arg(long = "reference", value_name = "REFERENCE")]
    references: Vec<Reference>,

    #[command(flatten)]
    live: LiveArgs,

    /// Draw the responses into an SVG file
    #[arg(long, value_name = "FILE", requires = "run", conflicts_with = "live")]
    svg: Option<PathBuf>,
    /// List plants, the shipped and your own, and the directory for your own
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

/// Most activations judged, around the worst latency; longer runs are cut.
const MOST_ACTIVATIONS: u64 = 5_000_000;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    answer: String,
    plant: &'a str,
    outputs: &'a [String],
    controller: &'a str,
    period_ns: i64,
    run: Option<&'a PathBuf>,
    assessment: Option<&'a Assessment>,
    margins: &'a Margins,
    constant_delays: Vec<DelayDocument>,
    caveats: &'a [String],
}

#[derive(Serialize)]
struct DelayDocument {
    delay_ns: i64,
    #[serde(flatten)]
    stationary: Stationary,
}

/// Judges and prints.
pub fn execute(args: &Args) -> Outcome {
    if args.list {
        output::print(&list())?;
        return Ok(Status::Fine);
    }
    if args.live.live {
        let question = args.question(args.read.period.unwrap_or(live::PERIOD_NS))?;
        return args.live.execute(&question, &args.references, args.json);
    }
    match &args.run {
        Some(path) => args.judge(path),
        None => args.alone(),
    }
}

impl Args {
    fn question(&self, period_ns: i64) -> Result<Question, Failure> {
        let name = self.plant.as_deref().unwrap_or(if self.live.live { live::PLANT } else { "dc-servo" });
        let mut plant: Plant =
            catalog::find(name, catalog::user_directory::<Plant>().as_deref()).map_err(Failure::bad_use)?;
        if let Some(text) = &self.controller {
            plant.design = Design::parse(text, plant.outputs.len()).map_err(Failure::bad_use)?;
        }
        let question = Question {
            plant,
            period_ns,
            timing: TaskTiming { sampling: self.sampling, actuation: self.actuation },
            design_delay_ns: self.design_delay,
        };
        question.ideal().map_err(Failure::bad_use)?;
        Ok(question)
    }

    /// A loop under a run.
    fn judge(&self, path: &PathBuf) -> Outcome {
        let run = self.read.one_task(path, |spec| Reverse(spec.period_ns))?;
        let question = self.question(run.stats.period_ns())?;
        let rows = run.rows_around_worst(MOST_ACTIVATIONS / 2, MOST_ACTIVATIONS / 2)?;
        let trace = run.activations(rows)?;
        let mut caveats = caveats(&run);
        if (trace.len() as u64) < run.stats.executed() {
            caveats.push(format!(
                "judged by {} of its {} activations, those around the worst latency",
                trace.len(),
                run.stats.executed()
            ));
        }
        let references = (!self.references.is_empty()).then_some(self.references.as_slice());
        let found = Assessment::new(&question, &trace, references).map_err(Failure::bad_use)?;
        let controller = format!(
            "{} every {} (task {})",
            question.plant.design.name(),
            Exact(question.period_ns),
            run.name()
        );
        let document = Document {
            schema: SCHEMA,
            answer: jitterlab_report::servo::sentence(&found.evaluation),
            plant: &question.plant.name,
            outputs: &question.plant.outputs,
            controller: question.plant.design.name(),
            period_ns: question.period_ns,
            run: Some(path),
            margins: &found.margins,
            assessment: Some(&found),
            constant_delays: Vec::new(),
            caveats: &caveats,
        };
        if let Some(file) = &self.svg {
            let svg = figure::svg(&documents::charts(&document, &["step-response"]))?;
            output::write_file(file, svg.as_bytes())?;
        }
        let text = if self.json {
            serde_json::to_string_pretty(&document)? + "\n"
        } else {
            let answer = Answer { plant: &question.plant, controller, found: &found, caveats: &caveats };
            let figures = documents::charts(&document, &["step-response"]);
            jitterlab_report::servo::text(&answer) + "\n" + &output::terminal(self.ascii).figures(&figures)
        };
        output::print(&text)?;
        Ok(if found.evaluation.clustered.is_stable() { Status::Fine } else { Status::RequirementFailed })
    }

    /// A loop without a run: what it stands.
    fn alone(&self) -> Outcome {
        let Some(period_ns) = self.read.period else {
            return Err(Failure::bad_use(anyhow!(
                "no timing to judge: name a run file, or say --period 1ms to see what the loop stands"
            )));
        };
        let question = self.question(period_ns)?;
        let margins = Margins::of(&question, 0).map_err(Failure::bad_use)?;
        let tenths = (0..=10).map(|tenth| period_ns * tenth / 10);
        let costs = tenths
            .map(|delay_ns| Ok((delay_ns, question.constant(0, delay_ns)?)))
            .collect::<Result<Vec<_>, jitterlab_motion::MotionError>>()
            .map_err(Failure::bad_use)?;
        let answer = jitterlab_report::servo::alone(&question, &margins);
        let text = if self.json {
            let delays =
                costs.into_iter().map(|(delay_ns, stationary)| DelayDocument { delay_ns, stationary });
            let document = Document {
                schema: SCHEMA,
                answer,
                plant: &question.plant.name,
                outputs: &question.plant.outputs,
                controller: question.plant.design.name(),
                period_ns,
                run: None,
                assessment: None,
                margins: &margins,
                constant_delays: delays.collect(),
                caveats: &[],
            };
            serde_json::to_string_pretty(&document)? + "\n"
        } else {
            format!(
                "{}\n{}\n{}",
                jitterlab_report::summary::wrap(&answer),
                jitterlab_report::servo::margin_table(&margins),
                jitterlab_report::servo::delay_table(&costs)
            )
        };
        output::print(&text)?;
        Ok(Status::Fine)
    }
}

fn list() -> String {
    let (entries, place) = devices::<Plant>();
    let plants = jitterlab_report::servo::plants(entries);
    format!("{plants}your own: TOML files in {place}{}", like::<Plant>("dc-servo"))
}
