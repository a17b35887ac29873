//! Prints what is known of this machine as JSON, and how long reading it took.
use std::time::Instant;

use jitterlab_bench::host::facts::{Root, read};

fn main() -> Result<(), serde_json::Error> {
    let begin = Instant::now();
    let facts = read(&Root::system());
    let took = begin.elapsed();
    println!("{}", serde_json::to_string_pretty(&facts)?);
    eprintln!("read in {took:?}");
    Ok(())
}
