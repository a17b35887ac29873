"""Whether the page shows the numbers of `analyze --json`, on the screen and in what it offers for downloading."""
import csv
import json

TITLES = {"latency": "latency", "corrected latency": "corrected_latency", "execution time": "execution", "period error": "period_error",
          "cycle-to-cycle difference": "cycle_to_cycle"}
QUANTITIES = ("latency", "execution", "period_error")


def everything_wrong(page, facts):
    wrong = []

    def expect(truth, sentence):
        if not truth:
            wrong.append(sentence)

    for section in facts.get("sections", []):
        expect(page.query_selector(f"section#{section}"), f"there is no section {section}")
    if "comparison" in facts.get("sections", []):
        intervals = page.evaluate("jitterlab.figures.find(({ id }) => id.startsWith('comparison-')).plots[0].layers.some(({ shape }) => shape.kind === 'intervals' && shape.columns[0].length)")
        expect(intervals, "the comparison has no intervals")
    figures(page, facts, expect)
    if facts.get("spike"):
        spike(page, facts["spike"], expect)
    downloads(page, facts, expect)
    return wrong


def summaries(facts):
    return [task["summary"] for document in facts["documents"] for task in document["result"]["tasks"]]


def same_documents(held, facts):
    """The page's tables hold what every command says of a run; `analyze` adds its explanations."""
    pairs = [(shown, told) for page, wanted in zip(held, facts["documents"], strict=True) for shown, told in zip(page["tasks"], wanted["result"]["tasks"], strict=True)]
    return all(told.get(part) == value for shown, told in pairs for part, value in shown.items())


def figures(page, facts, expect):
    expect(same_documents(page.evaluate("jitterlab.documents"), facts), "the page's figures are not those of analyze --json")
    counted = page.evaluate("""jitterlab.figures.find(({ id }) => id === 'histogram-0').options.map(({ charts: [chart] }) =>
        [chart.x.title, chart.layers.filter(({ shape }) => shape.kind === 'counts').map(({ shape }) => shape.columns)])""")
    for title, layers in counted:
        quantity = TITLES[title]
        for (lows, ends, counts), summary in zip(layers, summaries(facts), strict=True):
            told = summary[quantity]
            expect(sum(counts) == told["count"], f"the histogram of {quantity} holds {sum(counts)} values instead of {told['count']}")
            expect(lows[0] <= told["min_ns"] < ends[0], f"the histogram of {quantity} does not begin at its smallest")
            expect(lows[-1] <= told["max_ns"] < ends[-1], f"the histogram of {quantity} does not end at its largest")
    largest = page.evaluate("jitterlab.figures.find(({ series }) => series).series.data.levels[0].latency.max.reduce((a, b) => Math.max(a, b))")
    wanted = summaries(facts)[0]["latency"]["max_ns"]
    expect(largest == wanted, f"the series' largest is {largest}, not {wanted}")


def spike(page, spike, expect):
    """Drawn at full zoom-out, exact at full zoom-in."""
    # Where the picture has the colour of the band near the top, and where its largest value belongs.
    ends, belongs = page.evaluate("""() => {
        const { canvas, drawing, layers } = jitterlab.figures.find(({ series }) => series).plots[0], density = canvas.width / drawing.width;
        const highest = Math.max(...layers[0].shape.columns[2]), [x, y] = [drawing.column(layers[0].shape.columns[0][layers[0].shape.columns[2].indexOf(highest)]), drawing.row(highest)];
        for (let at = drawing.top + 1; at < drawing.bottom; at++) {
            const { data } = canvas.getContext('2d').getImageData((x - 3) * density, at * density, 6 * density, 1);
            for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && data[i + 2] > data[i] + 40) return [at, y];
        }
        return [NaN, y];
    }""")
    expect(abs(ends - belongs) < 5, f"at full zoom-out the line of the latency ends at {ends} pixels, its spike belongs to {belongs}")
    page.click("[data-act=next]")
    from_ns, to_ns = page.evaluate("jitterlab.figures.find(({ series }) => series).plots[0].drawing.range[0]")
    expect(to_ns - from_ns <= 64 * spike["period_ns"], f"the largest latency is shown in a stretch of {to_ns - from_ns} ns")
    shown = page.evaluate(f"""() => {{
        const [exact] = jitterlab.figures.find(({{ series }}) => series).plots[0].layers.filter(({{ shape }}) => shape.labels).map(({{ shape }}) => shape);
        return exact.columns[1][exact.labels.indexOf('#{spike["index"]}')];
    }}""")
    expect(shown == spike["latency_ns"], f"zoomed in, the spike is {shown} ns instead of {spike['latency_ns']}")
    status = page.inner_text("#figure-series-0 .status")
    expect(spike["shown"] in status, f"zoomed in, the figure says {status!r} and not {spike['shown']}")
    page.click("[data-act=all]")


def downloaded(page, name):
    with page.expect_download() as download:
        page.click(f"[data-download={name}]")
    return download.value.path()


def rows(page, name):
    with open(downloaded(page, name), newline="") as file:
        return list(csv.DictReader(file))


def downloads(page, facts, expect):
    held = json.loads(downloaded(page, "json").read_text())
    expect(same_documents(held, facts), "the JSON to download is not that of analyze --json")

    table = rows(page, "summary")
    wanted = [(summary["task"], quantity, summary[quantity]) for summary in summaries(facts) for quantity in ("latency", "corrected_latency", "period_error", "cycle_to_cycle", "execution")]
    expect([(row["task"], row["quantity"]) for row in table] == [entry[:2] for entry in wanted], "the CSV of figures has other rows than analyze --json")
    for row, (_, quantity, told) in zip(table, wanted):
        of = told | {f"{name}_ns": value for name, value in told["percentiles"].items()}
        for column in ("count", "min_ns", "mean_ns", "p99_ns", "max_ns"):
            same = row[column] == "" if of[column] is None else float(row[column]) == of[column]
            expect(same, f"the CSV of figures has {row[column]} as {column} of {quantity}, not {of[column]}")

    series = rows(page, "series")
    for summary in summaries(facts):
        of_task = [row for row in series if row["task"] == summary["task"]]
        expect(of_task, f"the CSV of the series has nothing of {summary['task']}")
    for column, told in (("executed", "executed"), ("missed", "missed")):
        count, wanted = sum(int(row[column]) for row in series), sum(summary[told] for summary in summaries(facts))
        expect(count == wanted, f"the CSV of the series has {count} {column}, not {wanted}")
    for quantity in QUANTITIES:
        largest = max(int(row[f"{quantity}_max_ns"]) for row in series if row[f"{quantity}_max_ns"])
        wanted = max(summary[quantity]["max_ns"] for summary in summaries(facts))
        expect(largest == wanted, f"the CSV of the series has {largest} as the largest {quantity}, not {wanted}")

    exact = rows(page, "exact")
    largest, wanted = max(int(row["latency_ns"]) for row in exact), max(summary["latency"]["max_ns"] for summary in summaries(facts))
    expect(largest == wanted, f"the CSV of exact activations has {largest} as the largest latency, not {wanted}")
