//! The result of any command as one value, of which the terminal's text, the JSON and the page's sections are three
//! functions.
//!
//! A result is a type beside its computation, in the room that computes it. To show a new kind of result: add its variant
//! here, and one file of words beside this one with its `text` and `sections`.

use jitterlab_analysis::align::RunAligned;
use jitterlab_analysis::causes::RunWhy;
use jitterlab_analysis::compare::RunsCompared;
use jitterlab_analysis::kernels::{KernelDiff, KernelPeers, KernelRun};
use jitterlab_analysis::matrix::MatrixResult;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::outlook::Outlook;
use jitterlab_analysis::task_analysis::RunAnalysis;
use jitterlab_analysis::trial::CompensationTrial;
use jitterlab_analysis::tune::{StartsResult, TuneResult};
use jitterlab_analysis::wakeup::WaysCompared;
use jitterlab_model::check::CheckReport;
use jitterlab_model::mcu::{McuCost, McuRecommendation, McuSweep};
use jitterlab_motion::catalog::Devices;
use jitterlab_motion::doctor::DoctorResult;
use jitterlab_motion::servo::{PlantFigures, ServoLive, ServoLoops, ServoResult};
use jitterlab_motion::stepper::{StepperDevices, StepperResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::chart::Terminal;
use crate::head::Head;
use crate::motion;
use crate::papers::Reproduction;
use crate::papers::contents::{self, PaperContents};
use crate::section::{Piece, Section};
use crate::wrap;

/// Version of the JSON layout of all results; it grows when a field changes its meaning or goes.
pub const SCHEMA: u32 = 2;

/// The result of a command with what a program needs to read it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Name and version of the writer.
    pub tool: String,
    /// The answer in three lines, where the result judges something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Head>,
    /// The result: `kind` names it, `result` holds it.
    #[serde(flatten)]
    pub content: Content,
}

/// Every kind of result.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "result", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Content {
    /// What `check` found.
    Check(Box<CheckReport>),
    /// What `stepper` found: what timing means for an axis.
    Stepper(Box<StepperResult>),
    /// What `servo` found: what timing means for a loop.
    Servo(Box<ServoResult>),
    /// What `servo` found of several loops of one run.
    ServoLoops(Box<ServoLoops>),
    /// What `servo --live` saw.
    ServoLive(Box<ServoLive>),
    /// What `stepper --list` knows.
    StepperDevices(StepperDevices),
    /// What `servo --list` knows.
    Plants(Devices<PlantFigures>),
    /// What repeating a source document gave.
    Reproduction(Box<Reproduction>),
    /// What `reproduce --list` knows.
    Papers(PaperContents),
    /// What `predict` says of a file.
    Prediction(Outlook),
    /// What `compare` says of runs.
    Comparison(RunsCompared),
    /// What `compare --align` says of a run and its witness.
    Alignment(RunAligned),
    /// What `compensate` found.
    Compensation(Box<CompensationTrial>),
    /// What `doctor` found.
    Doctor(Box<DoctorResult>),
    /// What `tune` found.
    Tune(Box<TuneResult>),
    /// What `tune --continue` says of ways to start the machine.
    Starts(Box<StartsResult>),
    /// What `compare-wakeups` measured.
    CompareWakeups(WaysCompared),
    /// What `analyze` says of a run.
    Analysis(Box<RunAnalysis>),
    /// What `why` says of a run.
    Why(Box<RunWhy>),
    /// What `run` or `mcu run` measured.
    Run(Box<MeasuredRun>),
    /// What `kernel run` measured.
    KernelRun(KernelRun),
    /// What `kernel diff` found.
    KernelDiff(KernelDiff),
    /// What `kernel peers` measured.
    KernelPeers(KernelPeers),
    /// What `matrix` measured, and the placement it speaks for.
    Matrix(Box<MatrixResult>),
    /// What `mcu sweep` measured.
    McuSweep(McuSweep),
    /// `mcu cost`.
    McuCost(McuCost),
    /// What `mcu recommend` found.
    McuRecommendation(McuRecommendation),
}

