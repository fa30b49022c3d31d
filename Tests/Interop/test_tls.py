"""TLS from end to end: an authority with its own CA, boards and people that know it by that alone,
what each of them refuses and on which layer, and certificates that are renewed under them."""

import json
import os
import ssl
import urllib.request

import pytest
from cryptography import x509

from bench.certificates import Authority
from bench.fake_clock import FakeClock
from bench.program import free_port, run
from bench.tls_house import TLSBoard, TLSHouse, stub
from bench.waiting import until
from conftest import assert_nothing_leaked


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs):
    house = TLSHouse(tmp_path_factory.mktemp("tls"), evidence, programs)
    assert house.login("--ca-fingerprint", house.fingerprint).returncode == 0
    yield house
    house.close()


@pytest.fixture
def other(tmp_path) -> Authority:
    """A CA that nobody here trusts, unless told to."""
    return Authority(tmp_path / "other", "other")


def test_board_pairs_and_forwards_with_the_own_ca(house):
    watch = house.running("watch", "watch", "--json")
    board = house.board("greenhouse").live()
    assert house.shown(house.port)["version"] == "TLSv1.3"
    app = board.app()

    def is_heard() -> bool:
        assert "seq" in app.write("Reading", b'{"celsius":20.5}')
        return "celsius" in watch.out.read_text()

    until(is_heard, f"a write to come to `postern watch` over mqtts {watch.log}", 60)
    assert f"watching mqtts://localhost:{house.port}" in watch.log


def test_board_learns_the_ca_by_pairing(house, other):
    board = house.board("learner").live()
    assert board.learned.read_bytes() == house.ca_file.read_bytes()
    # What it was set up with is of no use from now on.
    board.agent.stop()
    board.set_uplink(f"mqtts://localhost:{free_port()}", f'ca_file = "{other.file}"')
    board.start()
    board.wait_online()
    assert "seq" in board.app().write("Reading")


def test_board_without_a_clock_pairs_all_the_same(house, tmp_path):
    """To it every certificate begins in the future, until it is told the time."""
    clock = FakeClock(tmp_path / "clock", "@1970-01-01 00:00:10")
    board = house.board("clockless", agent_env=clock.environment).live()
    assert "seq" in board.app().write("Reading")


def test_board_falls_back_to_what_it_was_set_up_with(house):
    board = house.board("returner").live()
    board.agent.stop()
    board.learned.unlink()
    board.learned.mkdir()
    board.start()
    board.wait_log("the CA certificates of the provisioning")
    board.wait_online()


@pytest.mark.parametrize("fault, words", [
    ("another host", "TLS: the certificate: hostname mismatch"),
    ("another CA", "TLS: the certificate: unable to get local issuer certificate"),
    ("expired", "TLS: the certificate: certificate has expired"),
    ("TLS 1.1", "TLS: "),
    ("no TLS", "TLS: "),
])
def test_board_refuses_and_names_the_layer(house, other, tmp_path, fault, words):
    hosts = ["elsewhere.example"] if fault == "another host" else ["localhost"]
    days = (-9, -1) if fault == "expired" else (-1, 9)
    certificate, key = other.issue("server", *hosts, begins=days[0], ends=days[1])
    old = ("-tls1_1", "-cipher", "ALL@SECLEVEL=0") if fault == "TLS 1.1" else ()
    trusted = house.ca_file if fault == "another CA" else other.file
    server = stub("-cert", str(certificate), "-key", str(key), *old, folder=tmp_path)
    board = TLSBoard(house, f"refuses-{fault.replace(' ', '-')}")
    # Its own bus is a broker without TLS.
    port = board.bus.port if fault == "no TLS" else server.port
    board.set_uplink(f"mqtts://localhost:{port}", f'ca_file = "{trusted}"')
    try:
        board.pair()
        board.start()
        board.wait_log(words)
        assert board.status()["uplink"] != "connected"
    finally:
        board.close()
        server.close()


