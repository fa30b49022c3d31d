#!/usr/bin/env python3
"""Makes web pages of the Swift libraries: `swift_docs.py OUTPUT`.

Each library in `Sources/Libraries` has a DocC catalogue. Its pages and the comments of all that is
public become one archive, which a web server shows. A warning is an error. The modules are those of
the programs in `Tests/Libraries`, which are built first.
"""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ROOT / ".build" / "libraries"
FLAGS = ("--disable-index-store", "-debug-info-format", "none", "-Xswiftc",
         "-whole-module-optimization", "-Xswiftc", "-num-threads", "-Xswiftc", "1")


def make(output: Path) -> None:
    work = ROOT / ".build" / "docs"
    shutil.rmtree(work, ignore_errors=True)
    for package in sorted(ROOT.glob("Tests/Libraries/*/Package.swift")):
        run("swift", "build", "--package-path", package.parent, "--scratch-path",
            BUILDS / package.parent.name, *FLAGS)
    archives = [convert(catalogue, work)
                for catalogue in sorted(ROOT.glob("Sources/Libraries/*/*.docc"))]
    if not archives:
        sys.exit("no library has a DocC catalogue")
    output.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(output, ignore_errors=True)
    run("docc", "merge", *archives, "--output-path", output,
        "--synthesized-landing-page-name", "Postern")
    print(f"{output} has the pages of {', '.join(archive.stem for archive in archives)}")


def convert(catalogue: Path, work: Path) -> Path:
    """The archive of one library."""
    name, symbols = catalogue.stem, work / catalogue.stem
    symbols.mkdir(parents=True)
    found = sorted(BUILDS.glob(f"*/debug/Modules/{name}.swiftmodule"))
    if not found:
        sys.exit(f"no program in Tests/Libraries uses {name}")
    # Modules in C: each has a map beside its sources, or where it was built.
    build = found[0].parents[2]
    places = "debug/*.build", "checkouts/*/Sources/*/include", "../../../Sources/C/*"
    maps = [word for place in places for path in sorted(build.glob(f"{place}/module.modulemap"))
            for word in ("-Xcc", f"-fmodule-map-file={path}")]
    run("swift", "symbolgraph-extract", "-module-name", name, "-minimum-access-level", "public",
        "-I", found[0].parent, *maps, "-target", f"{platform.machine()}-unknown-linux-gnu",
        "-skip-inherited-docs", "-output-dir", symbols)
    archive = work / f"{name}.doccarchive"
    run("docc", "convert", catalogue, "--additional-symbol-graph-dir", symbols,
        "--warnings-as-errors", "--fallback-display-name", name,
        "--fallback-bundle-identifier", f"postern.{name}", "--output-path", archive)
    return archive


def run(*argv: object) -> None:
    done = subprocess.run([str(word) for word in argv], cwd=ROOT)
    if done.returncode:
        sys.exit(f"{argv[0]} {argv[1]} ended with {done.returncode}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n")[0])
    make(Path(sys.argv[1]).resolve())
