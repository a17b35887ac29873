"""Opens a report in a real headless Chromium and examines it as a person would.

usage: check.py PAGE.html FACTS.json [SCREENSHOT-DIRECTORY]

FACTS.json says what the page has to show: the documents of `analyze --json`, and the planted spike.
Prints what was measured; exits with 1 and a sentence for everything that is wrong.
"""
import json
import pathlib
import sys

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
wrong = []


def expect(truth, sentence):
    if not truth:
        wrong.append(sentence)


def opened(context, page_file):
    """A new tab with the page, and what it said and asked for."""
    page = context.new_page()
    # Machines that test are busy: how long it took is printed, and judged by people.
    page.set_default_timeout(120_000)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url) if not request.url.startswith(("data:", "blob:")) else None)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    expect(asked == [page_file.as_uri()], f"requests beside the page itself: {asked[1:]}")
    return page, said


def view(page):
    return page.evaluate("({from: jitterlab.view.from, to: jitterlab.view.to, text: document.getElementById('series-status').textContent})")


def drawn_largest(page):
    """The largest latency among the points on the screen, in nanoseconds, from plotly's own data."""
    return page.evaluate("""() => {
        const data = document.getElementById('series-plot').data.filter(trace => trace.yaxis === 'y');
        return Math.max(...data.flatMap(trace => Array.from(trace.y)).filter(Number.isFinite));
    }""")


def check_figures(page, facts):
    held = page.evaluate("jitterlab.documents")
    for document, wanted in zip(held, facts["documents"], strict=True):
        # The page's tables hold what every command says of a run; `analyze` adds its explanations.
        shown, told = document["tasks"], wanted["tasks"]
        same = len(shown) == len(told) and all(told[n].get(part) == value for n, task in enumerate(shown) for part, value in task.items())
        expect(same, "the page's figures are not those of analyze --json")
    bins = page.evaluate("jitterlab.plots.runs.flatMap(run => run.tasks.map(task => task.bins))")
    wanted = [task["summary"] for document in facts["documents"] for task in document["tasks"]]
    for drawn, summary in zip(bins, wanted, strict=True):
        for quantity, values in drawn.items():
            count, told = sum(bin[2] for bin in values), summary[quantity]
            expect(count == told["count"], f"the histogram of {quantity} holds {count} values instead of {told['count']}")
            expect(not count or values[0][0] <= told["min_ns"] <= values[0][1], f"the histogram of {quantity} does not begin at its smallest")
            expect(not count or values[-1][0] <= told["max_ns"] <= values[-1][1], f"the histogram of {quantity} does not end at its largest")
    largest = page.evaluate("jitterlab.view.series.levels.at(-1).latency.max.reduce((a, b) => Math.max(a, b))")
    expect(largest == wanted[0]["latency"]["max_ns"], f"the series' largest is {largest}, not {wanted[0]['latency']['max_ns']}")


def check_spike(page, spike):
    unit = spike["latency_ns"] / drawn_largest(page)
    expect(any(abs(unit / scale - 1) < 1e-9 for scale in (1, 1e3, 1e6, 1e9)), "the spike is not drawn at full zoom-out")
    page.click("[data-act=next]")
    at = view(page)
    expect(at["to"] - at["from"] <= 64 * spike["period_ns"], f"the largest latency is shown from {at['from']} to {at['to']}")
    exact = page.evaluate(f"""() => {{
        const trace = document.getElementById('series-plot').data.find(trace => trace.yaxis === 'y' && trace.text?.some(text => text?.includes('activation {spike["index"]},')));
        return trace?.text.find(text => text.includes('activation {spike["index"]},'));
    }}""")
    expect(exact is not None and exact.endswith(f"latency {spike['shown']}"), f"zoomed in, the spike reads {exact!r} instead of {spike['shown']}")
    page.click("[data-act=all]")


