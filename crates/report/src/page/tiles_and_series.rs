//! The answer as a picture: three tiles, and a small series with the limits and the worst marked. Labels are HTML placed in
//! percent over a drawing that stretches, so that phones and paper need no script.

use jitterlab_analysis::purposes::{CONTROL_LOOP, Measure, Purpose};
use jitterlab_model::Fitness;

use super::deciding_task::{DecidingTask, SharedScale};
use super::html::{Html, html, with_nonbreaking_spaces};
use super::sections::fitness_class;
use crate::purpose::fitness_word;
use crate::words::{count, exact_time, share, time};

/// Columns of the small series.
const SERIES_COLUMNS: usize = 400;
/// Width and height of drawings, in units of their own.
const DRAWING_SIZE: f64 = 1000.0;
/// Spikes that are marked; of a low drawing only the worst.
const MARKED_SPIKES: [usize; 2] = [3, 1];
/// Labels of lines closer than this share of the height are moved apart; of a low drawing, which has one line for each.
const LABEL_DISTANCE: [f64; 2] = [0.09, 0.12];
/// Parts of the worst that a spike has to reach to be marked.
const SPIKE_DIVISOR: i64 = 20;
/// Spikes closer than this share of the width are not both marked.
const SPIKE_DISTANCE: f64 = 0.12;

/// Words with the mark of a fitness before them.
pub fn fitness_badge(fitness: Fitness, words: &str) -> Html {
    html!(
        "<span class=\"result {class}\"><span class=\"mark\" aria-hidden=\"true\"></span>{words}</span>",
        class = fitness_class(fitness),
        words = words
    )
}

/// A number with its name, held against a limit.
struct Tile<'a> {
    name: &'a str,
    value: String,
    /// Words behind the value.
    unit: &'a str,
    /// Positions of value, good and usable limit on a scale from 0 to 1.
    gauge: Option<[f64; 3]>,
    limit: String,
    result: Option<(Fitness, String)>,
}

impl Tile<'_> {
    fn html(&self) -> Html {
        let (number, unit) = self
            .value
            .rsplit_once(' ')
            .filter(|(_, unit)| !unit.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or((&self.value, ""));
        let gauge = self.gauge.map(|[at, good, usable]| {
            html!(
                "<div class=\"gauge\" aria-hidden=\"true\" style=\"--at:{at}%;--good-at:{good}%;--usable:{usable}%\"><i></i></div>\n",
                at = css_percent(at),
                good = css_percent(good),
                usable = css_percent(usable)
            )
        });
        let result = self.result.as_ref().map(|(fitness, words)| fitness_badge(*fitness, words));
        html!(
            "<div class=\"tile\"><p class=\"name\">{name}</p>\n<p class=\"value\"><strong>{number}</strong> {unit} {of}</p>\n{gauge}<p class=\"limit\"><span>{limit}</span> {result}</p></div>\n",
            name = with_nonbreaking_spaces(self.name),
            number = number.replace(' ', "\u{202f}"),
            unit = unit,
            of = with_nonbreaking_spaces(self.unit),
            gauge = gauge.unwrap_or_default(),
            limit = with_nonbreaking_spaces(&self.limit),
            result = result.unwrap_or_default()
        )
    }
}