impl Content {
    /// Reads the result of a kind. (What serde derives for a tag reads every type in two more ways, a tenth of the program.)
    fn read(kind: &str, text: &str) -> Result<Self, DocumentError> {
        fn result<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
            #[derive(Deserialize)]
            struct Envelope<T> {
                result: T,
            }
            serde_json::from_slice(text.as_bytes()).map(|Envelope { result }| result)
        }
        Ok(match kind {
            "check" => Content::Check(result(text)?),
            "stepper" => Content::Stepper(result(text)?),
            "servo" => Content::Servo(result(text)?),
            "servo-live" => Content::ServoLive(result(text)?),
            "servo-loops" => Content::ServoLoops(result(text)?),
            "stepper-devices" => Content::StepperDevices(result(text)?),
            "plants" => Content::Plants(result(text)?),
            "reproduction" => Content::Reproduction(result(text)?),
            "papers" => Content::Papers(result(text)?),
            "prediction" => Content::Prediction(result(text)?),
            "comparison" => Content::Comparison(result(text)?),
            "compensation" => Content::Compensation(result(text)?),
            "tune" => Content::Tune(result(text)?),
            "starts" => Content::Starts(result(text)?),
            "compare-wakeups" => Content::CompareWakeups(result(text)?),
            "analysis" => Content::Analysis(result(text)?),
            "why" => Content::Why(result(text)?),
            "run" => Content::Run(result(text)?),
            "doctor" => Content::Doctor(result(text)?),
            "kernel-run" => Content::KernelRun(result(text)?),
            "kernel-diff" => Content::KernelDiff(result(text)?),
            "kernel-peers" => Content::KernelPeers(result(text)?),
            "matrix" => Content::Matrix(result(text)?),
            "mcu-sweep" => Content::McuSweep(result(text)?),
            "mcu-cost" => Content::McuCost(result(text)?),
            "mcu-recommendation" => Content::McuRecommendation(result(text)?),
            "alignment" => Content::Alignment(result(text)?),
            _ => return Err(DocumentError::Kind(kind.into())),
        })
    }
}

/// How much of a result is told on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// The head alone.
    Head,
    /// The head and what it rests on, a screen of it.
    #[default]
    Answer,
    /// Everything.
    Details,
}

/// Why a text is no document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is no JSON, or not that of a result.
    #[error("it cannot be read as a result of jitterlab: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of another version.
    #[error(
        "it was written with layout {0} of results, and this jitterlab reads layout {SCHEMA}: repeat the command that wrote it"
    )]
    Version(u32),
    /// It is a result that this jitterlab does not know.
    #[error("it is a result of the kind {0:?}, which this jitterlab does not know")]
    Kind(String),
}

impl Document {
    /// A document of this jitterlab.
    #[must_use]
    pub fn new(content: Content) -> Self {
        let tool = concat!("jitterlab ", env!("CARGO_PKG_VERSION")).into();
        Document { schema: SCHEMA, tool, head: head_of(&content), content }
    }

    /// Reads what [`Document::json`] wrote.
    ///
    /// # Errors
    /// It is no JSON, of another version, or lacks a field: nothing is guessed.
    pub fn read(text: &str) -> Result<Self, DocumentError> {
        #[derive(Deserialize)]
        struct Envelope {
            schema: u32,
            #[serde(default)]
            tool: String,
            #[serde(default)]
            kind: String,
        }
        let Envelope { schema, tool, kind } = serde_json::from_slice(text.as_bytes())?;
        if schema != SCHEMA {
            return Err(DocumentError::Version(schema));
        }
        // In a pass of its own, since serde cannot read numbers as keys behind `flatten`.
        let content = Content::read(&kind, text)?;
        Ok(Document { schema, tool, head: head_of(&content), content })
    }

    /// The JSON that `--json` prints, ending with a line feed.
    ///
    /// # Errors
    /// A value that JSON cannot hold: never in practice.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The text for the terminal, figures included.
    #[must_use]
    pub fn text(&self, terminal: Terminal) -> String {
        self.told(Extent::Details, terminal)
    }

    /// As much of the text for the terminal as is wanted. What has no head is told whole.
    #[must_use]
    pub fn told(&self, extent: Extent, terminal: Terminal) -> String {
        wrap::at(terminal.columns, || self.spelled(extent, terminal))
    }

