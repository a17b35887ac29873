//! The Python package's own module, `jitterlab._native`: the functions that its Python calls, each an ability of
//! another crate. Answers stay here and are held by Python; activations go to it as Arrow, in place.
#![expect(clippy::needless_pass_by_value, reason = "Python hands values over")]
#![expect(clippy::too_many_arguments, reason = "each is a named argument in Python")]

mod analysis_answers;
mod batches;
mod drawn;
mod error;
mod interruptible;
mod motion;
mod record;
mod rendering;
mod run;
mod time;

use pyo3::pymodule;

/// Native part of `jitterlab`; import that package.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::analysis_answers::{Answer, analysis, comparison, outlook, why};
    #[pymodule_export]
    use crate::drawn::Drawn;
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::motion::{servo, stepper};
    #[pymodule_export]
    use crate::record::{Loop, Probed, Recording, write};
    #[pymodule_export]
    use crate::rendering::{plot, write_page};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::time::{duration_to_ns, period_to_ns};
}
