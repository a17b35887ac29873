//! A chart in all three forms: each holds the chart's content, and none is confused by odd values.

use super::*;
use proptest::prelude::*;

fn text(chart: &Chart, columns: usize, ascii: bool) -> String {
    Terminal { columns, ascii, colour: false }.figure(chart)
}

fn chart(layers: Vec<Layer>, x: Axis, y: Axis) -> Chart {
    Chart { name: "a".into(), caption: "A figure of <b> & c.".into(), x, y, layers, height: 300 }
}

#[test]
fn a_spike_is_on_the_terminal() {
    let parts = (0..10_000).map(|i| [f64::from(i), 2.0, if i == 6_007 { 900.0 } else { 3.0 }]).collect();
    let chart = chart(vec![Layer::new("", 0, Shape::Band(parts))], Axis::linear("x"), Axis::linear("y"));
    let shown = text(&chart, 80, true);
    assert!(shown.is_ascii() && shown.lines().all(|line| line.len() <= 80), "{shown}");
    let high: usize = shown.lines().take(10).map(|line| line.matches('#').count()).sum();
    assert!((8..=10).contains(&high), "one column reaches up: {shown}");
}

#[test]
fn a_terminal_of_plain_characters_gets_no_others() {
    let bins = vec![Layer::new("", 0, Shape::Counts(vec![[5_000.0, 6_000.0, 3.0]]))];
    let chart = chart(bins, Axis::linear("latency").time(), Axis::linear("count"));
    assert!(text(&chart, 80, false).contains("5 µs"), "{}", text(&chart, 80, false));
    assert!(text(&chart, 80, true).contains("5 us") && text(&chart, 80, true).is_ascii());
}

#[test]
fn names_stand_below_their_bars() {
    let bars = vec![[-0.4, 0.4, 10.0], [0.6, 1.4, 30.0]];
    let chart = chart(
        vec![Layer::new("", 0, Shape::Bars(bars))],
        Axis::names("", ["delay", "jitter"]),
        Axis::linear("%"),
    );
    for shown in [text(&chart, 60, false), Drawing::new(std::slice::from_ref(&chart)).svg()] {
        assert!(shown.contains("delay") && shown.contains("jitter"), "{shown}");
    }
    let data = serde_json::to_value(&chart).unwrap();
    assert_eq!(data["x"]["scale"]["names"], serde_json::json!(["delay", "jitter"]));
    assert_eq!(
        data["layers"][0]["shape"]["columns"],
        serde_json::json!([[-0.4, 0.6], [0.4, 1.4], [10.0, 30.0]])
    );
}

#[test]
fn limits_differ_by_their_lines() {
    let level =
        |colour| Layer::coloured(format!("limit {colour}"), colour, Shape::Level(f64::from(colour as u32)));
    let layers = [Layer::PERIOD, Layer::GOOD, Layer::USABLE].map(level).to_vec();
    let chart = chart(layers, Axis::linear("x"), Axis::linear("y"));
    for (ascii, glyphs) in
        [(false, ["┊ limit 6", "╌ limit 7", "━ limit 8"]), (true, [": limit 6", "- limit 7", "= limit 8"])]
    {
        let shown = text(&chart, 60, ascii);
        assert!(glyphs.iter().all(|glyph| shown.contains(glyph)), "{shown}");
    }
    let data = serde_json::to_string(&chart).unwrap();
    assert_eq!(serde_json::from_str::<Chart>(&data).unwrap(), chart);
}

#[test]
fn foreign_words_stay_words() {
    let point = Shape::Points(vec![[1.0, 1.0]]);
    let layers = vec![Layer::new("<script>", 0, point.clone()), Layer::new("b", 1, point)];
    let chart = chart(layers, Axis::linear("<x>"), Axis::linear("y"));
    let drawn = Drawing::new(&[chart]).svg();
    assert!(drawn.contains("&lt;script&gt;") && drawn.contains("A figure of &lt;b&gt; &amp; c."), "{drawn}");
}

proptest! {
    #[test]
    fn any_values_can_be_drawn(
        values in prop::collection::vec((-1e12..1e12f64, prop_oneof![-1e9..1e9f64, Just(0.0), Just(f64::NAN), Just(f64::INFINITY)]), 0..40),
        log in any::<bool>(), width in 0usize..200,
    ) {
        let mut points: Vec<[f64; 2]> = values.iter().map(|(x, y)| [*x, *y]).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let axis = |title: &str| if log { Axis::log(title) } else { Axis::linear(title) };
        let shapes = [
            Shape::Line { points: points.clone(), stroke: Stroke::Steps },
            Shape::Points(points.clone()),
            Shape::Band(points.iter().map(|p| [p[0], p[1], p[1] + 1.0]).collect()),
            Shape::Bars(points.iter().map(|p| [p[0], p[0] + 1.0, p[1]]).collect()),
            Shape::Counts(points.iter().map(|p| [p[0], p[0] + 1.0, p[1].abs().trunc().min(1e9)]).collect()),
            Shape::Intervals(points.iter().map(|p| [p[0], p[1] - 1.0, p[1], p[1] + 1.0]).collect()),
            Shape::Frames(points.windows(2).map(|w| [w[0][0], w[0][1], w[1][0], w[1][1]]).collect()),
            Shape::Spans(points.iter().map(|p| Span { from: p[0], to: p[0] + 1.0, lane: p[1], words: "span".into() }).collect()),
            Shape::Marks(points.iter().map(|p| (p[0], "mark".into())).collect()),
        ];
        for shape in shapes {
            let counted = matches!(shape, Shape::Counts(_));
            let chart = chart(vec![Layer::new("a", 0, shape)], axis("x"), axis("y"));
            prop_assert!(Drawing::new(std::slice::from_ref(&chart)).svg().ends_with("</svg>\n"));
            let shown = text(&chart, width, true);
            prop_assert!(shown.is_ascii() && shown.lines().all(|line| line.len() <= width.max(if counted { 80 } else { 40 })), "{}", shown);
            prop_assert!(!serde_json::to_string(&chart).unwrap().contains("NaN"));
        }
    }

    #[test]
    fn ticks_lie_on_their_axis(low in -1e6..1e6f64, length in 1e-3..1e9f64, count in 1usize..12) {
        for axis in [Axis::linear(""), Axis::log(""), Axis::linear("").time(), Axis::log("").time(), Axis::new("", Scale::SignedLog).time()] {
            let range = if axis.scale != Scale::Linear { (low / 1e5, low / 1e5 + length.log10().abs().min(20.0) + 0.01) } else { (low, low + length) };
            let ticks = axis.ticks(range, count);
            prop_assert!(ticks.iter().all(|(position, words)| *position >= range.0 && *position <= range.1 && !words.is_empty()));
            prop_assert!(ticks.len() <= 3 * count + 20, "{}", ticks.len());
        }
    }
}