def check_zoom(page):
    whole = view(page)
    page.focus("#series-plot")
    page.keyboard.press("+")
    near = view(page)
    expect(near["to"] - near["from"] < 0.3 * (whole["to"] - whole["from"]), "the key + does not zoom in")
    page.keyboard.press("ArrowRight")
    expect(view(page)["from"] > near["from"], "the right arrow does not move")
    page.keyboard.press("0")
    expect(view(page)["to"] == whole["to"], "the key 0 does not show the whole run")
    page.locator("#series-plot").scroll_into_view_if_needed()
    box = page.locator("#series-plot .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    page.wait_for_timeout(300)
    dragged = view(page)
    span = (dragged["to"] - dragged["from"]) / (whole["to"] - whole["from"])
    expect(abs(span - 0.2) < 0.05, f"dragging over a fifth of the series shows {span:.2f} of it")
    page.keyboard.press("0")


def check_access(page, name):
    # Plotly draws its text as SVG inside figures that have captions; everything else is the page's own.
    found = Axe().run(page).response["violations"]
    for violation in found:
        nodes = "; ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:3])
        line = f"{name}: {violation['impact']} {violation['id']}: {violation['help']} ({nodes})"
        print("axe", line)
        expect(violation["impact"] not in ("serious", "critical"), line)


# Words at the head of a figure, and level words at its axes, that cover each other by more than a pixel.
OVERLAPPING = """plot => {
    const level = text => !/rotate\\((?!0[,)])/.test(text.getAttribute('transform') ?? '');
    const groups = ['.annotation-text-g', '.xtick text', '.ytick text'].map(name => [...plot.querySelectorAll(name)].filter(level));
    for (const texts of groups) {
        const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]).filter(([words]) => words);
        for (const [i, [words, a]] of boxes.entries()) for (const [others, b] of boxes.slice(i + 1)) {
            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) return `${words} / ${others}`;
        }
    }
}"""


def check_layout(page, name):
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{name}: the page is {wide} pixels wider than the screen")
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
        page.wait_for_timeout(250)
        empty = plot.evaluate("plot => !plot.querySelector('.main-svg')")
        expect(not empty, f"{name}: the figure {plot.get_attribute('id')} is empty")
        clash = plot.evaluate(OVERLAPPING)
        expect(not clash, f"{name}: words overlap in {plot.get_attribute('id')}: {clash}")


def main():
    page_file, facts = pathlib.Path(sys.argv[1]).resolve(), json.loads(pathlib.Path(sys.argv[2]).read_text())
    shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=facts["browser"], args=ARGUMENTS)
        for name, viewport, scheme in [("desktop", DESKTOP, "light"), ("dark", DESKTOP, "dark"), ("phone", PHONE, "light")]:
            context = browser.new_context(viewport=viewport, color_scheme=scheme, has_touch=name == "phone", is_mobile=name == "phone")
            page, said = opened(context, page_file)
            print(f"{name}: interactive after {page.evaluate('jitterlab.readyAfterMs'):.0f} ms")
            check_figures(page, facts)
            if name == "desktop":
                check_zoom(page)
                if facts.get("spike"):
                    check_spike(page, facts["spike"])
            check_layout(page, name)
            check_access(page, name)
            if shots:
                page.evaluate("scrollTo(0, 0)")
                page.screenshot(path=shots / f"{name}.png", full_page=True)
            if name == "dark":
                dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
                ground = page.evaluate("document.querySelector('#series-plot .main-svg').style.background")
                expect(dark == ground and dark != "rgb(255, 255, 255)", f"dark: page {dark}, figure {ground}")
                page.emulate_media(media="print")
                page.wait_for_timeout(600)
                paper = page.evaluate("[getComputedStyle(document.body).backgroundColor, document.querySelector('#series-plot .main-svg').style.background]")
                expect(paper == ["rgb(255, 255, 255)"] * 2, f"print: page and figure are {paper}, not white")
                expect(not page.is_visible("nav"), "print: the navigation is printed")
                page.pdf(path=(shots or page_file.parent) / "print.pdf", format="A4")
            expect(not said, f"{name}: the console says {said}")
            context.close()
        browser.close()
    for sentence in wrong:
        print("wrong:", sentence)
    sys.exit(1 if wrong else 0)


main()
