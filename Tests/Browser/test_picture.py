"""The picture in the README: a board's page with data. `make screenshot` puts it in its place."""

import math
import time

from browser import screenshots

# Wide enough for both columns, and small enough to be read where a README is shown.
SIZE = (1120, 780)
MOST_BYTES = 150_000
# The readings nearly fill the shortest time that a plot shows, which is 30 s.
READINGS, PAUSE = 90, 0.25
POLICY = """\
default = "deny"
[[rule]]
app = "thermo"
class = "Reading"
allow = ["create"]
fields = { celsius = "number(-60..125)", humidity = "number(0..100)" }
"""


def test_a_board_with_data_makes_the_readmes_picture(house, visit):
    board = house.live("greenhouse", policy=POLICY)
    visitor = visit(SIZE).log_in()
    visitor.open_board(board)
    visitor.wait_live()
    for step in range(READINGS):
        turn = step / READINGS * 2 * math.pi
        celsius = 21 + 3 * math.sin(turn) + 0.3 * math.sin(9 * turn)
        humidity = 62 - 9 * math.sin(turn - 0.5)
        board.write(b'{"celsius":%.1f,"humidity":%.0f}' % (celsius, humidity))
        time.sleep(PAUSE)
    visitor.browser.open(f"/#/boards/{board.iid}")
    visitor.wait_plotted("Reading.humidity", f"{humidity:.0f}")
    # A window without a scrollbar needs no room for one.
    visitor.browser.script("document.documentElement.style.scrollbarGutter = 'auto'")
    visitor.browser.shot("board", whole=False)
    assert (screenshots() / "board.png").stat().st_size < MOST_BYTES
