//! Verdicts as tests, for programs that run other programs' tests: JUnit's XML.

use std::fmt::Write as _;

use jitterlab_model::Fitness;

use crate::printable::escape_markup;

pub(crate) struct TestCase {
    /// Object of the verdict: a run, a pin.
    pub class: String,
    pub name: String,
    /// The verdict: failed if it is unfit, skipped if that cannot be decided.
    pub fitness: Fitness,
    /// Reason, in a sentence.
    pub said: String,
}

/// The test suite of all cases, with names and values of what they are about.
pub(crate) fn test_suite_xml(name: &str, properties: &[(String, String)], cases: &[TestCase]) -> String {
    let of = |fitness| cases.iter().filter(|case| case.fitness == fitness).count();
    let (failed, open) = (of(Fitness::Unfit), of(Fitness::CannotTell));
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{open}\">\n",
        cases.len()
    );
    for (place, (name, value)) in properties.iter().enumerate() {
        let (name, value) = (escape_attribute(name), escape_attribute(value));
        let begin = if place == 0 { "  <properties>\n" } else { "" };
        let end = if place + 1 == properties.len() { "  </properties>\n" } else { "" };
        let _ = write!(xml, "{begin}    <property name=\"{name}\" value=\"{value}\"/>\n{end}");
    }
    for case in cases {
        let (class, name, said) =
            (escape_attribute(&case.class), escape_attribute(&case.name), escape_attribute(&case.said));
        let _ = write!(xml, "  <testcase classname=\"{class}\" name=\"{name}\"");
        xml += &match case.fitness {
            Fitness::Unfit => format!("><failure message=\"{said}\"/></testcase>\n"),
            Fitness::CannotTell => format!("><skipped message=\"{said}\"/></testcase>\n"),
            _ => "/>\n".into(),
        };
    }
    xml + "</testsuite>\n</testsuites>\n"
}

fn escape_attribute(text: &str) -> String {
    escape_markup(text).replace(char::is_control, " ")
}
