//! The JSON Schema of the commands' output with `--json`.

/// As it was made of the types and is shipped.
pub const SCHEMA_TEXT: &str = include_str!("schema.json");

/// Generates the JSON Schema of a document with its `result`, which [`SCHEMA_TEXT`] must be equal to. A field that a
/// type leaves out (`schemars(skip)`) is printed as well, and may change.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    use schemars::generate::SchemaSettings;
    use schemars::transform::{RecursiveTransform, Transform as _};
    use schemars::{JsonSchema, Schema, SchemaGenerator};
    use serde_json::{Value, json};

    use crate::document::{Document, Present};

    fn kind_schema<R: Present + JsonSchema>(generator: &mut SchemaGenerator) -> Value {
        let result = generator.subschema_for::<R>();
        json!({
            "if": { "properties": { "kind": { "const": R::KIND } } },
            "then": { "properties": { "result": result }, "required": ["result"] },
        })
    }

    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let kinds = [
        kind_schema::<jitterlab_model::check::CheckReport>(&mut generator),
        kind_schema::<jitterlab_analysis::measured::MeasuredRun>(&mut generator),
        kind_schema::<jitterlab_analysis::task_analysis::RunAnalysis>(&mut generator),
        kind_schema::<jitterlab_analysis::causes::RunWhy>(&mut generator),
        kind_schema::<jitterlab_analysis::outlook::Outlook>(&mut generator),
        kind_schema::<jitterlab_analysis::compare::RunsCompared>(&mut generator),
        kind_schema::<jitterlab_motion::stepper::StepperResult>(&mut generator),
        kind_schema::<jitterlab_motion::servo::ServoResult>(&mut generator),
    ];
    let mut schema = generator.into_root_schema_for::<Document>();
    schema.insert("allOf".into(), kinds.into());
    // Rust's examples and number types help no reader of JSON.
    let without_rust = |part: &mut Schema| {
        part.remove("format");
        if let Some(Value::String(text)) = part.get_mut("description") {
            let example = text.find("\n\n```").unwrap_or(text.len());
            *text = text[..example].replace("`None`", "`null`");
        }
    };
    RecursiveTransform(without_rust).transform(&mut schema);
    schema
}
