"""`postern-agent setup`: the questions, the flags, and the trust in a broker of one's own CA."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

from bench.broker import Broker
from bench.program import free_port


def openssl(*arguments) -> str:
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


def make_ca(folder, name="ca"):
    """A CA of the test's own and its certificate for 127.0.0.1 and localhost, chain included."""
    ca, key, leaf = folder / f"{name}.pem", folder / f"{name}.key", folder / f"{name}-leaf.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", ca,
            "-addext", "basicConstraints=critical,CA:TRUE")
    request, own = folder / f"{name}.csr", folder / f"{name}-leaf.key"
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=broker", "-keyout", own, "-out", request)
    names = folder / f"{name}.ext"
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", key, "-days", "2",
            "-extfile", names, "-out", leaf)
    leaf.write_text(leaf.read_text() + ca.read_text())
    return ca, leaf, own


def fingerprint(ca) -> str:
    text = openssl("x509", "-in", ca, "-noout", "-fingerprint", "-sha256")
    return "SHA256:" + text.strip().split("=")[1]


@pytest.fixture
def tls_broker(tmp_path):
    """A broker with TLS that lets nobody in: it only shows its certificate."""
    ca, leaf, key = make_ca(tmp_path)
    broker = Broker("upstream", tmp_path / "broker", f"certfile {leaf}", f"keyfile {key}",
                    "allow_anonymous false")
    yield broker.start(), ca
    broker.close()