@pytest.mark.parametrize("program, variable, value", [
    ("postern-agent", "POSTERN_UPLINK_URI", "mqtt://broker.example"),
    ("postern-agent", "POSTERN_BUS_URI", "mqtt://192.0.2.7"),
    ("postern-authority", "POSTERN_HTTP_LISTEN", "0.0.0.0:1"),
    ("postern-authority", "POSTERN_BROKER_LISTEN", "0.0.0.0:1"),
])
def test_plain_text_off_loopback_is_refused_unasked(
        programs, tmp_path, program, variable, value):
    config = tmp_path / "etc"
    config.mkdir(mode=0o700)
    if program == "postern-agent":
        (config / "agent.toml").write_text('[uplink]\nuri = "mqtts://localhost"\n')
        os.chmod(config / "agent.toml", 0o640)
    verb = "run" if program == "postern-agent" else "serve"
    place = {"POSTERN_STATE_DIR": str(tmp_path / "state"), "POSTERN_RUN_DIR": str(tmp_path / "run")}
    if program == "postern-authority":
        del place["POSTERN_RUN_DIR"]
    done = run([programs / program, "--config-dir", config, verb], env=place | {variable: value})
    assert done.returncode == 78, done.stderr
    assert variable in done.stderr and "insecure = true" in done.stderr


def test_postern_takes_the_ca_by_its_fingerprint_alone(house):
    kept = json.loads((house.folder / "profile" / "profile.json").read_text())
    assert kept["ca"] == house.ca_file.read_text()
    assert house.cli("whoami").returncode == 0
    wrong = house.fingerprint[:-2] + ("00" if house.fingerprint[-2:] != "00" else "01")
    refused = house.login("--ca-fingerprint", wrong, profile="wrong")
    assert refused.returncode == 1 and "another fingerprint" in refused.stderr
    unknown = house.login(profile="unknown")
    assert unknown.returncode == 5 and "TLS" in unknown.stderr
    by_file = house.login("--ca-file", house.ca_file, profile="by-file")
    assert by_file.returncode == 0, by_file.stderr
    assert house.cli("whoami", profile="by-file").returncode == 0
    assert not (house.folder / "wrong").exists() and not (house.folder / "unknown").exists()


def test_new_certificates_are_shown_without_a_restart(house):
    board = house.board("steady").live()
    before = {port: house.shown(port)["serialNumber"] for port in (house.port, house.http_port)}
    log = board.agent.log
    renewed = json.loads(house.must("tls", "renew", "--json").stdout)
    assert renewed["fingerprint"] == house.fingerprint
    for port, serial in before.items():
        until(lambda: house.shown(port)["serialNumber"] != serial, "a new certificate", 60)
    assert house.cli("whoami").returncode == 0
    # Who was connected still is; who comes anew is let in by the same CA.
    assert "seq" in board.app().write("Reading", b"{}")
    board.wait_online()
    assert board.agent.log.count("connected to the upstream") == log.count(
        "connected to the upstream")
    board.agent.stop()
    board.start()
    board.wait_online()


def test_broken_certificate_takes_nobodys_place(house):
    file = house.state / "tls" / "http.pem"
    good, serial = file.read_bytes(), house.shown(house.http_port)["serialNumber"]
    # Another's key: readable, and not of this certificate.
    key = (house.state / "tls" / "broker.pem").read_bytes().split(b"-----BEGIN CERTIFICATE")[0]
    file.write_bytes(key + good[good.index(b"-----BEGIN CERTIFICATE"):])
    until(lambda: house.shown(house.http_port)["serialNumber"] != serial,
          "the authority to make another", 60)
    assert house.cli("whoami").returncode == 0


def test_copied_folder_of_certificates_signs_nothing(house):
    wrapped = (house.state / "tls" / "ca.key").read_bytes()
    assert b"PRIVATE KEY" not in wrapped
    assert (house.state / "tls" / "ca.key").stat().st_mode & 0o777 == 0o600
    for name in ("broker.pem", "http.pem"):
        assert (house.state / "tls" / name).stat().st_mode & 0o777 == 0o600


