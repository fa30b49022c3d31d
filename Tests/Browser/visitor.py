"""A person at the console: what they do there, in steps."""

from bench.house import House, HouseBoard, Person
from bench.waiting import until
from browser import Browser


class Visitor:
    """Not logged in when made."""

    def __init__(self, house: House, browser: Browser):
        self.house = house
        self.browser = browser

    # Logging in.

    def fill_login(self, person: Person | None = None) -> None:
        person = person or self.house.admin
        self.browser.type("#username", person.name)
        self.browser.type("#password", person.password_file.read_text())
        self.browser.click("button[type=submit]", "Log in")

    def log_in(self, person: Person | None = None, path: str = "/") -> "Visitor":
        self.browser.open(path)
        self.fill_login(person)
        self.browser.wait_gone("#username")
        return self

    def log_out(self) -> None:
        self.browser.click("#account")
        self.browser.click("dialog button[type=submit]", "Log out")
        self.browser.wait("main.login")

    # Pairing.

    def claim_address(self, board: HouseBoard, *more: str) -> str:
        """The path that the phone's camera opens when the board's code names this authority."""
        return "/claim#" + board.pair(*more).partition("#")[2]

    def wait_step(self, step: str, state: str = "done", timeout: float = 60.0) -> None:
        self.browser.wait(f"[data-step={step}][data-state={state}]", timeout=timeout)

    def wait_problem(self, name: str, timeout: float = 60.0) -> str:
        """What the page says of a problem, and what to do."""
        return self.browser.text(f"[data-problem={name}]", timeout=timeout)

    def pair(self, board: HouseBoard) -> None:
        """Pairs a board that runs, from its code to its first reading."""
        self.browser.open(self.claim_address(board))
        self.browser.click("#pair")
        self.wait_step("opened")
        board.wait_session("available")
        assert "seq" in board.write(b'{"celsius":20.5}')
        self.wait_step("data")

    # One board's page.

    def open_board(self, board: HouseBoard) -> None:
        self.browser.go(f"/#/boards/{board.iid}")
        self.browser.wait("h1", board.name)

    def wait_live(self) -> None:
        """Until the page hears what happens as it happens."""
        self.browser.wait(".live[data-state=live]")

    def plotted(self, series: str) -> str:
        """The last number of a plot, as a person reads it."""
        return self.browser.text(f"[data-series='{series}'] .value")

    def wait_plotted(self, series: str, number: str, timeout: float = 60.0) -> None:
        self.browser.wait(f"[data-series='{series}'] .value", number, timeout)

    def wait_state(self, words: str, timeout: float = 60.0) -> None:
        self.browser.wait(".title .pill", words, timeout)

    def end(self, selector: str) -> None:
        """Clicks what cannot be undone. It is behind a menu."""
        if not self.browser.find(selector):
            self.browser.click("#ends > summary")
        self.browser.click(selector)

    def confirm(self, words: str) -> None:
        """Answers the question that is asked."""
        self.browser.click("dialog button[type=submit]", words)
        self.browser.wait_gone("dialog")


def everybody(house: House) -> dict[str, dict]:
    """All boards by their ids, as the administrator's command line lists them."""
    boards = house.cli_json("boards", "list", "--everyone")
    return {board["installationId"]: board for board in boards}


def wait_board(house: House, board: HouseBoard, timeout: float = 60.0, **members) -> dict:
    """Until the authority says this of a board."""
    def found() -> dict | None:
        known = everybody(house).get(board.iid, {})
        return known if all(known.get(k) == v for k, v in members.items()) else None

    return until(found, f"{board.name} to have {members}", timeout)
