//! Takes plotly.min.js out of the `plotly` crate and leaves out what no page needs.

mod partial;

use std::path::Path;
use std::{env, fs, io};

/// What the figures are made of. Lines and points belong to plotly's core.
const TRACES: [&str; 2] = ["bar", "heatmap"];
/// What else stands in a figure, and the pointer's hints.
const COMPONENTS: [&str; 9] =
    ["annotations", "colorbar", "colorscale", "errorbars", "fx", "legend", "modebar", "selections", "shapes"];
/// Asks browsers that know it to compile all of the library at once, beside the thread that lays out the page.
const HINT: &str = "//# allFunctionsCalledOnLoad\n";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    let sources = plotly::Plot::offline_js_sources();
    // The first script is plotly itself, the second a typesetter of formulas that no page needs.
    let script = sources.split_once('>').and_then(|(_, rest)| rest.split_once("</script>"));
    let Some((script, _)) = script.filter(|(script, _)| script.contains("plotly.js v")) else {
        return Err(io::Error::other("the plotly crate carries no plotly.min.js as its first script"));
    };
    let script = script.trim();
    let partial = partial::of(script, &TRACES, &COMPONENTS).unwrap_or_else(|why| {
        println!("cargo::warning=pages carry all of plotly and open slowly: {why}");
        script.to_owned()
    });
    // It stands in a page as it is, and must not end the element that holds it.
    if ["</script", "<script", "<!--"].iter().any(|mark| partial.contains(mark)) {
        return Err(io::Error::other("plotly.min.js contains a mark of HTML and cannot stand in a page"));
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("plotly.min.js"), HINT.to_owned() + &partial)
}