def test_init_writes_over_nothing_and_asks_for_what_it_needs(house, tmp_path, programs):
    argv = [programs / "postern-authority", "--config-dir", tmp_path, "init", "--admin", "ada",
            "--password-file", house.password_file, "--tls"]
    state = {"POSTERN_STATE_DIR": str(tmp_path / "state")}
    nameless = run(argv, env=state)
    assert nameless.returncode == 2 and "--host" in nameless.stderr
    assert not (tmp_path / "authority.toml").exists()
    (tmp_path / "authority.toml").write_text('name = "mine"\n')
    plain = run(argv, env=state)
    assert plain.returncode == 78 and "own = true" in plain.stderr
    assert (tmp_path / "authority.toml").read_text() == 'name = "mine"\n'
    assert not (tmp_path / "state").exists()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, evidence, programs):
    """An authority that asks board and person for a certificate of `people`."""
    folder = tmp_path_factory.mktemp("guarded")
    people = Authority(folder / "people", "people")
    house = TLSHouse(folder, evidence, programs, {
        "POSTERN_BROKER_CLIENT_CA_FILE": str(people.file),
        "POSTERN_HTTP_CLIENT_CA_FILE": str(people.file)})
    house.people = people
    yield house
    house.close()


def test_certificates_of_clients_are_asked_for(guarded, other):
    without = guarded.login("--ca-file", guarded.ca_file, profile="without")
    assert without.returncode in (1, 5) and "TLS" in without.stderr, without.stderr
    certificate, key = other.issue("stranger")
    strange = guarded.login("--ca-file", guarded.ca_file, "--certificate", certificate,
                            "--key", key, profile="strange")
    assert strange.returncode in (1, 5) and "TLS" in strange.stderr, strange.stderr
    certificate, key = guarded.people.issue("ada")
    done = guarded.login("--ca-fingerprint", guarded.fingerprint, "--certificate", certificate,
                         "--key", key)
    assert done.returncode == 0, done.stderr
    assert guarded.cli("whoami").returncode == 0, "the login keeps where they are"
    watch = guarded.running("guarded-watch", "watch")
    until(lambda: "watching mqtts://localhost" in watch.log, "the broker to take it too", 60)


def test_board_shows_its_certificate(guarded):
    bare = guarded.board("bare")
    bare.pair()
    bare.start()
    bare.wait_log("TLS: ")
    assert bare.status()["uplink"] != "connected"
    certificate, key = guarded.people.issue("board")
    lines = (f'ca_file = "{guarded.ca_file}"', f'certificate_file = "{certificate}"',
             f'key_file = "{key}"')
    board = guarded.board("certified", uplink=lines).live()
    board.wait_online()
    assert "seq" in board.app().write("Reading")
    board.agent.stop()
    os.chmod(key, 0o644)
    done = run(board._argv("run"))
    assert done.returncode == 78 and str(key) in done.stderr


@pytest.fixture(scope="module")
def brought(tmp_path_factory, evidence, programs):
    """An authority whose page shows a certificate that was made elsewhere."""
    folder = tmp_path_factory.mktemp("brought")
    maker = Authority(folder / "maker", "maker")
    certificate, key = maker.issue("page", "localhost")
    house = TLSHouse(folder, evidence, programs, {
        "POSTERN_HTTP_CERTIFICATE_FILE": str(certificate), "POSTERN_HTTP_KEY_FILE": str(key)})
    house.maker, house.page = maker, (certificate, key)
    yield house
    house.close()


def test_certificate_made_elsewhere_wins_and_is_read_again(brought):
    own, brought.ca_file = brought.ca_file, brought.maker.file
    serial = brought.shown(brought.http_port)["serialNumber"]
    assert serial == number(brought.page[0])
    context = ssl.create_default_context(cafile=str(brought.maker.file))
    with urllib.request.urlopen(f"{brought.url}/postern/v1/ca", context=context) as answer:
        assert answer.read() == own.read_bytes()
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert not (brought.state / "tls" / "http.pem").exists()
    # Another's key is named, and changes nothing; then both are there.
    old = brought.page[1].read_bytes()
    certificate, key = brought.maker.issue("next", "localhost")
    os.replace(key, brought.page[1])
    until(lambda: "keeps its old certificate" in brought.server.log, "a word of it", 60)
    assert brought.shown(brought.http_port)["serialNumber"] == serial
    expected = number(certificate)
    os.replace(certificate, brought.page[0])
    until(lambda: brought.shown(brought.http_port)["serialNumber"] == expected, "the new one", 60)
    assert old not in brought.page[1].read_bytes()


def number(file) -> str:
    """A certificate's serial number, as `ssl` prints it."""
    digits = f"{x509.load_pem_x509_certificate(file.read_bytes()).serial_number:X}"
    return digits if len(digits) % 2 == 0 else f"0{digits}"


def test_no_secret_leaked(evidence):
    assert_nothing_leaked(evidence)
