"""Opens a report in a real headless Chromium and examines it as a person would.

usage: check.py PAGE.html FACTS.json [SCREENSHOT-DIRECTORY]

FACTS.json says what the page has to show: the documents of `analyze --json`, its sections, and the planted spike.
Prints what was measured; exits with 1 and a sentence for everything that is wrong.
"""
import json
import pathlib
import re
import sys

from playwright.sync_api import sync_playwright

import access
import causes
import content

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Machines that test are busy: how long something took is printed, and judged by people.
PATIENCE_MS = 150_000
# What the browser says of this script's own looking at pixels.
CHECKED = "willReadFrequently"
wrong = []


def until(page, what):
    """Waits for something to be so. Not wait_for_function: it evaluates text in the page, which the page's policy forbids."""
    for _ in range(500):
        if page.evaluate(what):
            return
        page.wait_for_timeout(20)
    raise TimeoutError(what)


def expect(truth, sentence):
    if not truth:
        wrong.append(sentence)


def opened(context, page_file):
    """A new tab with the page, and what it said."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") and not CHECKED in message.text else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url) if not request.url.startswith(("data:", "blob:")) else None)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    page.evaluate(FOLD, False)
    expect(asked == [page_file.as_uri()], f"requests beside the page itself: {asked[1:]}")
    return page, said


# What is folded away until somebody wants it.
FOLD = "folded => document.querySelectorAll('details').forEach(details => { details.open = !folded; })"
# Sheets that two runs take on paper, what is folded away left out.
SHEETS = 6


# Figures whose drawing is stretched where it is shown, by how much.
SQUASHED = """jitterlab.figures.flatMap(({ plots }) => plots).filter(({ canvas }) => canvas.clientHeight).map(({ canvas }) => canvas.width / canvas.height * canvas.clientHeight / canvas.clientWidth).filter(stretch => Math.abs(Math.log(stretch)) > 0.1)"""

# The first chart of the series, and from where to where it is seen.
VIEW = "(() => { const [from, to] = jitterlab.figures.find(({ series }) => series).plots[0].drawing.range[0]; return { from, to }; })()"
SERIES = "#figure-series-0 .plot"


def view(page):
    return page.evaluate(VIEW)


def check_opening(page):
    """When the answer can be read and the first figure be used, and how long the first zoom takes."""
    readable, ready = page.evaluate("[performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN, jitterlab.readyAfterMs]")
    whole = view(page)
    page.focus(SERIES)
    page.evaluate("addEventListener('keydown', () => { const t = performance.now(); requestAnimationFrame(() => setTimeout(() => { window.zoomedMs = performance.now() - t; })); }, { once: true, capture: true })")
    page.keyboard.press("+")
    # Not wait_for_function: it evaluates text in the page, which the page's policy forbids.
    while page.evaluate("window.zoomedMs ?? null") is None:
        page.wait_for_timeout(20)
    print(f"the answer is readable after {readable:.0f} ms, the page interactive after {ready:.0f} ms, the first zoom drawn in {page.evaluate('zoomedMs'):.0f} ms")
    near = view(page)
    expect(near["to"] - near["from"] < 0.3 * (whole["to"] - whole["from"]), "the key + does not zoom in")
    page.keyboard.press("ArrowRight")
    expect(view(page)["from"] > near["from"], "the right arrow does not move")
    page.keyboard.press("0")
    expect(view(page) == whole, "the key 0 does not show the whole run")
    for key in ("Enter", "Space"):
        page.keyboard.press(key)
        expect(page.is_visible(".hint") and len(page.inner_text(".hint")) > 10, f"the key {key} does not say what is in the middle")
        page.keyboard.press("Home")
        expect(not page.is_visible(".hint"), "what was said stays when the figure moves on")


def check_mouse(page):
    """Dragging, the wheel, and the double-click; all charts of a figure move together."""
    whole = view(page)
    plot = page.locator(SERIES).first
    plot.scroll_into_view_if_needed()
    box, (left, right) = plot.bounding_box(), page.evaluate("(({ left, right }) => [left, right])(jitterlab.figures.find(({ series }) => series).plots[0].drawing)")
    across, middle = lambda share: box["x"] + left + share * (right - left), box["y"] + box["height"] / 2
    page.mouse.move(across(0.3), middle)
    page.mouse.down()
    page.mouse.move(across(0.5), middle, steps=6)
    page.mouse.up()
    dragged = view(page)
    share = (dragged["to"] - dragged["from"]) / (whole["to"] - whole["from"])
    expect(abs(share - 0.2) < 0.02, f"dragging over a fifth of the series shows {share:.2f} of it")
    page.keyboard.down("Control")
    page.mouse.wheel(0, 100)
    page.keyboard.up("Control")
    wider = view(page)
    expect(wider["to"] - wider["from"] > 1.1 * (dragged["to"] - dragged["from"]), "the wheel with Ctrl does not zoom out")
    ranges = page.evaluate("jitterlab.figures.find(({ series }) => series).plots.map(plot => JSON.stringify(plot.drawing.range[0]))")
    expect(len(set(ranges)) == 1, "the charts of the series show different stretches")
    page.mouse.dblclick(across(0.5), middle)
    expect(view(page) == whole, "a double-click does not show the whole run")
    page.mouse.move(across(0.25), middle)
    expect(page.is_visible(".hint") and len(page.inner_text(".hint")) > 10, "nothing is said of what the mouse points at")


def check_legend(page):
    """A name above a figure hides and shows its layer."""
    name = page.locator("#figure-series-0 .legend button").first
    drawn = "jitterlab.figures.find(({ series }) => series).plots[0].drawing.layers.length"
    before = page.evaluate(drawn)
    name.click()
    expect(page.evaluate(drawn) == before - 1 and name.get_attribute("aria-pressed") == "false", "a name does not hide its layer")
    name.click()
    expect(page.evaluate(drawn) == before, "a name does not show its layer again")


def check_layout(page, name):
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{name}: the page is {wide} pixels wider than the screen")
    for figure in page.query_selector_all("figure[id]"):
        figure.scroll_into_view_if_needed()
        number = page.evaluate("figure => jitterlab.figures.findIndex(({ element }) => element === figure)", figure)
        until(page, f"jitterlab.figures[{number}].plots.every(plot => plot.drawing)")
        blank = page.evaluate("""number => jitterlab.figures[number].plots.filter(({ canvas }) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return !new Uint32Array(data.buffer).some(pixel => pixel);
        }).length""", number)
        expect(not blank, f"{name}: {figure.get_attribute('id')} has nothing drawn in it")
        ticks = page.evaluate("number => Math.min(...jitterlab.figures[number].plots.flatMap(({ drawing }) => [drawing.upTicks.length, drawing.acrossTicks.length]))", number)
        expect(ticks > 0, f"{name}: {figure.get_attribute('id')} has an axis without ticks")
        caption = figure.query_selector(".caption").inner_text()
        expect(len(caption) > 40, f"{name}: {figure.get_attribute('id')} has no caption")


def check_paper(context, page_file, shots):
    """On paper everything is drawn, light, though nobody scrolled to it: anew, or as it is in the document."""
    page, _ = opened(context, page_file)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = "jitterlab.figures.map(({ plots }) => plots[0].drawing?.ink)"
    expect(page.evaluate(f"{ink}[0] === '#e8ebee'") and dark != "rgb(255, 255, 255)", f"dark: page {dark}, ink {page.evaluate(ink)}")
    page.emulate_media(media="print")
    until(page, f"{ink}.every(ink => ink === undefined || ink === '#000000')")
    empty = page.evaluate("jitterlab.figures.filter(({ plots, place }) => !plots[0].drawing && !place.querySelector('.still path')).map(({ id }) => id)")
    expect(not empty, f"print: nothing is drawn in {empty}")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    expect(paper == "rgb(255, 255, 255)", f"print: the page is {paper}, not white")
    expect(not page.is_visible("nav"), "print: the navigation is printed")
    # As wide as between the margins of A4.
    page.set_viewport_size({"width": 703, "height": 1000})
    squashed = page.evaluate(SQUASHED)
    expect(not squashed, f"print: figures are out of proportion: {squashed}")
    page.pdf(path=(shots or page_file.parent) / "print.pdf", format="A4")
    page.evaluate(FOLD, True)
    for paper in ("A4", "Letter"):
        sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper)))
        print(f"{paper}: {sheets} sheets")
        expect(0 < sheets <= SHEETS or page.query_selector("section#matrix"), f"two runs take {sheets} sheets of {paper}")


def check_without_script(browser, page_file, shots):
    """Without scripts every figure is there, and nothing that only a script serves."""
    page = browser.new_context(viewport=DESKTOP, java_script_enabled=False).new_page()
    page.goto(page_file.as_uri())
    figures, drawn = page.locator("figure[id]").count(), page.locator("figure[id] .still:has(path)").count()
    expect(figures and drawn >= figures, f"without scripts {drawn} of {figures} figures are drawn")
    expect(not page.locator(".controls").first.is_visible(), "without scripts there are buttons that do nothing")
    page.pdf(path=(shots or page_file.parent) / "at-once.pdf", format="A4")


def check_reveal(context, page_file):
    """An address that leads to what is folded away unfolds it."""
    page, _ = opened(context, page_file)
    page.evaluate(FOLD, True)
    page.evaluate("location.hash = '#spectrum'")
    until(page, "document.querySelector('#spectrum') === null || document.querySelector('#spectrum').checkVisibility()")


def main():
    page_file, facts = pathlib.Path(sys.argv[1]).resolve(), json.loads(pathlib.Path(sys.argv[2]).read_text())
    shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=facts["browser"], args=ARGUMENTS)
        for name, viewport, scheme in [("desktop", DESKTOP, "light"), ("dark", DESKTOP, "dark"), ("phone", PHONE, "light")]:
            context = browser.new_context(viewport=viewport, color_scheme=scheme, has_touch=name == "phone", is_mobile=name == "phone")
            page, said = opened(context, page_file)
            print(f"{name}:", end=" ")
            check_opening(page)
            if name == "desktop":
                check_mouse(page)
                check_legend(page)
                wrong.extend(content.everything_wrong(page, facts))
                wrong.extend(access.wrong_tab_order(page))
            for seen in ("light", "dark") if facts.get("causes") else ():
                page.emulate_media(color_scheme=seen)
                until(page, f"matchMedia('(prefers-color-scheme: {seen})').matches")
                wrong.extend(f"{name}, {seen}: {line}" for line in causes.everything_wrong(page, facts["causes"], name == "phone"))
                if shots:
                    page.locator("section#causes").screenshot(path=shots / f"causes-{name}-{seen}.png")
            page.emulate_media(color_scheme=scheme)
            check_layout(page, name)
            wrong.extend(f"{name}: {line}" for line in access.violations(page))
            if shots:
                page.evaluate("scrollTo(0, 0)")
                page.screenshot(path=shots / f"{name}.png", full_page=True)
            expect(not said, f"{name}: the console says {said}")
            if name == "dark":
                check_paper(context, page_file, shots)
                check_reveal(context, page_file)
                check_without_script(browser, page_file, shots)
            context.close()
        browser.close()
    for sentence in wrong:
        print("wrong:", sentence)
    sys.exit(1 if wrong else 0)


main()