@pytest.fixture
def setup(programs, tmp_path):
    folder = tmp_path / "postern"

    def run(*arguments) -> subprocess.CompletedProcess:
        return subprocess.run(
            [programs / "postern-agent", "--config-dir", folder, "setup", *map(str, arguments)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    run.folder = folder
    run.program = programs / "postern-agent"
    return run


def checked(setup) -> subprocess.CompletedProcess:
    """The agent's own reading of what setup wrote."""
    return subprocess.run(
        [setup.program, "--config-dir", setup.folder, "doctor", "--json"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        env=os.environ | {"POSTERN_STATE_DIR": str(setup.folder.parent / "state"),
                          "POSTERN_RUN_DIR": str(setup.folder.parent / "run")})


def test_flags_write_a_file_that_the_agent_takes(setup, tls_broker):
    broker, ca = tls_broker
    done = setup("--name", 'the "green" house', "--uplink", f"mqtts://localhost:{broker.port}",
                 "--ca-fingerprint", fingerprint(ca), "--claim-base", "https://a.example/claim")
    assert done.returncode == 0, done.stderr
    text = (setup.folder / "agent.toml").read_text()
    assert r'name = "the \"green\" house"' in text
    assert f'uri = "mqtts://localhost:{broker.port}"' in text
    assert 'base = "https://a.example/claim"' in text
    assert text.count(f'ca_file = "{setup.folder}/uplink-ca.pem"') == 1
    assert openssl("x509", "-in", setup.folder / "uplink-ca.pem", "-noout", "-fingerprint") == \
        openssl("x509", "-in", ca, "-noout", "-fingerprint")
    assert (setup.folder / "agent.toml").stat().st_mode & 0o777 == 0o640
    assert '"config-agent"' in checked(setup).stdout
    assert "agent.toml is well-formed" in checked(setup).stdout


def test_the_page_on_the_brokers_host_is_trusted_by_the_same_ca(setup, tls_broker):
    broker, ca = tls_broker
    done = setup("--name", "x", "--uplink", f"mqtts://localhost:{broker.port}",
                 "--ca-fingerprint", fingerprint(ca), "--claim-base",
                 "https://localhost:8443/claim")
    assert done.returncode == 0, done.stderr
    page = (setup.folder / "agent.toml").read_text().partition("[claim]")[2]
    assert f'ca_file = "{setup.folder}/uplink-ca.pem"' in page
    assert "agent.toml is well-formed" in checked(setup).stdout


def test_a_relative_folder_is_refused_before_any_question(setup):
    done = subprocess.run([setup.program, "--config-dir", "etc", "setup"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "absolute path" in done.stderr, done.stderr


def test_a_file_that_is_there_is_not_touched(setup):
    setup.folder.mkdir()
    (setup.folder / "agent.toml").write_text("mine")
    done = setup("--name", "x", "--uplink", "mqtt://127.0.0.1:1")
    assert done.returncode == 2 and "was not changed" in done.stderr
    assert (setup.folder / "agent.toml").read_text() == "mine"


@pytest.mark.parametrize("arguments, words", [
    (["--uplink", "http://b"], "a broker address begins with"),
    (["--uplink", "mqtt://b.example"], "--insecure"),
    (["--uplink", "mqtts://127.0.0.1:1", "--ca-fingerprint", "SHA256:00"], "not a SHA-256"),
    (["--uplink", "mqtts://127.0.0.1:1", "--ca-file", "ca.pem"], "absolute path"),
    (["--uplink", "mqtt://127.0.0.1:1", "--claim-base", "ftp://x"], "https://"),
    (["--uplink", "mqtt://127.0.0.1:1", "--name", ""], "1 to 64"),
    ([], "--uplink is missing"),
])
def test_what_no_file_may_hold_is_wrong_usage_and_nothing_is_written(setup, arguments, words):
    done = setup(*(["--name", "x"] if "--name" not in arguments else []), *arguments)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not (setup.folder / "agent.toml").exists()


def test_another_cas_fingerprint_writes_nothing(setup, tls_broker, tmp_path):
    broker, _ = tls_broker
    other, _, _ = make_ca(tmp_path, "other")
    done = setup("--name", "x", "--uplink", f"mqtts://localhost:{broker.port}",
                 "--ca-fingerprint", fingerprint(other))
    assert done.returncode == 1 and "TLS" in done.stderr, done.stderr
    assert "tls show" in done.stderr
    assert not setup.folder.exists()


def test_a_broker_that_shows_anothers_ca_is_not_believed(setup, tmp_path):
    """Whoever stands between can show the right CA beside a certificate of his own."""
    ca, _, _ = make_ca(tmp_path)
    _, leaf, key = make_ca(tmp_path, "evil")
    chain = tmp_path / "chain.pem"
    chain.write_text(leaf.read_text() + ca.read_text())
    broker = Broker("upstream", tmp_path / "broker", f"certfile {chain}", f"keyfile {key}",
                    "allow_anonymous false").start()
    try:
        done = setup("--name", "x", "--uplink", f"mqtts://localhost:{broker.port}",
                     "--ca-fingerprint", fingerprint(ca))
    finally:
        broker.close()
    assert done.returncode == 1 and "do not trust it" in done.stderr, done.stderr
    assert not (setup.folder / "agent.toml").exists()
    assert not (setup.folder / "uplink-ca.pem").exists()


def test_replacing_harms_nothing_until_all_is_well(setup, tls_broker, tmp_path):
    broker, ca = tls_broker
    there = ("--name", "x", "--uplink", f"mqtts://localhost:{broker.port}")
    assert setup(*there, "--ca-fingerprint", fingerprint(ca)).returncode == 0
    before = {path.name: path.read_bytes() for path in setup.folder.iterdir()}
    other, _, _ = make_ca(tmp_path, "other")
    for words in (["--ca-fingerprint", fingerprint(other)], ["--ca-file", other],
                  ["--ca-file", "/nowhere/ca.pem"],
                  ["--ca-fingerprint", fingerprint(ca), "--claim-base", "ftp://x"]):
        assert setup("--replace", *there, *words).returncode in (1, 2), words
        assert {p.name: p.read_bytes() for p in setup.folder.iterdir()} == before, words
    assert setup("--replace", *there, "--ca-fingerprint", fingerprint(ca)).returncode == 0


def test_without_anybody_who_vouches_nothing_is_written(setup, tls_broker):
    broker, _ = tls_broker
    done = setup("--name", "x", "--uplink", f"mqtts://localhost:{broker.port}")
    assert done.returncode == 1 and "--ca-fingerprint" in done.stderr, done.stderr
    assert not (setup.folder / "agent.toml").exists()


def test_a_page_is_an_authoritys_address_or_its_claim_page(setup):
    for page in ("https://a.example", "https://a.example/", "https://a.example/claim"):
        setup("--replace", "--name", "x", "--uplink", "mqtt://127.0.0.1:1", "--claim-base", page)
        assert 'base = "https://a.example/claim"' in (setup.folder / "agent.toml").read_text()


def test_asking_a_board_that_never_began_makes_no_state(setup, tmp_path):
    """What keeps the key is chosen by the first start, not by a look from a shell."""
    setup("--name", "x", "--uplink", "mqtt://127.0.0.1:1")
    state = tmp_path / "state"
    for words in (["status", "--json"], ["session", "show", "--json"], ["queue", "show"],
                  ["vault", "show"], ["doctor"], ["diag", "collect", "-o", tmp_path / "diag.tar"],
                  ["policy", "explain", "thermo", "create", "Reading"]):
        subprocess.run(
            [setup.program, "--config-dir", setup.folder, *map(str, words)],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
            env=os.environ | {"POSTERN_STATE_DIR": str(state),
                              "POSTERN_RUN_DIR": str(tmp_path / "run")})
        assert not state.exists(), words


def test_a_broker_that_is_away_is_said_and_the_file_written(setup):
    done = setup("--name", "x", "--uplink", f"mqtts://127.0.0.1:{free_port()}")
    assert done.returncode == 3 and "TCP" in done.stderr, done.stderr
    # It cannot know the broker's CA yet.
    assert "setup --replace" in done.stderr
    assert (setup.folder / "agent.toml").exists()


def test_the_login_of_a_package_is_used(setup):
    setup.folder.mkdir(mode=0o755)
    (setup.folder / "bus-password").write_text("secret\n")
    setup("--name", "x", "--uplink", "mqtt://127.0.0.1:1")
    text = (setup.folder / "agent.toml").read_text()
    assert 'uri = "unix:/run/postern-bus/bus.sock"' in text
    assert f'password_file = "{setup.folder}/bus-password"' in text
    assert 'username = "postern-agent"' in text


def test_a_backup_is_asked_for_and_off_without_an_answer(setup):
    there = ("--replace", "--name", "x", "--uplink", "mqtt://127.0.0.1:1", "--claim-base", "a.it")
    setup(*there)
    assert "backup" not in (setup.folder / "agent.toml").read_text()
    setup(*there, "--backup-configuration")
    assert "[backup]" in (setup.folder / "agent.toml").read_text()
    assert "agent.toml is well-formed" in checked(setup).stdout


def test_questions_on_a_terminal(setup, tls_broker):
    broker, ca = tls_broker
    shown = converse(
        [setup.program, "--config-dir", setup.folder, "setup"],
        [("called?", "porch"), ("share", f"localhost:{broker.port}"), ("page?", "a.example"),
         ("fingerprint", fingerprint(ca)), ("routes at the authority", "y")])
    text = (setup.folder / "agent.toml").read_text()
    assert 'name = "porch"' in text, shown
    assert f'uri = "mqtts://localhost:{broker.port}"' in text
    assert 'base = "https://a.example/claim"' in text
    assert (setup.folder / "uplink-ca.pem").exists()
    assert "[backup]" in text and "configuration = true" in text


def converse(argv, answers) -> str:
    """Runs a program on a terminal of its own, and answers what it asks, in this order."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(str(argv[0]), [str(word) for word in argv])
    shown, end = "", time.monotonic() + 60
    answers = list(answers)
    try:
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                read = os.read(terminal, 4096).decode()
            except OSError:
                break
            shown += read
            if answers and re.search(re.escape(answers[0][0]), shown):
                shown = ""
                os.write(terminal, (answers.pop(0)[1] + "\n").encode())
    finally:
        _, status = os.waitpid(child, 0)
        os.close(terminal)
    assert not answers, f"not asked: {answers}; {shown}"
    assert os.waitstatus_to_exitcode(status) == 0, shown
    return shown


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give its rights up")
def test_roots_commands_leave_the_agents_files_to_the_agent(setup, tmp_path):
    """`sudo postern-agent pair` before the service has ever run must not lock the service out."""
    state, run, agent = tmp_path / "state", tmp_path / "run", 65534
    assert setup("--name", "x", "--uplink", "mqtt://127.0.0.1:1").returncode == 3
    path = setup.folder / "agent.toml"
    path.write_text(f'state_dir = "{state}"\nrun_dir = "{run}"\n' + path.read_text())
    for made in (state, run):
        made.mkdir(mode=0o700)
        os.chown(made, agent, agent)
    for above in (tmp_path, *tmp_path.parents[:-1]):
        above.chmod(above.stat().st_mode | 0o011)
    os.chown(path, 0, agent)
    done = subprocess.run([setup.program, "--config-dir", setup.folder, "pair", "--json"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    made = list(state.iterdir())
    assert made and {file.stat().st_uid for file in made} == {agent}
