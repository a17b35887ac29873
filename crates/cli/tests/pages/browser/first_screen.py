"""What stands on the first screen of a page, on a desk and on a phone; and five runs on one page, beside one another.

usage: first_screen.py USERS ALL.html [SCREENSHOT-DIRECTORY]

USERS is a list of {name, page, heads}, with the heads as JSON gives them. Exits with 1 and a sentence for each of their
verdicts, numbers and next steps that has to be scrolled to, for answers that are too long, and for what of five runs does
not stand side by side or leaves the paper.
"""
import json
import pathlib
import sys

from playwright.sync_api import sync_playwright

SCREENS = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
# A CNC builder reads no more before the decision.
MOST_WORDS = 150
# The text that is seen whole, without scrolling.
SEEN = """() => {
    const words = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect();
        const shown = node.parentElement.checkVisibility({ opacityProperty: true, visibilityProperty: true });
        if (shown && box.width > 1 && box.top >= 0 && box.bottom <= innerHeight && node.data.trim()) words.push(node.data.trim());
    }
    return words.join(' ');
}"""


def plain(text):
    return " ".join(text.split())


# CSS pixels between the margins of A4, the narrower of both.
PAPER = {"width": 703, "height": 1000}


def of_five(browser, page_file, shots):
    """One comparison, runs side by side on a desk and below one another on a phone, nothing beside the paper."""
    wrong = []
    for screen, viewport in {**SCREENS, "paper": PAPER}.items():
        page = browser.new_page(viewport=viewport)
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        if screen == "paper":
            page.emulate_media(media="print")
            page.wait_for_timeout(100)
        runs = page.evaluate("[...document.querySelectorAll('.runs > article')].map(run => run.getBoundingClientRect().top)")
        beside = sum(top == runs[0] for top in runs)
        if len(runs) != 5 or (beside < 2) != (screen == "phone"):
            wrong.append(f"five runs on {screen}: {beside} of {len(runs)} stand side by side")
        tables = page.evaluate(
            "[...document.querySelectorAll('#comparison table')].filter(table => !table.closest('details')).length"
        )
        if tables != 1:
            wrong.append(f"five runs on {screen}: {tables} tables compare them")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            wrong.append(f"five runs on {screen}: {wide} pixels are beside it")
        if shots:
            page.screenshot(path=shots / f"all-{screen}.png", full_page=True)
        page.close()
    return wrong


def main():
    users, shots = json.loads(sys.argv[1]), pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        for screen, viewport in SCREENS.items():
            context = browser.new_context(viewport=viewport, is_mobile=screen == "phone", has_touch=screen == "phone")
            for user in users:
                page = context.new_page()
                page.goto(pathlib.Path(user["page"]).as_uri())
                page.wait_for_selector("html[data-ready=yes]")
                if shots:
                    page.screenshot(path=shots / f"{user['name']}-{screen}.png")
                seen = plain(page.evaluate(SEEN))
                words = len(page.inner_text(".answers").split())
                print(f"{user['name']} on a {screen}: {words} words")
                for head in user["heads"]:
                    for part in ("verdict", "number", "next"):
                        if plain(head[part]) not in seen:
                            wrong.append(f"{user['name']} on a {screen}: {part} {head[part]!r} is not in {seen!r}")
                if words > MOST_WORDS:
                    wrong.append(f"{user['name']} on a {screen}: {words} words to the decision")
                page.close()
            context.close()
        wrong += of_five(browser, pathlib.Path(sys.argv[2]), shots)
        browser.close()
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
