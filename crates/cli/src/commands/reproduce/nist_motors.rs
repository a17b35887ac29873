//! NIST, section 4: what the jitter of section 3 takes from three motors (table 1).

use crate::exit::{Outcome, Status};
use crate::output;

/// Prints the table with computed values beside the printed ones, and what does not follow.
pub fn reproduce() -> Outcome {
    output::print(&(jitterlab_report::nist::table_1() + "\n"))?;
    Ok(Status::Fine)
}