/// A share of 1 in percent, without a sign.
fn css_percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// Tiles of the worst value, a high quantile and the missed due times, each against the deciding limit.
pub fn number_tiles(of: &DecidingTask<'_>) -> Html {
    let DecidingTask { task, judged, .. } = of;
    let unit = if of.is_period_error { "off" } else { "late" };
    let against = |ns: i64, limit: (i64, i64)| {
        let top = (1.3 * limit.1 as f64).max(1.1 * ns as f64);
        let bottom = (limit.0 as f64 / 30.0).min(ns.max(1) as f64);
        let place = |ns: i64| ((ns.max(1) as f64 / bottom).ln() / (top / bottom).ln()).clamp(0.0, 1.0);
        let times = ns as f64 / limit.1 as f64;
        let words = if times > 1.0 {
            format!("{times:.1} × the limit")
        } else {
            format!("{} of it", share(times.max(0.0)))
        };
        ([place(ns), place(limit.0), place(limit.1)], format!("usable up to {}", time(limit.1 as f64)), words)
    };
    let tile = |name, ns: i64, unit, limit: Option<(i64, i64)>| {
        let value = time(ns as f64);
        let no_limit =
            Tile { name, value, unit, gauge: None, limit: "no limit for this purpose".into(), result: None };
        let Some(both) = limit else { return no_limit };
        let (gauge, limit, words) = against(ns, both);
        let fitness = match ns {
            ns if ns <= both.0 => Fitness::Good,
            ns if ns <= both.1 => Fitness::Limited,
            _ => Fitness::Unfit,
        };
        Tile { gauge: Some(gauge), limit, result: Some((fitness, words)), ..no_limit }
    };
    let single = of.drawable_limit().map(|limit| (limit.good, limit.limited));
    let spread = of.limit().filter(|limit| limit.measure == Measure::PeriodDeviation);
    let spread_ns = task.measured.summary.period_error.sd_ns.map(|ns| ns.round() as i64);
    let mut tiles = Vec::new();
    if let Some((limit, ns)) = spread.zip(spread_ns) {
        tiles.push(tile("Standard deviation of periods", ns, "", Some((limit.good, limit.limited))));
    }
    tiles.push(tile(
        if of.is_period_error { "Worst period" } else { "Worst start" },
        of.worst_ns,
        unit,
        single,
    ));
    // Tables show quantiles of signed period errors; here early and late count alike.
    let quantiles = [
        (0.999, "p99.9 (999 of 1 000)", "999 of 1 000 within"),
        (0.99, "p99 (99 of 100)", "99 of 100 within"),
        (0.9, "p90 (9 of 10)", "9 of 10 within"),
    ];
    let quantile = quantiles.into_iter().find_map(|(share, name, of_size)| {
        Some((of.quantile_ns(share)?, if of.is_period_error { of_size } else { name }))
    });
    tiles.extend(quantile.filter(|_| spread.is_none()).map(|(ns, name)| tile(name, ns, unit, single)));
    let summary = &task.measured.summary;
    let none_missed = judged.as_ref().is_some_and(|judged| {
        let is_missed =
            |purpose: &Purpose| purpose.limits.iter().any(|limit| limit.measure == Measure::Missed);
        judged.purpose == CONTROL_LOOP.name || Purpose::by_name(&judged.purpose).is_some_and(is_missed)
    });
    let missed = summary.missed.exactly();
    let value = missed.map_or_else(|| crate::words::known_count(summary.missed), count);
    let all = missed.zip(summary.executed.exactly()).map(|(missed, ran)| missed + ran);
    let all = all.map_or_else(String::new, |all| format!("of {}", count(all)));
    let fitness = |missed: u64| match missed {
        0 => (Fitness::Good, "none".to_owned()),
        _ => (Fitness::Unfit, "too many".to_owned()),
    };
    let limit = if none_missed { "none may be missed" } else { "no limit for this purpose" };
    let result = missed.filter(|_| none_missed).map(fitness);
    tiles.push(Tile {
        name: "Missed due times",
        value,
        unit: &all,
        gauge: None,
        limit: limit.into(),
        result,
    });
    let tiles: Html = tiles.iter().map(Tile::html).collect();
    html!("<div class=\"tiles\">{tiles}</div>\n", tiles = tiles)
}

/// Lines of the period and the limits: value, CSS class, label.
pub fn limit_lines(of: &DecidingTask<'_>) -> Vec<(f64, &'static str, String)> {
    let mut lines = Vec::new();
    lines.extend(of.period_ns().map(|ns| (ns as f64, "period", format!("period {}", exact_time(ns)))));
    if let Some(limit) = of.drawable_limit() {
        let [good, usable] = [limit.good, limit.limited].map(|ns| time(ns as f64));
        match limit.good == limit.limited {
            true => lines.push((limit.limited as f64, "usable", format!("good up to {usable}"))),
            false => {
                lines.push((limit.limited as f64, "usable", format!("usable up to {usable}")));
                lines.push((limit.good as f64, "good", format!("good up to {good}")));
            }
        }
    }
    lines
}

