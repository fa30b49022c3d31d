"""The page's texts: each is in the files of the languages, and in no other file."""

import json
import re
from pathlib import Path

import pytest

CONSOLE = Path(__file__).resolve().parents[2] / "Provisioning" / "console"
LANGUAGES = sorted(path.stem for path in CONSOLE.glob("??.js"))
# Names, and words that the page compares and does not show.
NAMES = {
    "Postern", "Postern ", "Content-Type", "Retry-After", "Escape", "BarcodeDetector", "Reading",
    "NotAllowedError", "Hour", "Day", "Week", "Month", "Android", "Mac", "Windows", "Linux", "Edg",
    "Edge", "Before", "Done", "Firefox", "Chrome", "Safari", ".plot svg, .view",
}


def texts(language: str) -> dict[str, dict]:
    """A language's texts. Each is on a line of its own, so that this can read them."""
    _, _, body = (CONSOLE / f"{language}.js").read_text().partition("export default ")
    body = re.sub(r"(?m)(^ *|[{,] )(\w+): (?=[\"{\[])", r'\1"\2": ', body.rstrip().rstrip(";"))
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", body))


def keys(language: str) -> dict[str, object]:
    return {f"{group}.{name}": text for group, all in texts(language).items()
            for name, text in all.items()}


def shape(text) -> object:
    """The placeholders of a text, and whether it has several forms."""
    if isinstance(text, dict):
        return sorted(text), shape(text["other"])
    if isinstance(text, list):
        return [shape(one) for one in text]
    return sorted(set(re.findall(r"\{\w*\}", text)))


def code() -> dict[str, str]:
    """The other files, without their comments."""
    files = [path for path in CONSOLE.glob("*.js") if path.stem not in LANGUAGES]
    return {path.name: re.sub(r"(?m)(^|\s)//\s.*$", "", re.sub(r"(?s)/\*.*?\*/", "", path.read_text()))
            for path in files}


def test_english_is_there():
    assert "en" in LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_have_the_same_texts(language):
    english, other = keys("en"), keys(language)
    assert list(other) == list(english)
    assert {key: shape(text) for key, text in other.items()} == {
        key: shape(text) for key, text in english.items()}
    assert not [key for key, text in other.items() if not text]


def test_each_text_is_used_and_each_used_text_is_there():
    known, events = keys("en"), texts("en")["log"]
    groups = {key.partition(".")[0] for key in known}
    used, beginnings = set(), set()
    for text in code().values():
        used |= {key for key in re.findall(r"[\"`]([a-z]+\.[\w-]+)[\"`]", text)
                 if key.partition(".")[0] in groups and key not in events}
        beginnings |= set(re.findall(r"`([a-z]+\.\w*)\$\{", text))
    assert sorted(used - set(known)) == []
    assert sorted(key for key in set(known) - used
                  if not any(key.startswith(one) for one in beginnings)) == []


def test_no_text_is_in_another_file():
    style = (CONSOLE / "style.css").read_text()
    classes = set(re.findall(r"\.([a-z][\w-]*)", style))
    found = []
    for name, text in code().items():
        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', text):
            words = re.sub(r"\$\{[^}]*\}", "", literal[0] or literal[1])
            if words in NAMES or words.startswith("postern") or set(words.split()) <= classes:
                continue
            if re.search(r"[A-Za-z]{2,}[,.:;]? [A-Za-z]{2,}|^[A-Z][a-z]{2,}|[a-z]{2,}[!…]$", words):
                found.append(f"{name}: {words}")
    assert not found, found
