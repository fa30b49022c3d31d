"""A board whose person has set mosquitto up already: the package leaves it as it is."""

import pytest

MINE = "listener 1884 127.0.0.1\nallow_anonymous true\n"


@pytest.fixture(scope="module")
def person(system):
    """A system with a mosquitto of the person's own, and what it said when the agent came."""
    system.install("mosquitto")
    system.path("/etc/mosquitto/conf.d/mine.conf").write_text(MINE)
    # A name that the package would use, too.
    system.path("/etc/mosquitto/postern.acl").write_text("# Not the package's.\n")
    return system


@pytest.fixture(scope="module")
def told(person, packages) -> str:
    return person.install(packages["postern-agent"])


def test_no_file_of_the_broker_changes(person, told):
    assert person.read("/etc/mosquitto/conf.d/mine.conf") == MINE
    assert person.read("/etc/mosquitto/postern.acl") == "# Not the package's.\n"
    for path in ("/etc/mosquitto/conf.d/postern.conf", "/etc/mosquitto/postern.passwords",
                 "/etc/tmpfiles.d/postern-bus.conf", "/etc/postern/bus-password"):
        assert not person.has(path)


def test_the_person_is_told_where_ours_stand(person, told):
    assert "does not change it" in told
    for name in ("postern.conf", "postern.acl", "postern-bus.conf", "agent.toml"):
        assert person.has(f"/usr/share/doc/postern-agent/examples/{name}")
    assert "postern-agent-app agent" in told
    person.run("postern-agent-app", "agent")
    assert person.mode("/etc/postern/bus-password") == "0640 root:postern"


def test_no_login_is_made_for_a_program(person, told):
    assert "has not set up" in person.run("postern-agent-app", "add", "thermo", succeeds=False)


def test_a_purge_leaves_the_persons_files(person, told):
    person.run("apt-get", "purge", "-y", "-q", "postern-agent")
    assert person.read("/etc/mosquitto/conf.d/mine.conf") == MINE
    assert person.read("/etc/mosquitto/postern.acl") == "# Not the package's.\n"


def test_a_plain_mosquitto_is_set_up(person, packages):
    person.path("/etc/mosquitto/conf.d/mine.conf").unlink()
    person.path("/etc/mosquitto/postern.acl").unlink()
    # Settings that open nothing are no broker of one's own.
    person.path("/etc/mosquitto/conf.d/words.conf").write_text("log_type error\n")
    person.install(packages["postern-agent"])
    assert person.has("/etc/mosquitto/conf.d/postern.conf")
