"""What the tests of a session's whole life share: one house a file, and how a wait is measured."""

import pytest

from bench.house import House


@pytest.fixture(scope="module")
def house_settings() -> str:
    """More lines of `[session]` in authority.toml; a file may have its own."""
    return ""


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs, house_settings):
    """One authority for the whole file: each test brings boards of its own."""
    house = House(tmp_path_factory.mktemp("house"), evidence, programs, house_settings)
    yield house
    house.close()


class Measure:
    """Measurements for the report: printed, and kept as properties of the test. None fails it."""

    def __init__(self, record_property, capsys):
        self._record = record_property
        self._capsys = capsys

    def tell(self, what: str, figure: object) -> None:
        self._record(what, figure)
        with self._capsys.disabled():
            print(f"\n  {what}: {figure}", flush=True)

    def milliseconds(self, what: str, seconds: float) -> None:
        self.tell(what, f"{1000 * seconds:.0f} ms")


@pytest.fixture
def measure(record_property, capsys) -> Measure:
    return Measure(record_property, capsys)
