"""Holds messages to `Provisioning/asyncapi.yaml`, the published shapes of what crosses a broker."""

import functools
import json
import re
from pathlib import Path

import jsonschema
import yaml

FILE = Path(__file__).resolve().parents[3] / "Provisioning" / "asyncapi.yaml"


@functools.cache
def document() -> dict:
    return yaml.safe_load(FILE.read_text())


@functools.cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        {"$ref": f"#/components/schemas/{schema}", "components": document()["components"]})


def faults(schema: str, body: object) -> list[str]:
    """What is wrong with a message, by the schema of that name; no value of it is told."""
    return [
        f"{schema}: {'/'.join(map(str, error.absolute_path)) or 'the message'} "
        f"breaks {'/'.join(map(str, error.absolute_schema_path))}"
        for error in _validator(schema).iter_errors(body)
    ]


@functools.cache
def _clear_topics() -> list[tuple[re.Pattern, str]]:
    """Of each channel whose messages are in clear and JSON: its topics, and their schema."""
    found = []
    for channel in document()["channels"].values():
        for reference in channel["messages"].values():
            message = _resolved(reference)
            schema = message.get("payload", {}).get("$ref")
            if channel["address"] and schema and "x-plaintext" not in message:
                pattern = re.sub(r"\{\w+\}", "[^/]+", channel["address"])
                found.append((re.compile(pattern), schema.rpartition("/")[2]))
    return found


def clear_faults(topic: str, payload: bytes) -> list[str]:
    """The same for a message as it was published; nothing for those without a shape in clear."""
    schemas = [schema for pattern, schema in _clear_topics() if pattern.fullmatch(topic)]
    if not schemas or not payload:
        return []
    return [fault for schema in schemas for fault in faults(schema, json.loads(payload))]


def _resolved(reference: dict) -> dict:
    node = document()
    for step in reference["$ref"].removeprefix("#/").split("/"):
        node = node[step]
    return node
