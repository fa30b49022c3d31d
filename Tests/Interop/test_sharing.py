"""A board that its owner shares, by the command line and by Parse's API; the secret of a link is
nowhere but in the link."""

import json

import pytest

from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures


@pytest.fixture(scope="module")
def board(house):  # noqa: F811
    board = house.live("barn")
    for celsius in (20, 21):
        assert "seq" in board.write(b'{"celsius":%d}' % celsius)
    until(lambda: len(objects(house.admin)) == 2, "two objects", 60)
    return board


def objects(person) -> list[dict]:
    status, body = person.http("GET", "/parse/classes/Reading")
    assert status == 200, body
    return body["results"]


def share(house, board, tmp_path, *terms):  # noqa: F811
    """The file with a new link."""
    link = house.admin.must("boards", "share", board.iid, *terms).strip()
    assert "/#/invitation/" in link
    house.evidence.add_secret("the secret of an invitation", link.rpartition("/")[2])
    file = tmp_path / "link"
    file.write_text(link + "\n")
    file.chmod(0o600)
    house.evidence.ours.add(file)
    return file


def listed(person) -> list[dict]:
    return json.loads(person.must("boards", "list", "--json"))


def test_link_gives_a_board_once_and_its_owner_ends_it(house, board, tmp_path):  # noqa: F811
    greta, hugo = house.user("greta"), house.user("hugo")
    file = share(house, board, tmp_path, "manage", "--classes", "Reading", "--until", "30d")
    shares = json.loads(house.admin.must("boards", "shares", board.iid, "--json"))
    assert [one["right"] for one in shares["invitations"]] == ["manage"]
    assert "secret" not in json.dumps(shares) and "hash" not in json.dumps(shares)

    greta.must("boards", "accept", "--link-file", file)
    assert hugo.cli("boards", "accept", "--link-file", file).returncode != 0
    assert [one["sharedRight"] for one in listed(greta)] == ["manage"]
    assert listed(hugo) == []
    assert len(objects(greta)) == 2 and objects(hugo) == []

    # She manages it under her own name.
    greta.must("boards", "rename", board.iid, "shed")
    greta.must("sessions", "extend", board.session_id, "20d", "--shorten")
    for refused in (["boards", "release", board.iid], ["boards", "label", board.iid, "x"],
                    ["boards", "share", board.iid, "see"], ["boards", "shares", board.iid]):
        assert greta.cli(*refused).returncode == 77, refused
    acts = {(e["event"], e["actor"]) for e in house.audit(board)}
    assert {("share.invited", house.admin.name), ("share.accepted", "greta"),
            ("board.renamed", "greta"), ("session.extended", "greta")} <= acts

    assert "greta" in house.admin.must("boards", "shares", board.iid)
    house.admin.must("boards", "unshare", board.iid, "greta")
    assert listed(greta) == [] and objects(greta) == []
    assert greta.cli("boards", "show", board.iid).returncode != 0


def test_person_leaves_a_board(house, board, tmp_path):  # noqa: F811
    ina = house.user("ina")
    ina.must("boards", "accept", "--link-file", share(house, board, tmp_path, "see"))
    assert [one["sharedRight"] for one in listed(ina)] == ["see"]
    assert ina.cli("boards", "rename", board.iid, "mine").returncode == 77
    ina.must("boards", "unshare", board.iid)
    assert listed(ina) == []
