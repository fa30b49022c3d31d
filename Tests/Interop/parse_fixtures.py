"""ParsePy (PyPI) as it is, and the requests of Parse's JavaScript and Swift SDKs."""

import contextlib
import importlib
import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from types import SimpleNamespace

INSTALLATION = "5b3ecb6e-5d8a-4a9e-8f0e-0123456789ab"


@contextlib.contextmanager
def parsepy(root: str, key: str):
    """ParsePy's modules, imported with `root` in the place of api.parse.com."""
    def forget():
        for name in [n for n in sys.modules if n.split(".")[0] == "parse_rest"]:
            del sys.modules[name]

    forget()
    connection = importlib.import_module("parse_rest.connection")
    connection.API_ROOT = root
    names = ["core", "datatypes", "user", "role", "installation"]
    modules = {name: importlib.import_module(f"parse_rest.{name}") for name in names}
    connection.register("postern", key)
    yield SimpleNamespace(connection=connection, **modules)
    forget()


def javascript(root: str, key: str, method: str, path: str, token: str | None = None, **body):
    """What the JavaScript SDK (parse 1.6 to 5) sends: POST always, everything in the body, and a
    type of content that needs no preflight. Source: Parse-SDK-JS, src/RESTController.js."""
    members = {"_method": method, "_ApplicationId": "postern", "_JavaScriptKey": key,
               "_ClientVersion": "js5.3.0", "_RevocableSession": "1",
               "_InstallationId": INSTALLATION, **body}
    if method == "POST":
        del members["_method"]
    if token:
        members["_SessionToken"] = token
    return _sent(urllib.request.Request(
        f"{root}/{path}", json.dumps(members).encode(), {"Content-Type": "text/plain"},
        method="POST"))


def swift(root: str, token: str, path: str, **options):
    """A query of the Swift SDK (ParseSwift 4 and 5): GET, and each parameter as JSON text.
    Source: Parse-Swift, Query.getQueryParameters."""
    text = urllib.parse.urlencode({
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in options.items()})
    return _sent(urllib.request.Request(f"{root}/{path}?{text}", headers={
        "X-Parse-Application-Id": "postern", "X-Parse-Session-Token": token,
        "X-Parse-Installation-Id": INSTALLATION, "X-Parse-Client-Version": "swift5.12.3",
        "Content-Type": "application/json"}))


def _sent(request):
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
