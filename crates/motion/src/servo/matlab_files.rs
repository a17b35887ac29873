//! Systems as python-control, MATLAB and Octave write them out: one JSON file, or a directory with a CSV file for each matrix.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use jitterlab_model::Error;

use super::description::{Description, Period, Root, StateSpace, TransferFunction, Zpk};
use crate::catalog::LARGEST_BYTES;
use crate::error;

/// Keys of a JSON file that are read; others are ignored.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Json {
    #[serde(alias = "A")]
    a: Option<Value>,
    #[serde(alias = "B")]
    b: Option<Value>,
    #[serde(alias = "C")]
    c: Option<Value>,
    #[serde(alias = "D")]
    d: Option<Value>,
    #[serde(alias = "num")]
    numerator: Option<Value>,
    #[serde(alias = "den")]
    denominator: Option<Value>,
    #[serde(alias = "z")]
    zeros: Option<Value>,
    #[serde(alias = "p")]
    poles: Option<Value>,
    #[serde(alias = "k")]
    gain: Option<Value>,
    #[serde(alias = "Ts", alias = "period")]
    dt: Option<Value>,
}

/// Reads a system from a JSON file, or a directory with A.csv, B.csv, C.csv, and maybe D.csv and dt.csv.
pub(super) fn read_description(path: &Path) -> Result<Description, Error> {
    if path.is_dir() { read_directory(path) } else { read_json(path) }
}

fn read_text(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(LARGEST_BYTES).read_to_string(&mut text)) {
        Ok(_) => Ok(text),
        Err(cause) => Err(error::unreadable(path, &cause)),
    }
}

fn read_json(path: &Path) -> Result<Description, Error> {
    let name = path.display().to_string();
    let json: Json = serde_json::from_slice(read_text(path)?.as_bytes())
        .map_err(|error| error.to_string().replace('\n', " "))
        .map_err(|error| Error::bad_use(format!("this is no JSON of a system: {error}")).within(&name))?;
    let period = parse_period(&name, json.dt.as_ref())?;
    let system = match json {
        Json { a: Some(a), b: Some(b), c: Some(c), d, .. } => {
            let a = parse_rows(&name, "A", &a, None)?;
            // The number of states decides if a flat list is a column or a row.
            let b = parse_rows(&name, "B", &b, Some((a.len(), None)))?;
            let c = parse_rows(&name, "C", &c, Some((0, Some(a.len()))))?;
            let inputs = b.first().map_or(0, Vec::len);
            let shape = (c.len(), Some(inputs));
            let d = d.map(|d| parse_rows(&name, "D", &d, Some(shape))).transpose()?;
            Description { state_space: Some(StateSpace { a, b, c, d, period }), ..Description::default() }
        }
        Json { numerator: Some(n), denominator: Some(d), .. } => {
            let (numerator, denominator) =
                (parse_coefficients(&name, "num", &n)?, parse_coefficients(&name, "den", &d)?);
            let transfer_function = Some(TransferFunction { numerator, denominator, period });
            Description { transfer_function, ..Description::default() }
        }
        Json { poles: Some(poles), gain: Some(gain), zeros, .. } => {
            let zeros = zeros.map_or(Ok(Vec::new()), |zeros| parse_roots(&name, &zeros))?;
            let poles = parse_roots(&name, &poles)?;
            let gain = gain.as_f64().ok_or_else(|| not_numbers(&name, "k"))?;
            Description { zpk: Some(Zpk { zeros, poles, gain, period }), ..Description::default() }
        }
        _ => {
            return Err(Error::bad_use(
                "no system is in it: a JSON file holds A, B, C (and D), or num and den, or z, p and k, with dt for a discrete one; \
                 as python-control: json.dump({\"A\": sys.A.tolist(), ... \"dt\": sys.dt}, file)",
            )
            .within(name));
        }
    };
    Ok(system)
}

/// The period of a system; none of a continuous one (0, null or nothing).
fn parse_period(name: &str, dt: Option<&Value>) -> Result<Option<Period>, Error> {
    match dt {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(Period::Text(text.clone()))),
        Some(value) => match value.as_f64() {
            Some(0.0) => Ok(None),
            Some(seconds) if seconds > 0.0 => Ok(Some(Period::Seconds(seconds))),
            // True (python-control) and -1 (MATLAB) mean an unknown period.
            _ => Err(Error::bad_use(
                "it is discrete, and its period is unknown (dt is True, Ts is -1): write the sampling period in seconds, such as \
                 \"dt\": 0.001",
            )
            .within(name)),
        },
    }
}

