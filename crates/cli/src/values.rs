//! Values of options, with hints for values that make no sense.

use jitterlab_model::Error;

/// Reads `20%`, `0.2` or `1e-4`: a share above 0 and below 1.
pub fn parse_share(text: &str) -> Result<f64, Error> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    match number.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share < scale => Ok(share / scale),
        Ok(percent) if scale == 1.0 && (1.0..100.0).contains(&percent) => {
            Err(Error::bad_use(format!("{text:?} is not a share above 0 and below 1, such as 1e-4 or 20%"))
                .remedy(format!("did you mean {text}%?")))
        }
        _ => Err(Error::bad_use(format!("{text:?} is not a share above 0 and below 1, such as 1e-4 or 20%"))),
    }
}

/// Reads a NEMA frame size: 23, also as nema23.
pub fn parse_frame_size(text: &str) -> Result<u32, Error> {
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.strip_prefix("nema").unwrap_or(&lower).trim_start_matches([' ', '-']);
    // The widths of their flanges, by which they are sold, too.
    let widths = [("28mm", 11), ("35mm", 14), ("42mm", 17), ("57mm", 23), ("60mm", 24), ("86mm", 34)];
    let meant = widths.iter().find(|(width, _)| *width == number.replace(' ', "")).map(|(_, size)| *size);
    number.parse().map_err(|_| match meant {
        Some(size) => Error::bad_use(format!("{text:?} is no NEMA frame size, such as 17, 23 or 34"))
            .remedy(format!("did you mean {size}?")),
        None => Error::bad_use(format!("{text:?} is no NEMA frame size"))
            .remedy("write a number, such as 17, 23 or 34"),
    })
}

/// Returns a motor's name or file as it is; refuses a frame size.
pub fn parse_motor(text: &str) -> Result<String, Error> {
    let is_frame = text.to_ascii_lowercase().starts_with("nema") && parse_frame_size(text).is_ok();
    if is_frame {
        Err(Error::bad_use(format!("{text:?} is a frame size, no motor"))
            .remedy(format!("say --frame {text} and its holding torque, such as --torque 1.9Nm")))
    } else {
        Ok(text.into())
    }
}
