"""The bill of materials of a release, as SPDX 2.3 JSON.

It names each Debian package with its files, the Swift packages and Swift's own libraries that are
linked into the programs, and Debian's libraries that the programs load.
"""

import hashlib
import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

SUPPLIER = "Organization: Postern maintainers (maintainers@postern.example)"
# Most Swift packages have Apache-2.0; these have another licence, or a second one in a part.
SWIFT_LICENCE = "Apache-2.0"
OTHER_SWIFT_LICENCES = {
    "grdb.swift": "MIT",
    "swift-nio": "Apache-2.0 AND MIT AND BSD-3-Clause",
    "swift-nio-extras": "Apache-2.0 AND Zlib",
}
# Fetched because a package that we use names them, and in no program of ours.
ELSEWHERE = {
    "async-http-client", "swift-algorithms", "swift-asn1", "swift-certificates",
    "swift-configuration", "swift-crypto", "swift-http-structured-headers", "swift-nio-http2",
    "swift-nio-ssl", "swift-nio-transport-services", "swift-numerics",
}
# Swift's own parts in each program; Foundation brings Unicode's data and rules.
RUNTIME = {
    "swift-stdlib": "Apache-2.0 WITH Swift-exception",
    "swift-corelibs-libdispatch": "Apache-2.0 WITH Swift-exception",
    "swift-foundation": "Apache-2.0 WITH Swift-exception",
    "swift-foundation-icu": "Unicode-3.0",
}
LIBRARY_LICENCES = {
    "libc6": "LGPL-2.1-or-later",
    "libcurl4": "curl",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libmosquitto1": "EPL-2.0 OR BSD-3-Clause",
    "libpq5": "PostgreSQL",
    "libqrencode4": "LGPL-2.1-or-later",
    "libsqlite3-0": "blessing",
    "libssl3": "Apache-2.0",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "zlib1g": "Zlib",
}


@dataclass
class Bill:
    """Collects what a release has, and writes it."""

    version: str
    seconds: int
    root: Path
    packages: list[dict] = field(default_factory=list)
    files: list[dict] = field(default_factory=list)
    relations: list[dict] = field(default_factory=list)

    def write(self, debs: list[Path], output: Path) -> None:
        components = self._add_swift()
        sums = hashlib.sha256()
        for deb in debs:
            sums.update(deb.read_bytes())
            self._add_deb(deb, components)
        created = datetime.fromtimestamp(self.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        output.write_text(json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"postern-{self.version}",
            # One for these bytes: it need not lead anywhere.
            "documentNamespace":
                f"https://postern.example/spdx/postern-{self.version}-{sums.hexdigest()}",
            "creationInfo": {"created": created, "creators": [
                SUPPLIER,
                f"Tool: postern-release-{self.version}"]},
            "packages": self.packages, "files": self.files, "relationships": self.relations,
        }, indent=1) + "\n")

    def _add_swift(self) -> list[str]:
        """Swift packages and Swift's libraries; their ids."""
        pins = json.loads((self.root / "Package.resolved").read_text())["pins"]
        components = []
        for pin in sorted(pins, key=lambda pin: pin["identity"]):
            name = pin["identity"]
            if name in ELSEWHERE:
                continue
            state = pin["state"]
            components.append(self._add_package(
                name, state["version"], OTHER_SWIFT_LICENCES.get(name, SWIFT_LICENCE),
                downloadLocation=f"git+{pin['location']}@{state['revision']}",
                externalRefs=[_purl(f"pkg:swift/{_path(pin['location'])}@{state['version']}")]))
        swift = _swift_version()
        for name, licence in RUNTIME.items():
            components.append(self._add_package(
                name, swift, licence, downloadLocation="https://www.swift.org/install/"))
        return components

    def _add_deb(self, deb: Path, components: list[str]) -> None:
        names = ("Package", "Architecture", "Depends")
        name, architecture, depends = (_field(deb, wanted) for wanted in names)
        own = _reference(f"{name}-{architecture}")
        files = self._add_files(deb, own)
        self._add_package(
            name, self.version, "Apache-2.0", reference=own, downloadLocation="NOASSERTION",
            packageFileName=deb.name, supplier=SUPPLIER, filesAnalyzed=True,
            packageVerificationCode={"packageVerificationCodeValue": _verification(files)},
            checksums=_sums(deb.read_bytes()),
            externalRefs=[_purl(f"pkg:deb/postern/{name}@{self.version}?arch={architecture}")])
        self._relate("SPDXRef-DOCUMENT", "DESCRIBES", own)
        for component in components:
            self._relate(own, "STATIC_LINK", component)
        for library in re.findall(r"(?:^|, )(lib[^ ,]+|zlib1g)", depends):
            self._relate(own, "DYNAMIC_LINK", self._library(library))

    def _add_files(self, deb: Path, own: str) -> list[dict]:
        added = []
        with tempfile.TemporaryDirectory() as tree:
            subprocess.run(["dpkg-deb", "-x", deb, tree], check=True)
            for path in sorted(Path(tree).rglob("*")):
                if path.is_symlink() or not path.is_file():
                    continue
                inside = f"./{path.relative_to(tree)}"
                added.append({
                    "SPDXID": f"{own}-file-{len(added)}", "fileName": inside,
                    "checksums": _sums(path.read_bytes()), "licenseConcluded": "NOASSERTION",
                    "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"})
        self.files += added
        for entry in added:
            self._relate(own, "CONTAINS", entry["SPDXID"])
        return added

    def _library(self, name: str) -> str:
        """A library of Debian's, once; its version is that of the board."""
        reference = _reference(name)
        if all(package["SPDXID"] != reference for package in self.packages):
            self._add_package(
                name, None, LIBRARY_LICENCES[name],
                downloadLocation=f"https://packages.debian.org/{name}",
                externalRefs=[_purl(f"pkg:deb/debian/{name}")])
        return reference

    def _add_package(self, name: str, version: str | None, licence: str,
                     reference: str | None = None, **more) -> str:
        reference = reference or _reference(name)
        self.packages.append({
            "SPDXID": reference, "name": name, **({"versionInfo": version} if version else {}),
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **more})
        return reference

    def _relate(self, one: str, kind: str, other: str) -> None:
        self.relations.append({
            "spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})


def _swift_version() -> str:
    said = subprocess.run(["swift", "--version"], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    return re.search(r"Swift version (\S+)", said)[1]


def _field(deb: Path, name: str) -> str:
    return subprocess.run(["dpkg-deb", "-f", deb, name], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def _sums(content: bytes) -> list[dict]:
    return [{"algorithm": name, "checksumValue": hashlib.new(name.lower(), content).hexdigest()}
            for name in ("SHA1", "SHA256")]


def _verification(files: list[dict]) -> str:
    """Source: SPDX 2.3 §7.9."""
    sums = sorted(entry["checksums"][0]["checksumValue"] for entry in files)
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def _reference(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def _path(location: str) -> str:
    return location.removeprefix("https://").removesuffix(".git")


def _purl(text: str) -> dict:
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": text}