    fn spelled(&self, extent: Extent, terminal: Terminal) -> String {
        let head = self.head.as_ref().map_or_else(String::new, |head| head.text(terminal));
        let rest = match extent {
            Extent::Head if self.head.is_some() => String::new(),
            Extent::Answer if self.head.is_some() => {
                self.answer(terminal).unwrap_or_else(|| self.words(terminal))
            }
            _ => self.words(terminal),
        };
        let gap = if head.is_empty() || rest.is_empty() { "" } else { "\n" };
        // Whatever was not broken where it was written.
        let mut text = wrap::broken(&format!("{head}{gap}{rest}"));
        if !text.is_empty() {
            text.push('\n');
        }
        terminal.spelled(text)
    }

    /// What stands below the head where not everything is wanted; `None` where that is everything.
    fn answer(&self, terminal: Terminal) -> Option<String> {
        match &self.content {
            Content::Check(report) => Some(crate::check::answer(report)),
            Content::Doctor(result) => Some(crate::doctor::answer(result, terminal)),
            Content::Run(run) => Some(crate::summary::answer(run)),
            Content::Stepper(result) => Some(motion::stepper_answer::text(result)),
            Content::Servo(result) => motion::servo::answer(result),
            Content::Prediction(outlook) => crate::prediction::short(outlook),
            Content::Comparison(compared) => Some(crate::comparison::answer(compared)),
            Content::KernelRun(run) => crate::kernels::answer(run, terminal),
            _ => None,
        }
    }

    fn words(&self, terminal: Terminal) -> String {
        match &self.content {
            Content::Check(report) => crate::check::text(report, terminal),
            Content::Stepper(result) => motion::stepper::text(result, terminal),
            Content::Servo(result) => motion::servo::text(result, terminal),
            Content::ServoLoops(result) => motion::servo_loops::text(result, terminal),
            Content::ServoLive(live) => motion::servo_live::text(live),
            Content::StepperDevices(devices) => motion::devices::stepper_text(devices),
            Content::Plants(devices) => motion::devices::plants_text(devices),
            Content::Reproduction(found) => crate::papers::text(found, terminal),
            Content::Papers(contents) => contents::text(contents),
            Content::Prediction(outlook) => crate::prediction::text(outlook, terminal),
            Content::Comparison(compared) => crate::comparison::text(compared, terminal),
            Content::Compensation(trial) => crate::compensation::text(trial, terminal),
            Content::Analysis(analysis) => crate::patterns::text(analysis, terminal),
            Content::Why(why) => crate::why::text(why),
            Content::Doctor(result) => crate::doctor::text(result, terminal),
            Content::Run(run) => crate::summary::text(run, terminal),
            Content::KernelRun(run) => crate::kernels::text(run, terminal),
            Content::Matrix(result) => crate::matrix::text(result, terminal),
            Content::CompareWakeups(_)
            | Content::Alignment(_)
            | Content::Tune(_)
            | Content::Starts(_)
            | Content::KernelDiff(_)
            | Content::KernelPeers(_)
            | Content::McuSweep(_)
            | Content::McuCost(_)
            | Content::McuRecommendation(_) => {
                self.parts().iter().map(|section| section.text(terminal)).collect()
            }
        }
    }

    /// What the page shows of it, and `plot` draws: its head first.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = self.parts();
        if let (Some(head), Some(first)) = (&self.head, sections.first_mut()) {
            first.pieces.insert(0, Piece::Answer(head.clone()));
        }
        sections
    }

    fn parts(&self) -> Vec<Section> {
        match &self.content {
            Content::Check(report) => vec![crate::page::checks::section(report)],
            Content::Stepper(result) => vec![motion::stepper::section(result)],
            Content::Servo(result) => vec![motion::servo::section(result)],
            Content::ServoLoops(result) => vec![motion::servo_loops::section(result)],
            Content::ServoLive(live) => vec![motion::servo_live::section(live)],
            Content::StepperDevices(devices) => vec![motion::devices::stepper_section(devices)],
            Content::Plants(devices) => vec![motion::devices::plants_section(devices)],
            Content::Reproduction(found) => crate::papers::sections(&found.found),
            Content::Papers(contents) => vec![contents::section(contents)],
            Content::Prediction(outlook) => crate::prediction::sections(outlook),
            Content::Comparison(compared) => crate::comparison::sections(compared),
            Content::Alignment(aligned) => vec![crate::alignment::section(aligned)],
            Content::Compensation(trial) => crate::compensation::sections(trial),
            Content::Matrix(result) => crate::matrix::sections(result),
            Content::Doctor(result) => crate::doctor::sections(result),
            Content::Tune(result) => vec![crate::tune::section(result)],
            Content::Starts(result) => vec![crate::tune::starts::section(result)],
            Content::CompareWakeups(compared) => vec![crate::wakeups::section(compared)],
            Content::KernelRun(run) => vec![crate::kernels::section(run)],
            Content::KernelDiff(diff) => vec![crate::kernels::difference(diff)],
            Content::KernelPeers(peers) => vec![crate::kernels::peers(peers)],
            Content::McuSweep(sweep) => vec![crate::mcu::sweep(&sweep.alarms)],
            Content::McuCost(cost) => vec![crate::mcu::cost(cost)],
            Content::McuRecommendation(choices) => vec![crate::mcu::recommendation(choices)],
            // A run is shown from its file, which holds all of it.
            Content::Run(_) | Content::Analysis(_) | Content::Why(_) => Vec::new(),
        }
    }
}

