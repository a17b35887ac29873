//! Figures, as Python has them.

use jitterlab_report::chart::{Chart, Drawing};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// A figure that Python holds.
#[pyclass(frozen, module = "jitterlab._native")]
pub(crate) struct Drawn(Drawing);

#[pymethods]
impl Drawn {
    fn svg(&self) -> String {
        self.0.svg()
    }

    fn png(&self) -> PyResult<Vec<u8>> {
        self.0.png().or_raise()
    }
}

impl Drawn {
    pub(crate) fn new(charts: &[Chart]) -> Self {
        Drawn(Drawing::new(charts))
    }
}
