//! Values as JSON. All of it is made by one writer, which the compiler then makes once for each type.

use jitterlab_model::Error;
use serde::Serialize;
use serde_json::Value;

/// Error of a value that JSON cannot hold, for `map_err`; it never happens in practice.
pub fn json_error(cause: serde_json::Error) -> Error {
    Error::defect("the result could not be written as JSON").because(cause)
}

/// A value as indented JSON, ending with a line feed.
///
/// # Errors
/// A value that JSON cannot hold: never in practice.
pub fn indented(value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    serde_json::to_string(value).map(|compact| indent(&compact)).map_err(json_error)
}

/// A value to look into; null for one that JSON cannot hold.
pub(crate) fn to_value(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_vec(value).and_then(|json| serde_json::from_slice(&json)).unwrap_or_default()
}

/// Puts each entry of compact JSON on a line of its own.
fn indent(compact: &str) -> String {
    let mut text = String::with_capacity(compact.len() * 2);
    let (mut depth, mut is_in_string, mut is_escaped) = (0, false, false);
    let mut before = ' ';
    for letter in compact.chars() {
        let begins_line = match letter {
            _ if is_in_string => false,
            '}' | ']' => {
                depth -= 1;
                !matches!(before, '{' | '[')
            }
            _ => matches!(before, '{' | '[' | ','),
        };
        if begins_line {
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", depth));
        }
        text.push(letter);
        match letter {
            '"' if !is_escaped => is_in_string = !is_in_string,
            '{' | '[' if !is_in_string => depth += 1,
            ':' if !is_in_string => text.push(' '),
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
        before = if is_in_string { ' ' } else { letter };
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_indented_as_its_library_does() {
        let value = json!({
            "empty": {}, "none": [], "quoted": "a \" { [ , : ] } \\", "ends": "\\\\", "nested": [[1, -2.5e300], [{}, []], null],
            "deep": {"deeper": {"deepest": [true, {"a": "é\n\u{202e}"}]}}
        });
        for value in [value, json!([]), json!({}), json!("{[,:"), json!(1)] {
            assert_eq!(indented(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap() + "\n");
        }
    }
}