/// Unwraps lists with a single list in them: a transfer function of one channel.
fn innermost(value: &Value) -> &Value {
    match value {
        Value::Array(all) => match all.as_slice() {
            [only @ Value::Array(_)] => innermost(only),
            _ => value,
        },
        _ => value,
    }
}

fn not_numbers(name: &str, what: &str) -> Error {
    Error::bad_use(format!("{what} is not made of numbers: write a list of rows such as [[0, 1], [0, -1]]"))
        .within(name)
}

fn parse_coefficients(name: &str, what: &str, value: &Value) -> Result<Vec<f64>, Error> {
    parse_numbers(innermost(value)).ok_or_else(|| not_numbers(name, what))
}

fn parse_numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Array(all) => all.iter().map(Value::as_f64).collect(),
        value => value.as_f64().map(|v| vec![v]),
    }
}

fn parse_roots(name: &str, value: &Value) -> Result<Vec<Root>, Error> {
    let root = |value: &Value| match value {
        Value::String(text) => Some(Root::Complex(text.trim_matches(['(', ')']).into())),
        value => value.as_f64().map(Root::Real),
    };
    let read = match value {
        Value::Array(all) => all.iter().map(root).collect(),
        value => root(value).map(|root| vec![root]),
    };
    read.ok_or_else(|| error::invalid_roots(name))
}

/// Reads the rows of a matrix. MATLAB leaves the brackets of a row or column out: the required shape tells which it is.
fn parse_rows(
    name: &str,
    what: &str,
    value: &Value,
    shape: Option<(usize, Option<usize>)>,
) -> Result<Vec<Vec<f64>>, Error> {
    let fault = || not_numbers(name, what);
    let nested = match value {
        Value::Array(all) => all.iter().any(Value::is_array),
        _ => false,
    };
    if nested {
        let all = value.as_array().ok_or_else(fault)?;
        return all.iter().map(|row| parse_numbers(row).ok_or_else(fault)).collect();
    }
    let flat = parse_numbers(value).ok_or_else(fault)?;
    match shape {
        Some((rows, None)) if rows == flat.len() && rows > 1 => Ok(flat.iter().map(|v| vec![*v]).collect()),
        Some((rows, Some(1))) if rows == flat.len() => Ok(flat.iter().map(|v| vec![*v]).collect()),
        _ => Ok(vec![flat]),
    }
}

fn read_directory(path: &Path) -> Result<Description, Error> {
    let file = |name: &str| {
        let names = [format!("{name}.csv"), format!("{}.csv", name.to_lowercase())];
        names.map(|name| path.join(name)).into_iter().find(|file| file.is_file())
    };
    let needed = |name: &str| {
        match file(name) {
        Some(file) => read_matrix(&file),
        None => Err(Error::bad_use(format!(
            "there is no {name}.csv in this directory: it holds A.csv, B.csv and C.csv, and where wanted D.csv and dt.csv"
        ))
        .within(path.display())),
    }
    };
    let (a, b, c) = (needed("A")?, needed("B")?, needed("C")?);
    let d = file("D").map(|file| read_matrix(&file)).transpose()?;
    let dt = ["dt", "Ts"].into_iter().find_map(file);
    let dt = dt.map(|file| read_matrix(&file).map(|t| t.first().and_then(|row| row.first().copied())));
    let dt = dt.transpose()?.flatten().map(Value::from);
    let period = parse_period(&path.display().to_string(), dt.as_ref())?;
    let state_space = Some(StateSpace { a, b, c, d, period });
    Ok(Description { state_space, ..Description::default() })
}

