"""A package's life in a clean system: installed as an older build, upgraded, removed, installed
again, purged. The tests are steps, in this order."""

import json

import pytest

from conftest import OLD_LINE, OLDER

AGENT = ["runuser", "-u", "postern", "--"]
AUTHORITY = ["runuser", "-u", "postern-authority", "--"]
BROKER_FILES = {
    "/etc/mosquitto/conf.d/postern.conf": "postern.conf",
    "/etc/mosquitto/postern.acl": "postern.acl",
    "/etc/tmpfiles.d/postern-bus.conf": "postern-bus.conf",
}
MODES = {
    "/etc/postern": "0755 root:root",
    "/etc/postern/bus-password": "0640 root:postern",
    "/etc/postern/prove-password": "0640 root:postern",
    "/etc/mosquitto/postern.passwords": "0640 mosquitto:mosquitto",
    "/etc/mosquitto/conf.d/postern.conf": "0644 root:root",
    "/etc/mosquitto/postern.acl": "0640 mosquitto:mosquitto",
    "/run/postern-bus": "2750 mosquitto:postern-apps",
    "/var/lib/postern": "0700 postern:postern",
    "/var/lib/postern-authority": "0700 postern-authority:postern-authority",
}
# Where a package may leave what it did; what Debian's own programs keep there is theirs.
WATCHED = ["/etc", "/usr", "/var/lib", "/run", "/home"]
THEIRS = ("/var/lib/dpkg/", "/var/lib/apt/", "/var/lib/ucf", "/var/lib/systemd/",
          "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/.pwd.lock")


class Before:
    """What an earlier step saw, for a later one to compare."""

    files: set[str]
    board: str
    passwords: str
    hashes: str


@pytest.fixture(scope="module")
def before(system) -> Before:
    # What is there with the dependencies alone is Debian's.
    system.install("mosquitto", "mosquitto-clients", "ucf", "libcurl4", "libpq5",
                   "libqrencode4", "libsqlite3-0")
    Before.files = system.files(*WATCHED)
    return Before


def test_an_older_build_installs(system, older, before):
    system.install(*older.values())
    assert system.run("postern-agent", "--version").startswith("postern-agent ")
    assert OLDER in system.run("dpkg", "-s", "postern-agent")


def test_users_and_groups_are_made(system, before):
    for user, home in {"postern": "postern", "postern-authority": "postern-authority"}.items():
        line = system.run("getent", "passwd", user).strip().split(":")
        assert int(line[2]) < 1000 and line[5:] == [f"/var/lib/{home}", "/usr/sbin/nologin"]
    assert "postern-apps" in system.run("id", "-nG", "postern").split()


@pytest.mark.parametrize("path", MODES)
def test_a_file_has_its_mode(system, before, path):
    assert system.mode(path) == MODES[path]


def test_nothing_secret_is_readable_by_all(system, before):
    shown = system.run(
        "find", "/etc/postern", "/var/lib/postern", "/var/lib/postern-authority",
        "/etc/mosquitto/postern.passwords", "-type", "f", "-perm", "/007")
    assert shown == ""


def test_the_units_wait_for_a_configuration(system, before):
    for name, file in {"agent": "agent.toml", "authority": "authority.toml"}.items():
        unit = system.run("cat", f"/lib/systemd/system/postern-{name}.service")
        assert f"ConditionPathExists=/etc/postern/{file}" in unit
        enabled = system.run("systemctl", "is-enabled", f"postern-{name}.service",
                             f"postern-{name}-prove.timer")
        assert enabled == "enabled\nenabled\n"
        assert not system.has(f"/etc/postern/{file}")


def test_a_program_gets_a_login(system, before):
    said = system.run("sh", "-c", "postern-agent-app add thermo 2>/dev/null").split("\n")
    assert len(said[0]) == 32 and said[1:] == [""]
    assert said[0] not in system.read("/etc/mosquitto/postern.passwords")
    assert system.run("postern-agent-app", "list") == "thermo\n"
    for wrong in ("postern-agent", "a/b", "+", "Upper", "", "-n", "n" * 33):
        system.run("postern-agent-app", "add", wrong, succeeds=False)
    system.run("postern-agent-app", "add", "pump")
    system.run("postern-agent-app", "remove", "pump")
    assert system.run("postern-agent-app", "list") == "thermo\n"
    assert system.mode("/etc/mosquitto/postern.passwords") == "0640 mosquitto:mosquitto"