/// The series on this scale; a low one is for several runs next to each other.
pub fn series_figure(of: &DecidingTask<'_>, scale: &SharedScale, is_low: bool) -> Html {
    let columns = of.columns(SERIES_COLUMNS);
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else { return Html::default() };
    let length = (last.0 - first.0).max(1) as f64;
    let across = |ns: i64| DRAWING_SIZE * (ns - first.0) as f64 / length;
    let down = |ns: i64| DRAWING_SIZE * (1.0 - scale.position(ns as f64));
    let point = |(at, ns): (i64, i64)| format!("{:.0} {:.0}", across(at), down(ns));
    let path = |points: Vec<(i64, i64)>| points.into_iter().map(point).collect::<Vec<_>>().join("L");
    let upper = columns.iter().map(|(at, _, high)| (*at, *high));
    let lower = columns.iter().rev().map(|(at, low, _)| (*at, *low));
    let band = path(upper.clone().chain(lower).collect());
    let limit = of.drawable_limit();
    let over = |fitness: Fitness| {
        let broken =
            columns.iter().filter(|(.., high)| limit.is_some_and(|limit| limit.fitness_of(*high) == fitness));
        broken.map(|(at, _, high)| format!("M{}h0", point((*at, *high)))).collect::<String>()
    };
    let shown = limit_lines(of).into_iter().filter(|(ns, ..)| scale.position(*ns) < 1.0);
    let brief = |words: String| if is_low { words.replace(" up to", "") } else { words };
    let shown: Vec<(f64, &str, String)> =
        shown.map(|(ns, class, words)| (scale.position(ns), class, brief(words))).collect();
    let size = usize::from(is_low);
    let spikes = largest_spikes(&columns, MARKED_SPIKES[size], &|at| across(at) / DRAWING_SIZE);
    let rule = |(at, class, _): &(f64, &str, String)| {
        html!(
            "<path class=\"rule {class}\" d=\"M0 {at}H1000\"/>",
            class = *class,
            at = format!("{:.0}", DRAWING_SIZE * (1.0 - at))
        )
    };
    let words = format!(
        "{} over time: worst {}, {} in all",
        series_title(of),
        time(of.worst_ns as f64),
        count(of.count)
    );
    html!(
        "<figure class=\"glance {low}\"><figcaption><strong>{title}</strong> <span>{key}</span></figcaption>
<div class=\"drawn\"><div class=\"ticks\">{ticks}</div><div class=\"field\"><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{words}\">{grid}<path class=\"band\" d=\"M{band}Z\"/><path class=\"edge\" d=\"M{edge}\"/>{rules}<path class=\"above\" d=\"{above}\"/><path class=\"broken\" d=\"{broken}\"/></svg>{marked}</div><div class=\"limits\">{limits}</div><div class=\"times\">{times}</div></div>{worst}</figure>
",
        low = if is_low { "low" } else { "" },
        title = series_title(of),
        key = series_legend(of, scale, columns.len()).only_if(!is_low),
        ticks = scale.ticks(5).iter().map(|(at, words)| axis_label("", *at, words)).collect::<Html>(),
        words = words,
        grid = scale.ticks(5).iter().map(|(at, _)| rule(&(*at, "grid", String::new()))).collect::<Html>(),
        band = band,
        edge = path(upper.collect()),
        rules = shown.iter().map(rule).collect::<Html>(),
        above = over(Fitness::Limited),
        broken = over(Fitness::Unfit),
        marked = spike_labels(&spikes, scale),
        worst = spike_list(&spikes),
        limits = spread_labels(&shown, LABEL_DISTANCE[size]).iter().map(|(at, class, words)| axis_label(class, *at, words)).collect::<Html>(),
        times = time_labels(length, if is_low { 2 } else { 5 })
    )
}

fn series_title(of: &DecidingTask<'_>) -> String {
    let what = if of.is_period_error { "How far each period was off" } else { "How late each start was" };
    match of.run.tasks.len() {
        1 => what.into(),
        _ => format!("{what}: {}", of.task.measured.summary.task),
    }
}

/// Legend of the series: meaning of its band and its marks.
fn series_legend(of: &DecidingTask<'_>, scale: &SharedScale, columns: usize) -> Html {
    let each = of.count.div_ceil(columns.max(1) as u64);
    let band = match each {
        1 => "each one".into(),
        _ if of.is_period_error => format!("each point: the largest of {}", count(each)),
        _ => format!("each line: smallest to largest of {}", count(each)),
    };
    let marks = of.drawable_limit().map(|limit| match limit.good == limit.limited {
        true => html!("<span class=\"broken\">above the limit</span>"),
        false => html!("<span class=\"broken\">above usable</span> <span class=\"above\">above good</span>"),
    });
    let log = if scale.is_log() { "log axis" } else { "" };
    html!(
        "<span class=\"band\">{band}</span> {marks} {log}",
        band = band,
        marks = marks.unwrap_or_default(),
        log = log
    )
}

