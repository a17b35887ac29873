//! Names of the quantities of an activation.

use jitterlab_model::{Error, Quantity};

/// Names of a quantity: in sentences and on axes, in tables, in options.
fn names(quantity: Quantity) -> [&'static str; 3] {
    match quantity {
        Quantity::Latency => ["latency", "latency", "latency"],
        Quantity::CorrectedLatency => ["corrected latency", "corrected", "corrected"],
        Quantity::MissedAge => ["age of missed due times", "missed, age", "missed-age"],
        Quantity::PeriodError => ["period error", "period error", "period"],
        Quantity::CycleToCycle => ["cycle-to-cycle difference", "cycle to cycle", "cycle"],
        Quantity::Execution => ["execution time", "execution", "execution"],
    }
}

/// Name in sentences and on axes.
pub fn name(quantity: Quantity) -> &'static str {
    names(quantity)[0]
}

/// Name in tables.
pub fn table_name(quantity: Quantity) -> &'static str {
    names(quantity)[1]
}

/// Names of the shown quantities in options: `latency, corrected, period, cycle, execution`.
pub fn option_names() -> String {
    Quantity::SHOWN.map(|quantity| names(quantity)[2]).join(", ")
}

/// Help text of `plot --quantity`.
pub fn option_help() -> String {
    format!(
        "Of what, for histogram and percentiles: {}; for series: latency, period, execution",
        option_names()
    )
}

pub fn parse(text: &str) -> Result<Quantity, Error> {
    let asked = if text == "period-error" { "period" } else { text };
    let found = Quantity::SHOWN.into_iter().find(|quantity| names(*quantity)[2] == asked);
    found.ok_or_else(|| {
        Error::bad_use(format!("{text:?} is not a quantity"))
            .remedy(format!("choose one of {}", option_names()))
    })
}
