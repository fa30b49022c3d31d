"""The published files of MQTT's side are well-formed, and have the contract's topics."""

import jsonschema
import pytest

from bench import specification
from postern_contract import messages, topics

IID = "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"


def references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [r for value in node.values() for r in references(value)]
    if isinstance(node, list):
        return [r for value in node for r in references(value)]
    return []


def test_every_reference_leads_somewhere():
    document = specification.document()
    for reference in references(document):
        node = document
        for step in reference.removeprefix("#/").split("/"):
            assert step in node, reference
            node = node[step]


def test_every_schema_is_one():
    for schema in specification.document()["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("channel, topic", [
    ("inbox", topics.inbox(IID)), ("outbox", topics.outbox(IID)), ("status", topics.status(IID)),
    ("dataCreate", topics.data(IID, "Reading", "create", None)),
    ("dataUpdate", topics.data(IID, "Reading", "update", "a1")),
    ("dataDelete", topics.data(IID, "Reading", "delete", "a1")),
])
def test_a_channel_is_the_contracts_topic(channel, topic):
    address = specification.document()["channels"][channel]["address"]
    assert address.format(iid=IID, **{"class": "Reading", "objectId": "a1"}) == topic


def test_the_message_types_are_the_contracts():
    schemas = specification.document()["components"]["schemas"]

    def types(name: str) -> set[str]:
        kinds = [schemas[one["$ref"].rpartition("/")[2]]["properties"]["type"]
                 for one in schemas[name]["oneOf"]]
        return {t for kind in kinds for t in kind.get("enum", [kind.get("const")])}

    assert types("AuthorityMessage") == set(messages._TO_BOARD)
    assert types("BoardMessage") == set(messages._TO_AUTHORITY)


@pytest.mark.parametrize("schema, body", [
    ("BoardMessage", messages.new("session.authenticate")),
    ("BoardMessage", messages.new("session.unheard-of", sessionToken="r:" + "A" * 43)),
    ("AuthorityMessage", messages.new("reply", re="no id", now=1)),
    ("Session", {"objectId": "aaaaaaaaaa", "sessionToken": "r:"}),
    ("BoardStatus", {"status": "sideways", "session": "available", "version": "1", "since": 1}),
    ("AuthorityMessage", messages.new("reply", re=messages.new("reply")["id"], now=1, spread=-1)),
    ("AuthorityMessage", messages.new(
        "reply", re=messages.new("reply")["id"], now=1,
        error={"code": 155, "error": "overloaded", "retryAfter": 0})),
])
def test_what_breaks_a_shape_is_found(schema, body):
    assert specification.faults(schema, body)


@pytest.mark.parametrize("members", [
    {"spread": 0}, {"spread": 3600},
    {"error": {"code": 155, "error": "overloaded", "retryAfter": 30}},
])
def test_what_boards_are_told_of_a_fleet_has_its_shape(members):
    reply = messages.new("reply", re=messages.new("reply")["id"], now=1, **members)
    assert not specification.faults("AuthorityMessage", reply)
    named = specification.document()["components"]["schemas"]
    assert "spread" in named["Reply"]["properties"] and "spread" in named["Provision"]["properties"]
    assert "retryAfter" in named["Error"]["properties"]
