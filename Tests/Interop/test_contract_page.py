"""`Provisioning/PROTOCOL.md`: its examples are messages, its links lead somewhere."""

import json
import re

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from bench import specification
from postern_contract import access_token, base64url, claim_url, derivation, messages, sealed, topics
from postern_contract.x25519 import KeyPair

PAGE = specification.FILE.parent / "PROTOCOL.md"
TEXT = PAGE.read_text()
# Of each fenced block: what it is an example of, and the example.
EXAMPLES = [(kind, json.loads(body))
            for kind, body in re.findall(r"^```json *(\S*)\n(.*?)^```$", TEXT, re.M | re.S)]
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.M | re.S)
SHAPES = specification.document()["components"]["schemas"]


def example(kind: str) -> dict:
    return next(body for name, body in EXAMPLES if name == kind)


def key_pair(row: str) -> KeyPair:
    """The key pair in the table of the examples' keys."""
    private, public, name = re.search(
        rf"^\| {re.escape(row)} \| `(\S+)` \| `(\S+)` \| `(\S+)` \|$", TEXT, re.M).groups()
    pair = KeyPair(X25519PrivateKey.from_private_bytes(base64url.decode(private)))
    assert (base64url.encode(pair.public), pair.id) == (public, name)
    return pair


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_has_the_published_shape(number):
    kind, body = EXAMPLES[number]
    if kind in messages._TO_BOARD:
        messages.check_for_board(body)
        kind = "AuthorityMessage"
    elif kind in messages._TO_AUTHORITY:
        messages.check_for_authority(body)
        kind = "BoardMessage"
    assert specification.faults(kind, body) == []


def test_every_message_has_an_example():
    kinds = {kind for kind, _ in EXAMPLES}
    assert kinds >= {*messages._TO_BOARD, *messages._TO_AUTHORITY, "SealedEnvelope", "BoardStatus",
                     "DataProperties", "Accepted", "Rejection", "SessionNotice", "Health",
                     "AppCommand"}


def test_every_member_is_explained():
    members = {member for shape in SHAPES.values() for member in shape.get("properties", {})}
    explained = re.findall(r"`(?:[\w\[\]]+\.)?(\w+)`", PROSE)
    assert members - set(explained) == set()


def test_the_sealed_example_opens():
    board, authority = key_pair("the device key"), key_pair("the authority's `sealKey`")
    content = example("session.ended")
    iid = example("provision")["session"]["installationId"]
    payload = json.dumps(example("SealedEnvelope")).encode()
    assert sealed.open_auth(payload, topics.outbox(iid), authority, board.public) == content


def test_the_claim_gives_what_the_page_says():
    url = re.search(r"^```claim-url\n(.*)\n```$", TEXT, re.M)[1]
    claim = claim_url.ClaimURL.parse(url)
    assert str(claim) == url and claim.device_key == key_pair("the device key").public
    assert f"`{derivation.broker_password(claim.claim_secret, claim.iid)}`" in TEXT
    psk = derivation.claim_psk(claim.claim_secret, claim.iid)
    assert f"`{base64url.encode(psk)}` (b64)" in TEXT


def test_the_tokens_are_what_they_say():
    provision = example("provision")
    claims = access_token.verify(provision["accessToken"], provision["authority"]["signKeys"])
    assert claims == example("AccessTokenClaims")
    assert access_token.read(provision["accessToken"])[0] == example("AccessTokenHeader")
    assert claims["cnf"]["kid"] == key_pair("the device key").id
    assert provision["authority"]["sealKey"] == base64url.encode(
        key_pair("the authority's `sealKey`").public)


def test_every_link_leads_somewhere():
    titles = re.findall(r"^#+ (.*)$", PROSE, re.M)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    assert len(anchors) == len(titles)
    for file, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", PROSE):
        assert (PAGE.parent / file).exists() if file else anchor in anchors, (file, anchor)
