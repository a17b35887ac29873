//! Mistakes answered with what was meant: habits from other tools, values without their unit.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use jitterlab_model::units::{UnitError, parse_duration_ns};
use jitterlab_report::start::{CYCLICTEST, TOOLS, to_analyze};

use crate::error::CliError;

/// The same error with what was meant, where that is known.
pub fn answered(mut error: clap::Error) -> clap::Error {
    let given = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let meant = match error.kind() {
        ErrorKind::UnknownArgument => given(ContextKind::InvalidArg).and_then(|argument| {
            let habit = CYCLICTEST.iter().find(|(option, _)| *option == argument);
            habit.map(|(_, ours)| (*ours).to_owned())
        }),
        ErrorKind::InvalidSubcommand => given(ContextKind::InvalidSubcommand).and_then(|name| {
            let tool = TOOLS.iter().find(|(tool, _)| *tool == name).map(|(_, ours)| (*ours).to_owned());
            tool.or_else(|| Path::new(&name).is_file().then(|| to_analyze(&name)))
        }),
        _ => None,
    };
    if let Some(meant) = meant {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![meant.into()]));
    }
    error
}

/// How long something lasts. A number alone is meant in seconds, and told so.
pub fn duration(text: &str) -> Result<i64, CliError> {
    parse_duration_ns(text).map_err(|error| match error {
        UnitError::NoUnit(number) => CliError::NoUnit(number),
        other => CliError::NoTime(other),
    })
}

/// Reads `20%`, `0.2` or `1e-4`: a share above 0 and below 1.
pub fn share(text: &str) -> Result<f64, CliError> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    match number.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share < scale => Ok(share / scale),
        Ok(percent) if scale == 1.0 && (1.0..100.0).contains(&percent) => {
            Err(CliError::NoPercent(text.into()))
        }
        _ => Err(CliError::NotAShare(text.into())),
    }
}

/// A processor's number.
pub fn processor(text: &str) -> Result<u16, CliError> {
    text.trim().parse().map_err(|_| CliError::NotAProcessor(text.into()))
}

/// A NEMA frame size: 23, also as nema23.
pub fn frame(text: &str) -> Result<u32, CliError> {
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.strip_prefix("nema").unwrap_or(&lower).trim_start_matches([' ', '-']);
    number.parse().map_err(|_| CliError::NotAFrame(text.into()))
}
