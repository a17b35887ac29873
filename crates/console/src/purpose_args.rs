//! Purpose that a machine is judged for: the same option for every command that judges a run.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_analysis::purposes::{PURPOSES, Purpose};
use jitterlab_model::TaskSpec;
use jitterlab_report::purpose::title;

/// The purpose, if one is named.
#[derive(clap::Args)]
pub struct PurposeArgs {
    /// Judge for this purpose only, and let the exit status say whether it is served [default: all usual ones]
    #[arg(long = "for", value_name = "PURPOSE", value_parser = purpose_parser())]
    pub purpose: Option<&'static Purpose>,
}

/// Parser of an option whose value is the name of a purpose.
pub fn purpose_parser() -> impl TypedValueParser<Value = &'static Purpose> {
    let each = PURPOSES.iter().map(|purpose| PossibleValue::new(purpose.name).help(title(purpose.name)));
    PossibleValuesParser::new(each)
        .try_map(|name| Purpose::by_name(&name).ok_or_else(|| format!("there is no purpose {name}")))
}

impl PurposeArgs {
    /// The task with the period that tests the named purpose; the usual one if none is named.
    pub fn task(&self) -> TaskSpec {
        let usual = TaskSpec::default();
        TaskSpec { period_ns: self.purpose.map_or(usual.period_ns, |purpose| purpose.period_ns), ..usual }
    }
}
