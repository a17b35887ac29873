"""Opens a report in a real headless Chromium and examines it as a person would.

usage: check.py PAGE.html FACTS.json [SCREENSHOT-DIRECTORY]

FACTS.json says what the page has to show: the documents of `analyze --json`, its sections, and the planted spike.
Prints what was measured; exits with 1 and a sentence for everything that is wrong.
"""
import json
import pathlib
import sys

from playwright.sync_api import sync_playwright

import access
import content

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Machines that test are busy: how long something took is printed, and judged by people.
PATIENCE_MS = 150_000
wrong = []


def expect(truth, sentence):
    if not truth:
        wrong.append(sentence)


def opened(context, page_file):
    """A new tab with the page, and what it said."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url) if not request.url.startswith(("data:", "blob:")) else None)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    expect(asked == [page_file.as_uri()], f"requests beside the page itself: {asked[1:]}")
    return page, said


def view(page):
    return page.evaluate("({from: jitterlab.view.from, to: jitterlab.view.to})")


def check_opening(page):
    """When the answer can be read and the first figure be used, and how long the first zoom takes."""
    readable, ready = page.evaluate("[performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN, jitterlab.readyAfterMs]")
    whole = view(page)
    page.focus("#series-plot")
    page.evaluate("addEventListener('keydown', () => { const t = performance.now(); requestAnimationFrame(() => setTimeout(() => { window.zoomedMs = performance.now() - t; })); }, { once: true, capture: true })")
    page.keyboard.press("+")
    page.wait_for_function("window.zoomedMs")
    print(f"the answer is readable after {readable:.0f} ms, the page interactive after {ready:.0f} ms, the first zoom drawn in {page.evaluate('zoomedMs'):.0f} ms")
    near = view(page)
    expect(near["to"] - near["from"] < 0.3 * (whole["to"] - whole["from"]), "the key + does not zoom in")
    page.keyboard.press("ArrowRight")
    expect(view(page)["from"] > near["from"], "the right arrow does not move")
    page.keyboard.press("0")
    expect(view(page)["to"] == whole["to"], "the key 0 does not show the whole run")


def check_dragging(page):
    whole = view(page)
    page.locator("#series-plot").scroll_into_view_if_needed()
    box = page.locator("#series-plot .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    page.wait_for_function(f"jitterlab.view.to - jitterlab.view.from < {0.9 * (whole['to'] - whole['from'])}")
    dragged = view(page)
    span = (dragged["to"] - dragged["from"]) / (whole["to"] - whole["from"])
    expect(abs(span - 0.2) < 0.05, f"dragging over a fifth of the series shows {span:.2f} of it")
    page.focus("#series-plot")
    page.keyboard.press("0")


# Words at the head of a figure, and level words at its axes, that cover each other by more than a pixel.
OVERLAPPING = """plot => {
    const level = text => !/rotate\\((?!0[,)])/.test(text.getAttribute('transform') ?? '');
    const groups = ['.annotation-text-g', '.xtick text', '.ytick text', '.legendtext'].map(name => [...plot.querySelectorAll(name)].filter(level));
    for (const texts of groups) {
        const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]).filter(([words]) => words);
        for (const [i, [words, a]] of boxes.entries()) for (const [others, b] of boxes.slice(i + 1)) {
            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) return `${words} / ${others}`;
        }
    }
}"""
DRAWN = "plot => plot.querySelector('.main-svg') && plot.querySelector('.xtick, .ytick')"


def check_layout(page, name):
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{name}: the page is {wide} pixels wider than the screen")
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
        page.wait_for_function(DRAWN, arg=plot)
        clash = plot.evaluate(OVERLAPPING)
        expect(not clash, f"{name}: words overlap in {plot.get_attribute('id')}: {clash}")
        caption = plot.evaluate("plot => plot.parentElement.querySelector('figcaption').textContent.trim()")
        expect(len(caption) > 40, f"{name}: {plot.get_attribute('id')} has no caption")


def check_paper(context, page_file, shots):
    """On paper everything is drawn, light, though nobody scrolled to it."""
    page, _ = opened(context, page_file)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ground = page.evaluate("document.querySelector('#series-plot .main-svg').style.background")
    expect(dark == ground and dark != "rgb(255, 255, 255)", f"dark: page {dark}, figure {ground}")
    page.emulate_media(media="print")
    page.wait_for_function("[...document.querySelectorAll('.plot')].every(plot => plot.querySelector('.main-svg')?.style.background === 'rgb(255, 255, 255)')")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    expect(paper == "rgb(255, 255, 255)", f"print: the page is {paper}, not white")
    expect(not page.is_visible("nav"), "print: the navigation is printed")
    page.pdf(path=(shots or page_file.parent) / "print.pdf", format="A4")


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
                check_dragging(page)
                wrong.extend(content.everything_wrong(page, facts))
                wrong.extend(access.wrong_tab_order(page))
            check_layout(page, name)
            wrong.extend(f"{name}: {line}" for line in access.violations(page))
            if shots:
                page.evaluate("scrollTo(0, 0)")
                page.screenshot(path=shots / f"{name}.png", full_page=True)
            expect(not said, f"{name}: the console says {said}")
            if name == "dark":
                check_paper(context, page_file, shots)
            context.close()
        browser.close()
    for sentence in wrong:
        print("wrong:", sentence)
    sys.exit(1 if wrong else 0)


main()
