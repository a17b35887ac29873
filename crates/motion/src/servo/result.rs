//! What `servo` answers: a loop, what it stands, and what a run's timing costs it or what constant delays would.

use jitterlab_model::Activation;
use serde::{Deserialize, Serialize};

use super::assessment::{LoopAssessment, Margins};
use super::evaluate::Question;
use super::jump_linear::Stationary;
use super::response::Reference;
use crate::error::MotionError;
use crate::judged_run::JudgedRun;

/// Which loop an answer is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopDescription {
    /// The plant's name.
    pub plant: String,
    /// Names of its outputs.
    pub outputs: Vec<String>,
    /// The controller: `pd`, `pid`, `state-feedback`, `lqg` or `discrete`.
    pub controller: String,
    /// The period it is designed for.
    pub period_ns: i64,
}

impl From<&Question> for LoopDescription {
    fn from(question: &Question) -> Self {
        let Question { plant, period_ns, .. } = question;
        let (plant, outputs, controller) = (plant.name.clone(), plant.outputs.clone(), plant.design.name());
        LoopDescription { plant, outputs, controller: controller.into(), period_ns: *period_ns }
    }
}

/// What a loop stands, and what timing does to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServoResult {
    /// The loop.
    #[serde(rename = "loop")]
    pub closed: LoopDescription,
    /// How much more delay and jitter it stands.
    pub margins: Margins,
    /// What it was judged by.
    pub judged: Judged,
}

/// What a loop was judged by.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Judged {
    /// A run.
    Run(Box<LoopUnderRun>),
    /// Constant delays, where there is no run.
    ConstantDelays {
        /// The cost of each tenth of a period of delay, from none on.
        costs: Vec<DelayCost>,
    },
}

/// A loop under a run's timing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopUnderRun {
    /// The run.
    pub run: JudgedRun,
    /// Activations judged: those around the worst latency, where the run has more.
    pub activations: u64,
    /// What was found.
    #[serde(flatten)]
    pub assessment: LoopAssessment,
}

/// The cost of a constant delay.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayCost {
    /// From sampling to actuation.
    pub delay_ns: i64,
    /// The loop with it.
    #[serde(flatten)]
    pub stationary: Stationary,
}

impl ServoResult {
    /// Judges the activations of the run's task that closes the loop. References default to
    /// [`usual_references`](super::usual_references).
    ///
    /// # Errors
    /// As [`Question::evaluate`].
    pub fn under_run(
        question: &Question,
        run: JudgedRun,
        trace: &[Activation],
        references: &[Reference],
    ) -> Result<ServoResult, MotionError> {
        let references = (!references.is_empty()).then_some(references);
        let (assessment, margins) = LoopAssessment::new(question, trace, references)?;
        let under = LoopUnderRun { run, activations: trace.len() as u64, assessment };
        Ok(ServoResult { closed: question.into(), margins, judged: Judged::Run(Box::new(under)) })
    }

    /// What a loop stands, without a run.
    ///
    /// # Errors
    /// As [`super::Design::controller`].
    pub fn alone(question: &Question) -> Result<ServoResult, MotionError> {
        let margins = Margins::of(question, 0)?;
        let tenths = (0..=10).map(|tenth| question.period_ns * tenth / 10);
        let costs = tenths
            .map(|delay_ns| Ok(DelayCost { delay_ns, stationary: question.constant(0, delay_ns)? }))
            .collect::<Result<_, MotionError>>()?;
        Ok(ServoResult { closed: question.into(), margins, judged: Judged::ConstantDelays { costs } })
    }

    /// Whether the loop stays stable under the run's timing; without a run, without delay.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        match &self.judged {
            Judged::Run(under) => under.assessment.evaluation.clustered.is_stable(),
            Judged::ConstantDelays { costs } => costs.first().is_some_and(|c| c.stationary.is_stable()),
        }
    }
}
