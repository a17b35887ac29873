//! Names of the quantities of an activation.

use jitterlab_model::{Error, Quantity};

/// Its name in sentences and on axes, its name in tables, and how it is asked for.
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

/// Its name in sentences and on axes.
pub fn name(quantity: Quantity) -> &'static str {
    names(quantity)[0]
}

/// Its name in tables.
pub fn row(quantity: Quantity) -> &'static str {
    names(quantity)[1]
}

/// Names of the shown quantities in options, for help and errors: `latency, corrected, period, cycle,
/// execution`.
pub fn list() -> String {
    Quantity::SHOWN.map(|quantity| names(quantity)[2]).join(", ")
}

/// Help text of `plot --quantity`.
pub fn help() -> String {
    format!("Of what, for histogram and percentiles: {}; for series: latency, period, execution", list())
}

pub fn parse(text: &str) -> Result<Quantity, Error> {
    let asked = if text == "period-error" { "period" } else { text };
    let found = Quantity::SHOWN.into_iter().find(|quantity| names(*quantity)[2] == asked);
    found.ok_or_else(|| {
        Error::bad_use(format!("{text:?} is not a quantity")).remedy(format!("choose one of {}", list()))
    })
}
