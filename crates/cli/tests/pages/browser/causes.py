"""Whether the causes of late starts can be found on the page: a click at a spike shows what ran around it, as lanes."""

CHART = "jitterlab.figures.find(({ id }) => id.startsWith('causes-')).plots[0]"
LANES = "jitterlab.figures.filter(({ id }) => id.startsWith('causes-'))[1]"
# Where something stands on the screen, scrolled to.
PLACE = """([x, y]) => {
    const plot = %s, { left, top } = (plot.element.scrollIntoView({ block: 'center' }), plot.element.getBoundingClientRect());
    return [left + plot.drawing.column(x), top + plot.drawing.row(y)];
}"""
# The colour at a place of the lanes, and the one that a name of the page's style stands for.
PIXEL = f"""([x, y]) => {{
    const {{ canvas, drawing }} = {LANES}.plots[0], density = canvas.width / drawing.width;
    return [...canvas.getContext('2d').getImageData(drawing.column(x) * density, drawing.row(y) * density, 1, 1).data.slice(0, 3)];
}}"""
COLOUR = "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim().match(/\\w\\w/g).map(two => parseInt(two, 16))"
# Lanes from the lowest up: what draws them, and the colour of each.
LANE_COLOURS = ("--c6", "--c5", "--c2", "--c4", "--c5")


def everything_wrong(page, facts, touches):
    wrong = []

    def expect(truth, sentence):
        if not truth:
            wrong.append(sentence)

    page.evaluate("jitterlab.figures.filter(({ id }) => id.startsWith('causes-')).forEach(figure => { figure.seen = true; figure.draw(); })")
    for late in facts["latest"]:
        press = page.touchscreen.tap if touches else page.mouse.click
        press(*page.evaluate(PLACE % CHART, late["at"]))
        shown = page.evaluate(f"{LANES}.element.querySelector('[data-choose]').selectedOptions[0].textContent")
        expect(late["index"] in shown, f"a click at start {late['index']} shows {shown!r}")
        seen = page.evaluate(f"(({{ top, bottom, left, right }}) => top < innerHeight && bottom > 0 && left >= 0 && right <= innerWidth)({LANES}.plots[0].element.getBoundingClientRect())")
        expect(seen, f"the lanes of start {late['index']} are not on the screen")
    lanes(page, facts["lanes"], touches, expect)
    legend(page, facts["causes"], expect)
    return wrong


def lanes(page, wanted, touches, expect):
    """Each bar in the colour of its lane, named where somebody points at it, and nearer when zoomed in."""
    for lane, (at, ns, name) in enumerate(wanted):
        pixel, colour = page.evaluate(PIXEL, [at + ns * 0.9, lane + 0.3]), page.evaluate(COLOUR, LANE_COLOURS[lane])
        near = all(abs(a - b) <= 40 for a, b in zip(pixel, colour))
        expect(near, f"the bar {name!r} is {pixel} instead of {colour}")
        place = page.evaluate(PLACE % f"{LANES}.plots[0]", [at + ns / 2, lane])
        if touches:
            page.touchscreen.tap(*place)
        else:
            page.mouse.move(*place)
        said = page.is_visible(".hint") and page.inner_text(".hint")
        expect(said and name in said, f"pointed at the bar {name!r} the page says {said!r}")
    across = f"(([low, high]) => high - low)({LANES}.plots[0].drawing.range[0])"
    whole = page.evaluate(across)
    page.evaluate(f"{LANES}.plots[0].element.focus()")
    page.keyboard.press("+")
    expect(page.evaluate(across) < 0.5 * whole, "the lanes cannot be zoomed into")
    page.keyboard.press("0")


def legend(page, causes, expect):
    """The names above the spikes are their causes, and hide theirs."""
    names = page.evaluate(f"{CHART}.layers.map(({{ name, shape }}) => [name, shape.columns[0].length])")
    expect(sorted(names) == sorted(causes), f"the spikes are of {names} instead of {causes}")
    drawn = f"{CHART}.drawing.layers.length"
    before = page.evaluate(drawn)
    button = page.locator("figure[id^=figure-causes-] .legend button").first
    button.click()
    expect(page.evaluate(drawn) == before - 1, "a cause in the legend does not hide its spikes")
    button.click()
    expect(page.evaluate(drawn) == before, "a cause in the legend does not show its spikes again")
