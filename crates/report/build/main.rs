//! Takes plotly.min.js out of the `plotly` crate, leaves out what no page needs, and compresses it once.

mod partial;

use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

/// What the figures are made of. Lines and points belong to plotly's core.
const TRACES: [&str; 2] = ["bar", "heatmap"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    let sources = plotly::Plot::offline_js_sources();
    // The first script is plotly itself, the second a typesetter of formulas that no page needs.
    let script = sources.split_once('>').and_then(|(_, rest)| rest.split_once("</script>"));
    let Some((script, _)) = script.filter(|(script, _)| script.contains("plotly.js v")) else {
        return Err(io::Error::other("the plotly crate carries no plotly.min.js as its first script"));
    };
    let script = script.trim();
    let partial = partial::of(script, &TRACES).unwrap_or_else(|why| {
        println!("cargo::warning=pages carry all of plotly and open slowly: {why}");
        script.to_owned()
    });
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(partial.as_bytes())?;
    fs::write(Path::new(&out).join("plotly.min.js.gz"), packed.finish()?)
}
