//! Physical quantities as data sheets write them: `1.2 N m`, `269 oz-in`, `0.86 mH`, `300 g cm2`.

use jitterlab_model::Error;

/// Dimension of a quantity: the units it may have. It is read in the SI unit, an angle in degrees, travel in mm
/// per revolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    Torque,
    Angle,
    Inertia,
    Friction,
    Resistance,
    Inductance,
    Current,
    Voltage,
    Time,
    Lead,
}

impl Dimension {
    /// Accepted units with their factors; the first is the one shown in messages.
    const fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            // 1 ozf in = 0.028349523125 kg x 9.80665 m/s^2 x 0.0254 m, exact by definition.
            Dimension::Torque => &[
                ("N m", 1.0),
                ("mN m", 1e-3),
                ("N cm", 1e-2),
                ("oz-in", OZ_IN),
                ("lb-in", 16.0 * OZ_IN),
                ("ozf-in", OZ_IN),
                ("lbf-in", 16.0 * OZ_IN),
                ("kg cm", 0.0980665),
                ("kgf cm", 0.0980665),
            ],
            Dimension::Angle => &[("deg", 1.0), ("rad", 180.0 / std::f64::consts::PI)],
            Dimension::Inertia => &[
                ("kg m2", 1.0),
                ("kg cm2", 1e-4),
                ("g cm2", 1e-7),
                ("oz-in2", 0.028349523125 * 0.0254 * 0.0254),
            ],
            Dimension::Friction => &[("N m s/rad", 1.0), ("N m s", 1.0), ("mN m s/rad", 1e-3)],
            Dimension::Resistance => &[("ohm", 1.0), ("mohm", 1e-3)],
            Dimension::Inductance => &[("mH", 1e-3), ("H", 1.0), ("uH", 1e-6)],
            Dimension::Current => &[("A", 1.0), ("mA", 1e-3)],
            Dimension::Voltage => &[("V", 1.0)],
            Dimension::Time => &[("us", 1e-6), ("ns", 1e-9), ("ms", 1e-3), ("s", 1.0)],
            Dimension::Lead => &[("mm/rev", 1.0), ("in/rev", 25.4), ("um/rev", 1e-3), ("m/rev", 1e3)],
        }
    }

    fn unit_list(self) -> String {
        self.units().iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ")
    }
}

/// 1 ozf in in N m.
pub const OZ_IN: f64 = 0.028349523125 * 9.80665 * 0.0254;

/// From below the inertia of a watch's hand (1e-15 kg m2) to beyond the torque of a ship's screw, in SI units.
const PLAUSIBLE: std::ops::Range<f64> = 1e-18..1e12;

/// A unit without the signs that people place differently: `N*m`, `N·m`, `Nm` and `N m` are one.
fn normalized_unit(unit: &str) -> String {
    unit.chars()
        .filter_map(|c| match c {
            ' ' | '*' | '·' | '-' | '.' | '^' | '_' => None,
            '²' => Some("2".into()),
            '\u{3a9}' | '\u{2126}' => Some("ohm".into()),
            'µ' | 'μ' => Some("u".into()),
            '°' => Some("deg".into()),
            c => Some(c.to_string()),
        })
        .collect()
}

