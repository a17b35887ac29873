//! The picture of `docs/evidence/servo.md`: the same jobs, one of them late, under each overrun action.
//!
//! `cargo run -p jitterlab-motion --example overrun_actions > docs/images/jobs.svg`

use std::fmt::Write;

use jitterlab_motion::servo::{Job, OverrunPolicy, Replay};

/// Length of a period on the page, and number of periods shown.
const PERIOD: f64 = 108.0;
const SHOWN: i64 = 6;
const LEFT: f64 = 92.0;
/// Execution times in thousandths of a period; the second job is late.
const WORKS: [i64; 7] = [500, 1_350, 800, 500, 600, 400, 500];

fn x(time: i64) -> f64 {
    LEFT + PERIOD * time as f64 / 1_000.0
}

/// A job from its start to its end; a circle where it samples, a triangle where its output goes out.
fn draw_job(svg: &mut String, job: &Job, top: f64) -> std::fmt::Result {
    let (start, end) = (x(job.start_ns), x(job.end_ns));
    let fill = if job.killed { "#f5b7b1" } else { "#aed6f1" };
    writeln!(
        svg,
        "<rect x=\"{start:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"22\" fill=\"{fill}\" stroke=\"#555\" stroke-width=\"0.6\"/>",
        end - start
    )?;
    writeln!(svg, "<circle cx=\"{start:.1}\" cy=\"{}\" r=\"3.5\" fill=\"#1f618d\"/>", top + 11.0)?;
    if job.killed {
        return draw_text(svg, (start + end) / 2.0, top + 15.0, "middle", "#922b21", "killed");
    }
    draw_triangle(svg, end, top - 8.0)
}

fn draw_triangle(svg: &mut String, x: f64, y: f64) -> std::fmt::Result {
    writeln!(svg, "<path d=\"M{:.1} {y} h10 l-5 9 z\" fill=\"#1e8449\"/>", x - 5.0)
}

fn draw_text(svg: &mut String, x: f64, y: f64, anchor: &str, fill: &str, text: &str) -> std::fmt::Result {
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y}\" font-size=\"12\" text-anchor=\"{anchor}\" fill=\"{fill}\">{text}</text>"
    )
}

/// The jobs under an action, the due times and the cycles below them.
fn draw_lane(svg: &mut String, policy: OverrunPolicy, name: &str, top: f64) -> std::fmt::Result {
    let mut replay = Replay::new(policy, 1_000);
    let jobs: Vec<Job> = WORKS.iter().map(|work| replay.next_job(0, *work, false)).collect();
    let end = SHOWN * 1_000;
    draw_text(svg, 8.0, top + 13.0, "start", "#333", name)?;
    writeln!(svg, "<path d=\"M{:.1} {} H{:.1}\" stroke=\"#999\"/>", x(0), top + 22.0, x(end))?;
    let served = |due: i64| jobs.iter().any(|job| job.due_ns == due);
    // On a grid that restarts, the due times follow the jobs.
    let dues: Vec<i64> = match policy {
        OverrunPolicy::RePhase => jobs.iter().map(|job| job.due_ns).collect(),
        _ => (0..=SHOWN).map(|k| k * 1_000).collect(),
    };
    for due in dues.into_iter().filter(|due| *due <= end) {
        let (stroke, dash) = if served(due) { ("#333", "none") } else { ("#c0392b", "3 3") };
        writeln!(
            svg,
            "<path d=\"M{0:.1} {1} v34\" stroke=\"{stroke}\" stroke-dasharray=\"{dash}\"/>",
            x(due),
            top - 8.0
        )?;
        if !served(due) {
            draw_text(svg, x(due), top - 12.0, "middle", stroke, "missed")?;
        }
    }
    jobs.iter().filter(|j| j.end_ns <= end).try_for_each(|j| draw_job(svg, j, top))?;
    // A cycle goes from a job that starts when it is due to the next such.
    let turns: Vec<i64> = jobs.iter().filter(|j| j.start_ns == j.due_ns).map(|j| j.due_ns).collect();
    for cycle in turns.windows(2).filter(|cycle| cycle[1] <= end) {
        let stroke = if cycle[1] - cycle[0] > 1_000 { "#b9770e" } else { "#bbb" };
        writeln!(
            svg,
            "<path d=\"M{:.1} {} H{:.1}\" stroke=\"{stroke}\" stroke-width=\"2.5\"/>",
            x(cycle[0]) + 4.0,
            top + 30.0,
            x(cycle[1]) - 4.0
        )?;
    }
    Ok(())
}

fn draw_picture() -> Result<String, std::fmt::Error> {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 320\" font-family=\"sans-serif\" role=\"img\" \
         aria-label=\"A late job under four overrun actions\">\n<rect width=\"760\" height=\"320\" fill=\"#fff\"/>\n",
    );
    draw_text(&mut svg, LEFT, 20.0, "start", "#333", "due times, a period apart")?;
    let lanes = [
        (OverrunPolicy::Skip, "skip"),
        (OverrunPolicy::CatchUp, "catch-up"),
        (OverrunPolicy::RePhase, "re-phase"),
        (OverrunPolicy::Kill, "kill"),
    ];
    for ((policy, name), place) in lanes.into_iter().zip(0u8..) {
        draw_lane(&mut svg, policy, name, 46.0 + 62.0 * f64::from(place))?;
    }
    let y = 304.0;
    writeln!(svg, "<circle cx=\"96\" cy=\"{}\" r=\"3.5\" fill=\"#1f618d\"/>", y - 4.0)?;
    draw_text(&mut svg, 104.0, y, "start", "#333", "sample")?;
    draw_triangle(&mut svg, 172.0, y - 9.0)?;
    draw_text(&mut svg, 182.0, y, "start", "#333", "its output, and the controller's new state")?;
    for (at, stroke, what) in [(442.0, "#b9770e", "a cycle with a late job"), (637.0, "#bbb", "in time")] {
        writeln!(svg, "<path d=\"M{at} {} h30\" stroke=\"{stroke}\" stroke-width=\"2.5\"/>", y - 4.0)?;
        draw_text(&mut svg, at + 36.0, y, "start", "#333", what)?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn main() -> Result<(), std::fmt::Error> {
    print!("{}", draw_picture()?);
    Ok(())
}