/// The head of a result; `None` for a result that judges nothing.
fn head_of(content: &Content) -> Option<Head> {
    match content {
        Content::Check(report) => Some(crate::check::head(report)),
        Content::Run(measured) => crate::head::run::measured(measured),
        Content::Analysis(analysis) => crate::head::run::analysed(analysis),
        Content::Stepper(result) => Some(motion::stepper_answer::head(result)),
        Content::Servo(result) => motion::servo_verdict::head(result),
        Content::ServoLoops(result) => motion::servo_loops::head(result),
        Content::Prediction(outlook) => crate::head::outlook::of(outlook),
        Content::Comparison(compared) => crate::comparison::head::of(compared),
        Content::Alignment(aligned) => Some(crate::alignment::head(aligned)),
        Content::Matrix(result) => crate::matrix::head(result),
        Content::Doctor(result) => Some(crate::doctor::head(result)),
        Content::Tune(result) => Some(crate::tune::head(result)),
        Content::Starts(result) => Some(crate::tune::starts::head(result)),
        Content::Compensation(trial) => crate::compensation::head(trial),
        Content::ServoLive(live) => Some(motion::servo_live::head(live)),
        Content::Reproduction(found) => crate::papers::head::of(found),
        Content::Papers(contents) => crate::papers::head::of_contents(contents),
        Content::McuSweep(sweep) => crate::mcu::head::sweep(sweep),
        Content::McuCost(cost) => crate::mcu::head::cost(cost),
        Content::McuRecommendation(found) => Some(crate::mcu::head(found)),
        Content::Why(why) => crate::why::answer(why),
        Content::CompareWakeups(compared) => Some(crate::wakeups::head(compared)),
        Content::KernelRun(run) => crate::head::kernels::run(run),
        Content::KernelDiff(diff) => Some(crate::head::kernels::diff(diff)),
        Content::KernelPeers(peers) => crate::head::kernels::peers(peers),
        _ => None,
    }
}

/// The JSON Schema of [`Document`], of what every command prints with `--json`, as it was made of the types and is shipped.
pub const SCHEMA_TEXT: &str = include_str!("schema.json");

/// The JSON Schema of [`Document`] made of the types: what [`SCHEMA_TEXT`] has to say.
#[cfg(feature = "schema")]
#[must_use]
pub fn schema() -> schemars::Schema {
    use schemars::Schema;
    use schemars::transform::{RecursiveTransform, Transform as _};
    use serde_json::Value;

    let mut schema = schemars::schema_for!(Document);
    // Examples in Rust help no reader of JSON.
    let without_examples = |part: &mut Schema| {
        if let Some(Value::String(text)) = part.get_mut("description")
            && let Some(example) = text.find("\n\n```")
        {
            text.truncate(example);
        }
    };
    RecursiveTransform(without_examples).transform(&mut schema);
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_kind_can_be_read() {
        let schema: Value = serde_json::from_str(SCHEMA_TEXT).unwrap();
        let kinds = schema.get("oneOf").and_then(Value::as_array).unwrap().iter();
        let kinds: Vec<&str> =
            kinds.map(|k| k.pointer("/properties/kind/const").unwrap().as_str().unwrap()).collect();
        assert!(kinds.contains(&"check") && kinds.len() > 20, "{kinds:?}");
        for kind in kinds {
            assert!(matches!(Content::read(kind, "{}"), Err(DocumentError::Json(_))), "{kind}");
        }
        assert!(matches!(Content::read("tea", "{}"), Err(DocumentError::Kind(_))));
    }
}