def test_a_board_and_an_authority_begin(system, before):
    write(system, "agent.toml", "postern", """
        name = "shed"
        [bus]
        uri = "unix:/run/postern-bus/bus.sock"
        username = "postern-agent"
        password_file = "/etc/postern/bus-password"
        [uplink]
        uri = "mqtts://broker.example:8883"
        """)
    write(system, "authority.toml", "postern-authority", """
        name = "Home"
        state_dir = "/var/lib/postern-authority"
        [http]
        listen = "127.0.0.1:8080"
        public_url = "http://127.0.0.1:8080"
        [broker]
        listen = "127.0.0.1:1884"
        """)
    Before.board = board(system)
    password = system.path("/password")
    password.write_text("a password of sixteen words\n")
    password.chmod(0o600)
    system.run("chown", "postern-authority", "/password")
    system.run(*AUTHORITY, "postern-authority", "init", "--admin", "ada",
               "--password-file", "/password")
    Before.passwords = system.read("/etc/postern/bus-password")
    Before.hashes = system.read("/etc/mosquitto/postern.passwords")


def test_an_upgrade_keeps_state_and_what_the_person_changed(system, packages, before):
    acl = system.path("/etc/mosquitto/postern.acl")
    acl.write_text(acl.read_text() + "\n# Mine.\nuser mine\ntopic read mine/#\n")
    changed = acl.read_text()
    system.install(*packages.values())
    assert OLDER not in system.run("dpkg", "-s", "postern-agent")
    assert acl.read_text() == changed
    # What the person did not touch is the new build's.
    for path, name in BROKER_FILES.items():
        shipped = system.read(f"/usr/share/postern-agent/broker/{name}")
        assert OLD_LINE not in shipped
        if path != "/etc/mosquitto/postern.acl":
            assert system.read(path) == shipped, path
    assert_state_is_as_it_was(system)


def test_installing_it_again_changes_nothing(system, packages, before):
    names = system.files("/etc")
    system.run("apt-get", "install", "-y", "-q", "--reinstall",
               *(f"/packages/{path.name}" for path in packages.values()))
    assert system.files("/etc") == names
    assert_state_is_as_it_was(system)


def test_a_removed_package_leaves_state_and_configuration(system, before):
    system.run("apt-get", "remove", "-y", "-q", "postern", "postern-agent", "postern-authority")
    for path in ("/usr/bin/postern", "/usr/bin/postern-agent", "/usr/bin/postern-authority"):
        assert not system.has(path)
    kept = ["/etc/postern/agent.toml", "/etc/postern/authority.toml", *BROKER_FILES,
            "/var/lib/postern/vault", "/etc/postern/bus-password"]
    assert [path for path in kept if not system.has(path)] == []


def test_a_package_that_comes_back_finds_its_state(system, packages, before):
    system.install(*packages.values())
    assert "# Mine." in system.read("/etc/mosquitto/postern.acl")
    assert_state_is_as_it_was(system)


def test_a_purged_package_leaves_its_users_alone(system, before):
    policy = system.path("/etc/postern/policy.toml")
    policy.write_text('default = "deny"\n')
    system.run("apt-get", "purge", "-y", "-q", "postern", "postern-agent", "postern-authority")
    left = {path for path in system.files(*WATCHED) - before.files
            if path and not path.startswith(THEIRS)}
    # The person's own policy stays.
    assert left == {"/etc/postern", "/etc/postern/policy.toml"}
    for user in ("postern", "postern-authority"):
        assert user in system.run("getent", "passwd", user)
    # mosquitto is Debian's again.
    assert sorted(path.name for path in system.path("/etc/mosquitto/conf.d").iterdir()) == [
        "README"]


def test_a_board_begins_anew_after_a_purge(system, packages, before):
    system.path("/etc/postern/policy.toml").unlink()
    system.install(*packages.values())
    assert system.read("/etc/postern/bus-password") != before.passwords
    assert system.mode("/var/lib/postern") == MODES["/var/lib/postern"]
    assert not system.has("/var/lib/postern/vault")


def write(system, name: str, group: str, text: str) -> None:
    path = system.path(f"/etc/postern/{name}")
    path.write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")
    path.chmod(0o640)
    system.run("chgrp", group, f"/etc/postern/{name}")


def board(system) -> str:
    """The board's installation id, from the pairing code that it shows."""
    system.run("install", "-d", "-m", "750", "-o", "postern", "-g", "postern", "/run/postern")
    shown = system.run("sh", "-c", f"{' '.join(AGENT)} postern-agent pair --json 2>/dev/null")
    return json.loads(shown)["url"].split("&i=")[1].split("&")[0]


def assert_state_is_as_it_was(system) -> None:
    assert board(system) == Before.board
    assert system.read("/etc/postern/bus-password") == Before.passwords
    assert system.read("/etc/mosquitto/postern.passwords") == Before.hashes
    # An authority that has begun refuses to begin again.
    system.run(*AUTHORITY, "postern-authority", "init", "--admin", "eve",
               "--password-file", "/password", succeeds=False)
    for path, mode in MODES.items():
        assert system.mode(path) == mode
