"""Whether everybody can use the page: axe-core's rules, and the order of the Tab key."""
from axe_playwright_python.sync_playwright import Axe

# Everything the Tab key should reach, in the order of the page.
REACHABLE = """[...document.querySelectorAll('a[href], button, select, summary, [tabindex="0"]')].filter(element => element.checkVisibility())"""


def violations(page):
    """axe-core's serious findings; the others are printed."""
    found = []
    for violation in Axe().run(page).response["violations"]:
        nodes = "; ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:3])
        line = f"{violation['impact']} {violation['id']}: {violation['help']} ({nodes})"
        print("axe", line)
        if violation["impact"] in ("serious", "critical"):
            found.append(line)
    return found


def wrong_tab_order(page):
    """The Tab key goes through all of it, one after the other, and what has the focus is marked."""
    # Names above a figure come when it is drawn, before the focus gets there.
    page.evaluate("jitterlab.figures.forEach(figure => { figure.seen = true; figure.draw(); })")
    wanted = page.evaluate(f"{REACHABLE}.length")
    note = "visited.push({ element: document.activeElement, marked: getComputedStyle(document.activeElement).outlineStyle !== 'none' })"
    page.evaluate("window.visited = []; document.querySelector('.skip').focus()")
    # There and back: what the keyboard focuses is marked.
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.evaluate(note)
    for _ in range(wanted - 1):
        page.keyboard.press("Tab")
        page.evaluate(note)
    return page.evaluate(f"""{REACHABLE}.flatMap((wanted, i) => {{
        const {{ element, marked }} = visited[i], name = element => element.outerHTML.slice(0, 80);
        if (element !== wanted) return [`tab order: ${{name(element)}} has the focus instead of ${{name(wanted)}}`];
        return marked ? [] : [`tab order: nothing marks the focus of ${{name(element)}}`];
    }}).slice(0, 3)""")