/// Numbers by rows, with commas, semicolons, tabs or blanks between; text after # or % is a comment.
fn read_matrix(path: &Path) -> Result<Vec<Vec<f64>>, Error> {
    let name = path.display().to_string();
    let text = read_text(path)?;
    let content = text.trim_start_matches('\u{feff}');
    let lines = content.lines().enumerate().map(|(n, line)| (n, line.split(['#', '%']).next().unwrap_or("")));
    let mut rows = Vec::new();
    for (n, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let words = line.split([',', ';', '\t', ' ']).map(str::trim).filter(|word| !word.is_empty());
        let row: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
        rows.push(row.ok_or_else(|| {
            Error::bad_use(format!(
                "line {} is not of numbers with commas between: write the matrix alone, without a head, one row a line",
                n + 1
            ))
            .within(&name)
        })?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Device as _;
    use crate::servo::Plant;

    fn import_json(name: &str, content: &str) -> Result<Plant, Error> {
        let path = std::env::temp_dir().join(format!("jitterlab-{}-{name}.json", std::process::id()));
        std::fs::write(&path, content).unwrap();
        let found = Plant::import(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        found
    }

    #[test]
    fn what_matlab_flattens_is_told_by_the_states() {
        let nested = r#"{"A": [[0, 1], [0, -1]], "B": [[0], [1]], "C": [[1, 0]], "D": [[0]], "dt": 0}"#;
        let flat =
            r#"{"A": [[0, 1], [0, -1]], "B": [0, 1], "C": [1, 0], "D": 0, "Ts": 0, "StateName": ["a"]}"#;
        let (nested, flat) = (import_json("nested", nested).unwrap(), import_json("flat", flat).unwrap());
        assert_eq!((nested.a, nested.b, nested.c), (flat.a, flat.b, flat.c));
        let scalar = import_json("scalar", r#"{"A": -1, "B": 2, "C": 3}"#).unwrap();
        assert_eq!((scalar.a[(0, 0)], scalar.b[(0, 0)], scalar.c[(0, 0)]), (-1.0, 2.0, 3.0));
        let two = r#"{"A": [[0, 1], [0, -1]], "B": [[1, 0], [0, 1]], "C": [[1, 0], [0, 1]], "D": [[0, 0], [0, 0]]}"#;
        assert_eq!(import_json("two", two).unwrap().sizes(), (2, 2, 2));
        let of_two_outputs = r#"{"A": [[0, 1], [0, -1]], "B": [0, 1], "C": [[1, 0], [0, 1]], "D": [0, 0]}"#;
        assert_eq!(import_json("outputs", of_two_outputs).unwrap().sizes(), (2, 1, 2));
    }

    #[test]
    fn poles_and_coefficients_are_read_as_programs_write_them() {
        let zpk = import_json("zpk", r#"{"z": [], "p": ["(-1+2j)", "(-1-2j)"], "k": 5}"#).unwrap();
        let tf = import_json("tf", r#"{"num": [[[5]]], "den": [[[1.0, 2.0, 5.0]]], "dt": null}"#).unwrap();
        assert_eq!((zpk.a, zpk.b, zpk.c), (tf.a, tf.b, tf.c));
    }

    #[test]
    fn what_is_no_plant_is_refused_with_the_reason() {
        let message = |text: &str| import_json("bad", text).unwrap_err().to_string();
        assert!(message("{").contains("JSON"));
        assert!(message("{}").contains("num and den"));
        assert!(message(r#"{"A": "x", "B": 1, "C": 1}"#).contains("numbers"));
        assert!(message(r#"{"A": [[1, 2], [3]], "B": 1, "C": 1}"#).contains("rows of the same length"));
        assert!(message(r#"{"num": [1], "den": [1, 0.5], "dt": true}"#).contains("period"));
        assert!(message(r#"{"num": [1], "den": [1, 0.5], "Ts": -1}"#).contains("period"));
        assert!(message(r#"{"A": -1, "B": 1, "C": 1, "D": 2}"#).contains("at once"));
        assert!(message(r#"{"A": -1, "B": 1, "C": 1, "D": [0, 0]}"#).contains("D is 1x2"));
        assert!(message(r#"{"num": [1], "den": [1, 0.5], "dt": 0.001}"#).contains("negative real axis"));
        let missing = Plant::import(Path::new("/nowhere.json")).unwrap().unwrap_err().to_string();
        assert!(missing.contains("cannot read"), "{missing}");
    }

    #[test]
    fn a_directory_of_tables_is_read() {
        let directory = std::env::temp_dir().join(format!("jitterlab-{}-tables", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
        write("A.csv", "\u{feff}% states\n0, 1\r\n0; -1\n\n");
        write("b.csv", "0.000000000000000000e+00\n1.000000000000000000e+00\n");
        let missing = Plant::import(&directory).unwrap().unwrap_err().to_string();
        assert!(missing.contains("C.csv"), "{missing}");
        write("C.csv", "1 0 # position");
        write("Ts.csv", "0");
        let found = Plant::import(&directory).unwrap().unwrap();
        assert_eq!(found.a.as_slice(), [0.0, 0.0, 1.0, -1.0]);
        write("A.csv", "position,speed\n0,1\n");
        let words = Plant::import(&directory).unwrap().unwrap_err().to_string();
        assert!(words.contains("line 1"), "{words}");
        std::fs::remove_dir_all(directory).unwrap();
    }
}
