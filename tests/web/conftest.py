"""The explorer's pages, opened in a browser."""

import pytest


class Opened:
    """A page that was opened, and all that it complained of or asked of the network."""

    def __init__(self, page, path, address=""):
        self.page = page
        self.faults = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self._watch)
        self.page.goto(f"{path.as_uri()}{address}")
        self.settle()

    def _watch(self, request):
        if not request.url.startswith(("file:", "blob:", "data:")):
            self.faults.append(f"asked for {request.url}")

    def settle(self):
        """Wait until the page has answered the latest facts."""
        self.page.wait_for_selector("html[data-ready]")
        self.page.wait_for_function("() => !explorer.state.busy && explorer.state.now.facts === explorer.state.facts")

    def ask(self, question, *asked):
        """Ask the engine in the page; typed arrays come back as lists, and −∞ and NaN as they are."""
        return self.ask_all([(question, *asked)])[0]

    def ask_all(self, questions):
        """Ask several questions at once."""
        return self.page.evaluate(
            """(questions) => {
                const entries = (value, of) => Object.fromEntries(Object.entries(value).map(([k, v]) => [k, of(v)]));
                const plain = (value) => ArrayBuffer.isView(value) ? Array.from(value)
                    : Array.isArray(value) ? value.map(plain)
                    : value && typeof value === "object" ? entries(value, plain) : value;
                return Promise.all(questions.map(async (own) => plain(await explorer.engine.ask(...own))));
            }""",
            [list(own) for own in questions],
        )

    def facts(self):
        """What the chips say."""
        return self.page.locator(".chip .fact").all_inner_texts()

    def row(self, name):
        """The row of a variable."""
        return self.page.locator(".row", has=self.page.locator(".name", has_text=name)).first


@pytest.fixture(scope="session")
def desk(browser):
    """Where pages are opened that ask for nothing special."""
    return browser.new_context(viewport={"width": 1280, "height": 900})


@pytest.fixture
def open_page(browser, desk):
    """Open a page; in the end nothing may have gone wrong in it."""
    opened = []

    def opening(path, address="", **options):
        page = browser.new_page(**options) if options else desk.new_page()
        opened.append(Opened(page, path, address))
        return opened[-1]

    yield opening
    for own in opened:
        text = own.page.inner_text("body")
        assert own.faults == []
        assert "NaN" not in text
        assert "undefined" not in text
        own.page.close()
