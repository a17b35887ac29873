//! What people write in options and files: what is read is printed as something that is read as the same.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use jitterlab_analysis::require::Requirement;
use jitterlab_host::DmaLatency;
use jitterlab_host::load::parse_loads;
use jitterlab_kernel::KernelChoice;
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use jitterlab_model::{Compensation, CpuSet, Policy, TaskSpec, WakeMethod, Work};
use jitterlab_motion::servo::{Design, Reference};

fn comes_back<T: FromStr + Display + PartialEq>(text: &str) {
    let Ok(read) = text.parse::<T>() else { return };
    let printed = read.to_string();
    let again = printed.parse::<T>().ok();
    assert!(again.is_some_and(|again| again == read), "{text:?} was read, and printed as {printed:?}");
}

/// Each way to read an option.
pub fn texts(_: &Path, data: &[u8], _long: bool) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    comes_back::<TaskSpec>(text);
    comes_back::<Policy>(text);
    comes_back::<Compensation>(text);
    comes_back::<WakeMethod>(text);
    comes_back::<Work>(text);
    comes_back::<CpuSet>(text);
    comes_back::<KernelChoice>(text);
    if let Ok(spec) = text.parse::<TaskSpec>() {
        let _ = spec.validate();
    }
    if let Some(cpus) = CpuSet::from_mask(text) {
        assert_eq!(CpuSet::from_mask(&cpus.to_mask()), Some(cpus));
    }
    assert!(parse_period_ns(text).is_ok_and(|ns| ns > 0) || parse_period_ns(text).is_err());
    assert!(parse_duration_ns(text).is_ok_and(|ns| ns >= 0) || parse_duration_ns(text).is_err());
    let _ = text.parse::<Requirement>();
    let _ = text.parse::<DmaLatency>();
    let _ = text.parse::<Reference>();
    let _ = Design::parse(text, 2);
    if let Ok(loads) = parse_loads(text) {
        for load in loads {
            let again = parse_loads(&load.to_string());
            assert!(again.is_ok_and(|again| again == [load.clone()]), "{load}");
        }
    }
}
