"""What stands in the packages: by Debian's own checker, and by what a person types first."""

import os
import subprocess
from pathlib import Path

import pytest

from conftest import NAMES

# A word of each program's own, with what is typed before it.
OFFERED = {
    "postern-agent": ("doc", "doctor"),
    "postern-authority": ("ser", "serve"),
    "postern": ("cla", "claim"),
}


def test_lintian_finds_no_error_and_no_warning(packages, tmp_path):
    checked = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", *packages.values()],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        # It leaves files behind.
        env=os.environ | {"TMPDIR": str(tmp_path)})
    assert checked.returncode == 0, checked.stdout


def test_the_packages_are_of_this_machines_architecture(packages):
    here = _output("dpkg", "--print-architecture").strip()
    for path in packages.values():
        assert _output("dpkg-deb", "-f", path, "Architecture").strip() == here


def test_nothing_needs_what_the_machine_that_built_it_has(packages):
    for name, path in packages.items():
        needed = _output("dpkg-deb", "-f", path, "Depends")
        assert "libc6" in needed and "swift" not in needed.lower(), name


@pytest.fixture(scope="module")
def unpacked(packages, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    for path in packages.values():
        subprocess.run(["dpkg-deb", "-x", path, folder], check=True)
    return folder


@pytest.mark.parametrize("name", [*NAMES, "postern-agent-app"])
def test_a_manual_page_renders_without_a_warning(unpacked, name):
    page = next((unpacked / "usr/share/man").glob(f"man?/{name}.?.gz"))
    shown = subprocess.run(
        ["man", "--warnings=w", "-l", page], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANWIDTH": "80"})
    assert shown.returncode == 0 and shown.stderr == "", shown.stderr
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "FILES", "SEE ALSO"):
        assert f"\n{section}\n" in f"\n{shown.stdout}", section


@pytest.mark.parametrize("name", NAMES)
def test_a_manual_page_has_every_command(unpacked, name):
    page = _output("zcat", unpacked / f"usr/share/man/man1/{name}.1.gz")
    program = unpacked / "usr/bin" / name
    listed = _output(program, "--help").split("SUBCOMMANDS:")[1].split("\n\n")[0]
    for line in listed.splitlines():
        if line.startswith("  ") and line[2] != " ":
            command = line.split()[0].replace("-", "\\-")
            assert f".SS {command}" in page, f"{command} is not in the page"


@pytest.fixture(scope="module")
def shells(system, packages):
    """A clean system with the three packages and the shells that complete."""
    system.install("bash-completion", "fish", "zsh", *packages.values())
    return system


@pytest.mark.parametrize("name", NAMES)
def test_bash_completes_a_command(shells, name):
    typed, whole = OFFERED[name]
    script = f"""
        source /usr/share/bash-completion/bash_completion
        _completion_loader {name}
        COMP_LINE='{name} {typed}' COMP_WORDS=({name} {typed}) COMP_CWORD=1
        COMP_POINT=${{#COMP_LINE}}
        function=$(complete -p {name} | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        "$function" {name} {typed} {name}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert whole in shells.run("bash", "-c", script).split()


@pytest.mark.parametrize("name", NAMES)
def test_fish_completes_a_command(shells, name):
    typed, whole = OFFERED[name]
    offered = shells.run("fish", "-c", f"complete -C '{name} {typed}'")
    assert whole in offered.split()


@pytest.mark.parametrize("name", NAMES)
def test_zsh_takes_the_completion_up(shells, name):
    loaded = shells.run(
        "zsh", "-fc", f"autoload -Uz compinit; compinit -u; echo $_comps[{name}]")
    assert loaded.strip() == f"_{name}"
    shells.run("zsh", "-n", f"/usr/share/zsh/vendor-completions/_{name}")


def _output(*argv) -> str:
    return subprocess.run(
        [str(word) for word in argv], check=True, stdout=subprocess.PIPE, text=True).stdout


def test_no_program_looks_for_libraries_beside_itself(packages, tmp_path):
    """No RUNPATH: whoever may write beside a program would say what it runs."""
    for name, path in packages.items():
        subprocess.run(["dpkg-deb", "-x", path, tmp_path / name], check=True)
        for program in (tmp_path / name).glob("usr/bin/*"):
            if program.read_bytes()[:4] == b"\x7fELF":
                dynamic = _output("readelf", "--dynamic", program)
                assert "RUNPATH" not in dynamic and "RPATH" not in dynamic, program
