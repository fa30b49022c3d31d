"""A release as files: the same packages give the same bytes, and each file is accounted for."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from clean_system import ROOT
from conftest import NAMES, assemble

# They have the time at which they were made.
SIGNATURES = {"InRelease", "Release.gpg", "SHA256SUMS.asc"}
# For reading a signature, and nothing else.
PUBLIC = "postern.asc"


def test_packaging_again_gives_the_same_bytes(packages, tmp_path):
    """Uncompressed: that xz makes the same of the same takes minutes to see, and is xz's own."""
    for path in packages.values():
        subprocess.run(["dpkg-deb", "-x", path, tmp_path / "unpacked"], check=True)
    subprocess.run([sys.executable, "-B", ROOT / "Devices/packages/build",
                    tmp_path / "unpacked/usr/bin", tmp_path / "again"],
                   check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"DPKG_DEB_COMPRESSOR_TYPE": "none"})
    for path in packages.values():
        assert contents(tmp_path / "again" / path.name) == contents(path)


def test_assembling_again_gives_the_same_bytes(dist, tmp_path):
    assemble(tmp_path / "again")
    assert sums(tmp_path / "again") == {
        name: value for name, value in sums(dist).items() if name not in {*SIGNATURES, PUBLIC}}


def test_every_file_is_in_the_sums(dist):
    listed = dict(reversed(line.split("  ")) for line in
                  (dist / "SHA256SUMS").read_text().splitlines())
    found = sums(dist)
    for name in {*SIGNATURES, PUBLIC, "SHA256SUMS"}:
        del found[name]
    assert listed == found
    assert len([name for name in listed if name.endswith(".deb")]) % len(NAMES) == 0


@pytest.mark.parametrize("signature", sorted(SIGNATURES))
def test_a_signature_is_by_the_key_beside_it(dist, signature, tmp_path):
    keyring = tmp_path / "key.gpg"
    subprocess.run(["gpg", "--dearmor", "--output", keyring, dist / PUBLIC], check=True)
    signed = [] if signature == "InRelease" else [dist / signature.rpartition(".")[0]]
    subprocess.run(["gpgv", "--keyring", keyring, dist / signature, *signed], check=True)


@pytest.fixture(scope="module")
def bill(dist) -> dict:
    return json.loads((dist / "postern.spdx.json").read_text())


def test_the_bill_of_materials_is_valid(dist):
    document = parse_file(str(dist / "postern.spdx.json"))
    assert [fault.validation_message for fault in validate_full_spdx_document(document)] == []


def test_the_bill_has_each_package_and_its_files(dist, bill):
    named = {package["packageFileName"]: package for package in bill["packages"]
             if "packageFileName" in package}
    assert set(named) == {path.name for path in dist.glob("*.deb")}
    for name, package in named.items():
        assert {"algorithm": "SHA256", "checksumValue": sha256(dist / name)} in package["checksums"]
        files = subprocess.run(["dpkg-deb", "-c", dist / name], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
        assert len([line for line in files if line.startswith("-")]) == len(
            related(bill, package["SPDXID"], "CONTAINS"))


def test_the_bill_has_what_is_linked(bill):
    for package in bill["packages"]:
        if "packageFileName" in package:
            linked = related(bill, package["SPDXID"], "STATIC_LINK")
            assert {"SPDXRef-swift-log", "SPDXRef-swift-stdlib"} <= set(linked)
            assert "SPDXRef-libc6" in related(bill, package["SPDXID"], "DYNAMIC_LINK")


def test_a_tarball_has_nothing_of_the_machine_that_made_it(dist):
    tarballs = list(dist.glob("postern-agent-*-linux-*.tar.gz"))
    assert len(tarballs) * len(NAMES) == len(list(dist.glob("*.deb")))
    for path in tarballs:
        with tarfile.open(path) as tar:
            entries = tar.getmembers()
        assert {(entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries} == {
            (0, 0, "", "")}
        assert len({entry.mtime for entry in entries}) == 1
        assert f"{path.name.removesuffix('.tar.gz')}/install.sh" in {x.name for x in entries}


def related(bill: dict, one: str, kind: str) -> list[str]:
    return [relation["relatedSpdxElement"] for relation in bill["relationships"]
            if (relation["spdxElementId"], relation["relationshipType"]) == (one, kind)]


def contents(package: Path) -> list[str]:
    """What is in a package: its control files and its own."""
    tars = [subprocess.run(["dpkg-deb", which, package], check=True, stdout=subprocess.PIPE).stdout
            for which in ("--ctrl-tarfile", "--fsys-tarfile")]
    return [hashlib.sha256(tar).hexdigest() for tar in tars]


def sums(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in folder.iterdir()}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