/// A label at a height from 0 to 1.
fn axis_label(class: &str, at: f64, words: &str) -> Html {
    html!(
        "<span class=\"{class}\" style=\"bottom:{at}%\">{words}</span>",
        class = class,
        at = css_percent(at),
        words = with_nonbreaking_spaces(words)
    )
}

/// Sorts lines by height, and moves them up where their labels would cover each other.
fn spread_labels<'a>(lines: &[(f64, &'a str, String)], least: f64) -> Vec<(f64, &'a str, String)> {
    let mut lines = lines.to_vec();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    for at in 1..lines.len() {
        lines[at].0 = lines[at].0.max(lines[at - 1].0 + least);
    }
    lines
}

/// The largest values, so far apart that their numbers have room: position from 0 to 1, time, value.
fn largest_spikes(
    columns: &[(i64, i64, i64)],
    most: usize,
    across: &dyn Fn(i64) -> f64,
) -> Vec<(f64, i64, i64)> {
    let mut order: Vec<&(i64, i64, i64)> = columns.iter().collect();
    order.sort_by_key(|(.., high)| std::cmp::Reverse(*high));
    let mut found: Vec<(f64, i64, i64)> = Vec::new();
    let least = order.first().map_or(0, |(.., worst)| worst / SPIKE_DIVISOR);
    for (ns, _, high) in order.into_iter().filter(|(.., high)| *high >= least) {
        let at = across(*ns);
        if found.len() < most && found.iter().all(|(other, ..)| (other - at).abs() > SPIKE_DISTANCE) {
            found.push((at, *ns, *high));
        }
    }
    found
}

/// Labels at the spikes: the rank of each, or the value if there is only one.
fn spike_labels(spikes: &[(f64, i64, i64)], scale: &SharedScale) -> Html {
    let spike = |(number, (at, _, ns)): (usize, &(f64, i64, i64))| {
        let words = if spikes.len() == 1 { time(*ns as f64) } else { (number + 1).to_string() };
        html!(
            "<span class=\"spike {side}\" style=\"left:{at}%;bottom:{up}%\">{words}</span>",
            side = if *at > 0.8 { "before" } else { "behind" },
            at = css_percent(*at),
            up = css_percent(scale.position(*ns as f64)),
            words = with_nonbreaking_spaces(&words)
        )
    };
    spikes.iter().enumerate().map(spike).collect()
}

/// Values of numbered spikes with their times, since the values would cover each other on a phone.
fn spike_list(spikes: &[(f64, i64, i64)]) -> Html {
    let spike = |(_, at, ns): &(f64, i64, i64)| {
        html!(
            "<li>{value} near {at}</li>",
            value = with_nonbreaking_spaces(&time(*ns as f64)),
            at = with_nonbreaking_spaces(&time(*at as f64))
        )
    };
    html!(
        "<ol class=\"worst\" aria-label=\"Worst\">{spikes}</ol>\n",
        spikes = spikes.iter().map(spike).collect::<Html>()
    )
    .only_if(spikes.len() > 1)
}

/// Times below the series, each with its unit.
fn time_labels(length_ns: f64, about: usize) -> Html {
    let axis = crate::chart::Axis::linear("").time();
    let ticks = axis.ticks((0.0, length_ns), about);
    let (_, unit) = crate::chart::time_unit(length_ns);
    let tick = |(ns, number): (f64, String)| {
        let words = format!("{number} {unit}");
        html!(
            "<span style=\"left:{at}%\">{words}</span>",
            at = css_percent(ns / length_ns),
            words = with_nonbreaking_spaces(&words)
        )
    };
    ticks.into_iter().map(tick).collect()
}

/// Verdict on a run as a cell of a table; a dash if there is none.
pub fn verdict_html(of: &DecidingTask<'_>) -> Html {
    let fitness = of.judged.as_ref().map(|judged| judged.fitness);
    fitness.map_or_else(|| html!("-"), |fitness| fitness_badge(fitness, fitness_word(fitness)))
}