/// Reads a number with its unit. `field` names the key or option in messages.
///
/// ```
/// # use jitterlab_motion::quantity::{Dimension, parse};
/// assert_eq!(parse(Dimension::Torque, "holding_torque", "1.9Nm")?, 1.9);
/// assert!((parse(Dimension::Inertia, "rotor_inertia", "300 g·cm²")? - 3e-5).abs() < 1e-18);
/// assert!(parse(Dimension::Torque, "holding_torque", "1.9").is_err());
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
pub fn parse(dimension: Dimension, field: &str, text: &str) -> Result<f64, Error> {
    let units = dimension.units();
    let example = units[0].0;
    let trimmed = text.trim();
    let in_number = |(i, c): &(usize, char)| {
        c.is_ascii_digit()
            || matches!(c, '.' | '+' | '-') && !trimmed[..*i].ends_with(|p: char| p.is_ascii_digit())
            || *c == '.'
            || matches!(c, 'e' | 'E')
                && trimmed[i + 1..].starts_with(|n: char| n.is_ascii_digit() || n == '-' || n == '+')
    };
    let end = trimmed.char_indices().find(|x| !in_number(x)).map_or(trimmed.len(), |(i, _)| i);
    let (number, unit) = trimmed.split_at(end);
    let value =
        number.parse::<f64>().ok().filter(|v| v.is_finite() && !unit.starts_with(',')).ok_or_else(|| {
            Error::bad_use(format!(
                "{field} is {text:?}, which does not start with a number: write it like \"1.2 {example}\""
            ))
        })?;
    let wanted = normalized_unit(unit);
    if wanted.is_empty() {
        return Err(Error::bad_use(format!(
            "{field} is {trimmed:?} without a unit: write one of {}, such as \"{trimmed} {example}\"",
            dimension.unit_list()
        )));
    }
    let exact = units.iter().find(|(u, _)| normalized_unit(u) == wanted);
    let found =
        exact.or_else(|| units.iter().find(|(u, _)| normalized_unit(u).eq_ignore_ascii_case(&wanted)));
    let (_, factor) = found.ok_or_else(|| {
        // A text that begins like a unit is completed in the hint: mm/rev for mm.
        let meant = units.iter().find(|(u, _)| normalized_unit(u).starts_with(&wanted));
        let meant = meant.map_or_else(String::new, |(u, _)| format!("; did you mean {number}{u}?"));
        let known = dimension.unit_list() + &meant;
        let unit = unit.trim();
        Error::bad_use(format!("{field} is {text:?}, and {unit:?} is not a unit for it: use {known}"))
    })?;
    let value = value * factor;
    if value == 0.0 || PLAUSIBLE.contains(&value.abs()) {
        return Ok(value);
    }
    Err(Error::bad_use(format!(
        "{field} is {text:?}, which no motor or machine has: check the number and its unit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn data_sheet_spellings_are_read() {
        for (dimension, text, value) in [
            (Dimension::Torque, "80 oz-in", 80.0 * 0.00706155182),
            (Dimension::Torque, "19 kg.cm", 1.8632635),
            (Dimension::Torque, "-1.5e-1 N·m", -0.15),
            (Dimension::Torque, "10 lbf-in", 160.0 * 0.00706155182),
            (Dimension::Inductance, "0.86 mH", 0.00086),
            (Dimension::Resistance, "0.28Ω", 0.28),
            (Dimension::Angle, "1.8°", 1.8),
            (Dimension::Inertia, "0.36 kg cm^2", 3.6e-5),
            (Dimension::Lead, "10mm/rev", 10.0),
            (Dimension::Time, "5µs", 5e-6),
        ] {
            let read = parse(dimension, "x", text).unwrap();
            assert!((read - value).abs() <= 1e-9 * value.abs(), "{text}: {read}");
        }
    }

    #[test]
    fn mistakes_are_named_with_a_remedy() {
        let message = |text| parse(Dimension::Torque, "holding_torque", text).unwrap_err().to_string();
        assert!(message("1.9").contains("\"1.9 N m\""));
        assert!(message("1.9 mH").contains("oz-in"));
        assert!(message("strong").contains("does not start with a number"));
        assert!(message("1,26 N m").contains("does not start with a number: write it like \"1.2 N m\""));
        assert!(message("1e300 N m").contains("no motor or machine has"));
        assert!(message("1e-300 N m").contains("check the number"));
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,30}") {
            let _ = parse(Dimension::Torque, "x", &text);
        }

        #[test]
        fn any_number_is_read_back(value in -1e9f64..1e9) {
            prop_assume!(value == 0.0 || value.abs() > 1e-18);
            prop_assert_eq!(parse(Dimension::Voltage, "x", &format!("{value:e} V")).ok(), Some(value));
            prop_assert_eq!(parse(Dimension::Voltage, "x", &format!("{value}V")).ok(), Some(value));
        }
    }
}
