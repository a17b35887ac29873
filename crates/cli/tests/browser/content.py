"""Whether the page shows the numbers of `analyze --json`, on the screen and in what it offers for downloading."""
import csv
import json

QUANTITIES = ("latency", "execution", "period_error")


def everything_wrong(page, facts):
    wrong = []

    def expect(truth, sentence):
        if not truth:
            wrong.append(sentence)

    for section in facts.get("sections", []):
        expect(page.query_selector(f"section#{section}"), f"there is no section {section}")
    if "comparison" in facts.get("sections", []):
        page.locator("#figure-comparison-0").scroll_into_view_if_needed()
        page.wait_for_selector("#figure-comparison-0 .errorbar", state="attached")
    figures(page, facts, expect)
    if facts.get("spike"):
        spike(page, facts["spike"], expect)
    downloads(page, facts, expect)
    return wrong


def summaries(facts):
    return [task["summary"] for document in facts["documents"] for task in document["tasks"]]


def same_documents(held, facts):
    """The page's tables hold what every command says of a run; `analyze` adds its explanations."""
    pairs = [(shown, told) for page, wanted in zip(held, facts["documents"], strict=True) for shown, told in zip(page["tasks"], wanted["tasks"], strict=True)]
    return all(told.get(part) == value for shown, told in pairs for part, value in shown.items())


def figures(page, facts, expect):
    expect(same_documents(page.evaluate("jitterlab.documents"), facts), "the page's figures are not those of analyze --json")
    bins = page.evaluate("jitterlab.plots.runs.flatMap(run => run.tasks.map(task => task.bins))")
    for drawn, summary in zip(bins, summaries(facts), strict=True):
        for quantity, values in drawn.items():
            count, told = sum(bin[2] for bin in values), summary[quantity]
            expect(count == told["count"], f"the histogram of {quantity} holds {count} values instead of {told['count']}")
            expect(not count or values[0][0] <= told["min_ns"] <= values[0][1], f"the histogram of {quantity} does not begin at its smallest")
            expect(not count or values[-1][0] <= told["max_ns"] <= values[-1][1], f"the histogram of {quantity} does not end at its largest")
    largest = page.evaluate("jitterlab.view.series.levels[0].latency.max.reduce((a, b) => Math.max(a, b))")
    wanted = summaries(facts)[0]["latency"]["max_ns"]
    expect(largest == wanted, f"the series' largest is {largest}, not {wanted}")


def spike(page, spike, expect):
    """Drawn at full zoom-out, exact at full zoom-in."""
    highest = page.evaluate("""() => {
        const data = document.getElementById('series-plot').data.filter(trace => trace.yaxis === 'y');
        return Math.max(...data.flatMap(trace => Array.from(trace.y)).filter(Number.isFinite));
    }""")
    # Where the line really ends on the screen, and where its largest value belongs.
    ends, belongs = page.evaluate("""highest => {
        const plot = document.getElementById('series-plot'), axis = plot._fullLayout.yaxis, top = plot.getBoundingClientRect().top;
        const lines = [...plot.querySelectorAll('.subplot.xy .js-line')].map(line => line.getBoundingClientRect().top - top);
        return [Math.min(...lines), axis._offset + axis.d2p(highest)];
    }""", highest)
    expect(abs(ends - belongs) < 2, f"at full zoom-out the line of the latency ends at {ends:.0f} pixels, its spike belongs to {belongs:.0f}")
    unit = spike["latency_ns"] / highest
    expect(any(abs(unit / scale - 1) < 1e-9 for scale in (1, 1e3, 1e6, 1e9)), "the spike is not drawn at full zoom-out")
    page.click("[data-act=next]")
    span = page.evaluate("jitterlab.view.to - jitterlab.view.from")
    expect(span <= 64 * spike["period_ns"], f"the largest latency is shown in a stretch of {span} ns")
    exact = page.evaluate(f"""() => {{
        const trace = document.getElementById('series-plot').data.find(trace => trace.yaxis === 'y' && trace.text?.some(text => text?.includes('activation {spike["index"]},')));
        return trace?.text.find(text => text.includes('activation {spike["index"]},'));
    }}""")
    expect(exact is not None and exact.endswith(f"latency {spike['shown']}"), f"zoomed in, the spike reads {exact!r} instead of {spike['shown']}")
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
    wanted = [(summary["task"], quantity, summary[quantity]) for summary in summaries(facts) for quantity in ("latency", "corrected_latency", "execution", "period_error", "cycle_to_cycle")]
    expect([(row["task"], row["quantity"]) for row in table] == [entry[:2] for entry in wanted], "the CSV of figures has other rows than analyze --json")
    for row, (_, quantity, told) in zip(table, wanted):
        for column in ("count", "min_ns", "mean_ns", "p99_ns", "max_ns"):
            same = row[column] == "" if told[column] is None else float(row[column]) == told[column]
            expect(same, f"the CSV of figures has {row[column]} as {column} of {quantity}, not {told[column]}")

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
