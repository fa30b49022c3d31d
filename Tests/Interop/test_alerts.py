"""Alerts: listed, sent once by webhook, e-mail and ntfy, resolved once, and retried."""

import base64
import hashlib
import hmac
import json
import secrets
import time

import pytest

from bench.alert_servers import AlertReceiver, MailServer
from bench.authority_bench import AuthorityBench
from bench.broker import Broker
from bench.certificates import Authority
from bench.program import run
from bench.replica_bench import ReplicaBench, fresh_name
from bench.waiting import until
from conftest import assert_nothing_leaked
from postgres_server import postgres_server  # noqa: F401, a fixture

# A board counts as offline after 4 s, so the authority looks once a second.
QUICK = 'heartbeat = "2s"\nspread = "0s"\n[alerts]\noffline_after = "4s"\n'


class Channels:
    """The three receivers, and the secrets of each."""

    def __init__(self, folder):
        ca = Authority(folder / "tls", "alerts")
        self.ca = ca.file
        self.certificate = ca.issue("mail", "127.0.0.1", "mail.localhost")
        self.http = AlertReceiver()
        self.mail = MailServer(*self.certificate)
        self.secrets = {name: secrets.token_urlsafe(24) for name in ("hook", "ntfy", "smtp")}
        self.files = {}
        for name, secret in self.secrets.items():
            self.files[name] = folder / f"{name}.secret"
            self.files[name].touch(0o600)
            self.files[name].write_text(secret + "\n")

    def settings(self, mail: str | None = None) -> str:
        server = mail or f"smtps://127.0.0.1:{self.mail.port}"
        return QUICK + (
            f'webhook = "http://127.0.0.1:{self.http.port}/hook"\n'
            f'webhook_secret_file = "{self.files["hook"]}"\n'
            f'ntfy = "http://127.0.0.1:{self.http.port}/topic"\n'
            f'ntfy_token_file = "{self.files["ntfy"]}"\n'
            f'smtp = "{server}"\nsmtp_username = "postern"\n'
            f'smtp_password_file = "{self.files["smtp"]}"\n'
            'email_from = "postern@a.example"\nemail_to = ["ada@b.example", "bob@b.example"]\n'
            f'ca_file = "{self.ca}"\n')

    def hooks(self) -> list[dict]:
        """What the webhook got; each with a valid signature that is not old."""
        found = []
        for headers, body in self.http.of("/hook"):
            stamp = headers["x-postern-timestamp"]
            assert abs(time.time() - int(stamp)) < 300
            code = hmac.new(self.secrets["hook"].encode(), stamp.encode() + b"." + body,
                            hashlib.sha256).hexdigest()
            assert hmac.compare_digest(headers["x-postern-signature"], f"sha256={code}")
            found.append(json.loads(body))
        return found

    def of(self, alert: dict) -> list[dict]:
        """The messages of one alert. A board that is slow on a busy machine gets another one."""
        return [h for h in self.hooks() if h["id"] == alert["id"]]

    def first_of(self, board) -> dict:
        """The first message of an alert of this board that is open now."""
        def opened():
            told = [h for h in self.hooks() if (h["board"] or {}).get("id") == board.iid]
            return told[-1] if told and told[-1]["state"] == "opened" else None

        return until(opened, "the board to be offline", 60)

    def close(self) -> None:
        self.http.close()
        self.mail.close()


@pytest.fixture(scope="module")
def channels(tmp_path_factory):
    channels = Channels(tmp_path_factory.mktemp("channels"))
    yield channels
    channels.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs, channels):
    for name, secret in channels.secrets.items():
        evidence.add_secret(f"the secret of {name}", secret)
    evidence.ours.update(channels.files.values())
    bench = AuthorityBench(
        tmp_path_factory.mktemp("authority"), evidence, programs, channels.settings())
    yield bench
    bench.close()


def beat_until(board, condition, what: str, timeout: float = 60.0):
    """A board that goes on with its heartbeats meanwhile."""
    def beaten():
        board.beat()
        time.sleep(0.5)
        return condition()

    return until(beaten, what, timeout)


def test_a_test_message_goes_to_each_channel(bench, channels):
    done = bench.cli("alerts", "test")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("✓") == 3 and "✗" not in done.stderr
    assert channels.hooks()[0]["kind"] == "test"
    assert channels.mail.mails[0]["Subject"] == "Home: test"
    (headers, body), = channels.http.of("/topic")
    assert body == b"This is a test of the alerts of Home."
    assert headers["authorization"] == f"Bearer {channels.secrets['ntfy']}"


def test_an_alert_is_sent_once_and_resolved_once(bench, channels):
    board = bench.live_board("Gewächshaus")
    opened = channels.first_of(board)
    listed, = bench.cli_json("alerts", "list")
    assert opened["id"] == listed["id"] and opened["message"] == 1
    assert (opened["kind"], opened["state"]) == ("board-offline", "opened")
    assert opened["board"] == {"id": board.iid, "name": "Gewächshaus"}
    assert opened["resolvedAt"] is None
    assert opened["url"].endswith(f"/#/boards/{board.iid}")
    subject = "Home: Gewächshaus: board-offline"
    mail = until(lambda: [m for m in channels.mail.mails if m["Subject"] == subject], "mail")[0]
    assert "Gewächshaus is offline" in mail.get_content()
    assert [c for c in channels.mail.commands if c.startswith("RCPT")][-2:] == [
        "RCPT TO:<ada@b.example>", "RCPT TO:<bob@b.example>"]
    login = base64.b64encode(f"\0postern\0{channels.secrets['smtp']}".encode()).decode()
    assert any(login in command for command in channels.mail.commands)
    until(lambda: [headers for headers, body in channels.http.of("/topic")
                   if b"is offline" in body and headers["click"] == opened["url"]], "ntfy")
    end = beat_until(board, lambda: channels.of(opened)[1:], "the board to be heard again")[0]
    assert (end["state"], end["message"]) == ("resolved", 2)
    assert end["resolvedAt"] >= end["openedAt"] == opened["openedAt"]
    assert opened["id"] not in [alert["id"] for alert in bench.cli_json("alerts", "list")]
    kept = {a["id"]: a["state"] for a in bench.cli_json("alerts", "list", "--resolved")}
    assert kept[opened["id"]] == "resolved"
    # Three looks later there is no other message.
    deadline = time.monotonic() + 3
    beat_until(board, lambda: time.monotonic() > deadline, "three looks")
    assert [h["message"] for h in channels.of(opened)] == [1, 2]


@pytest.mark.slow
def test_a_refused_message_is_tried_again_after_a_restart(bench, channels):
    board = bench.board("barn")
    channels.http.refuse = board.iid.encode()
    bench.bring(board)
    first = until(lambda: [h for h in channels.hooks()
                           if (h["board"] or {}).get("id") == board.iid], "the first try", 60)[0]
    until(lambda: "an alert was not sent" in bench.server.log, "the log to say so")
    bench.server.stop()
    bench.start()
    until(lambda: len(channels.of(first)) > 1, "the second try", 90)
    assert channels.of(first)[1] == first
    end = time.monotonic() + 5
    until(lambda: time.monotonic() > end, "more looks")
    assert [h["message"] for h in channels.of(first)].count(1) == 2


@pytest.mark.parametrize("offers", [True, False])
def test_a_mail_server_gets_login_and_mail_only_over_tls(
        tmp_path, evidence, programs, channels, offers):
    server = MailServer(*channels.certificate, starttls=True, offers=offers)
    # libcurl finds this name on loopback, but it is not one of the names where TLS is left out.
    settings = channels.settings(f"smtp://mail.localhost:{server.port}")
    bench = AuthorityBench(tmp_path, evidence, programs, settings)
    try:
        done = bench.cli("alerts", "test", "--json")
        trials = {t["channel"]: t for t in json.loads(done.stdout)}
        assert trials["webhook"]["isSent"] and trials["ntfy"]["isSent"]
        assert trials["email"]["isSent"] == offers, trials
        assert done.returncode == (0 if offers else 1)
    finally:
        bench.close()
        server.close()
    words = [command.split(" ")[0] for command in server.commands]
    assert len(server.mails) == (1 if offers else 0)
    assert (words.index("STARTTLS") < words.index("AUTH")) if offers else "AUTH" not in words


@pytest.mark.slow
def test_one_of_two_authorities_sends_and_the_other_takes_over(
        tmp_path, evidence, programs, channels, postgres_server):  # noqa: F811
    broker = Broker("foreign", tmp_path, "allow_anonymous true").start()
    folder = tmp_path / "replicas"
    folder.mkdir()
    bench = ReplicaBench(folder, evidence, programs, postgres_server.new_database(fresh_name()),
                         broker.port, channels.settings())
    try:
        board = bench.live_board("mast")
        opened = channels.first_of(board)

        def ours():
            return [(h["state"], h["message"]) for h in channels.of(opened)]

        end = time.monotonic() + 3
        until(lambda: time.monotonic() > end, "three looks")
        assert ours() == [("opened", 1)]
        # The first to start holds the lock.
        bench.replicas[0].program.kill()
        beat_until(board, lambda: len(ours()) > 1, "the other to resolve it", 60)
        end = time.monotonic() + 3
        beat_until(board, lambda: time.monotonic() > end, "three looks")
        assert ours() == [("opened", 1), ("resolved", 2)]
    finally:
        bench.close()
        broker.close()


def test_a_secret_that_others_can_read_is_not_used(tmp_path, evidence, programs, channels):
    loose = tmp_path / "loose.secret"
    loose.write_text("a secret that everybody can read\n")
    loose.chmod(0o644)
    settings = channels.settings().replace(str(channels.files["hook"]), str(loose))
    bench = AuthorityBench(tmp_path, evidence, programs, settings)
    try:
        assert "alerts cannot be sent" in bench.server.log and str(loose) in bench.server.log
        # The module's own authority sends here too: a board of its that fell silent, say.
        tests = [h["id"] for h in channels.hooks() if h["kind"] == "test"]
        done = bench.cli("alerts", "test")
        assert done.returncode == 1 and "✗ webhook" in done.stderr
        assert done.stderr.count("✓") == 2
        assert [h["id"] for h in channels.hooks() if h["kind"] == "test"] == tests
        doctor = run(bench._authority("doctor", "--json"), timeout=60).stdout
        assert "alerts-delivery" in doctor and str(loose) in doctor
    finally:
        bench.close()


def test_nothing_is_sent_where_nothing_is_configured(tmp_path, evidence, programs, channels):
    bench = AuthorityBench(tmp_path, evidence, programs, QUICK)
    try:
        board = bench.live_board("shed")
        until(lambda: bench.cli_json("alerts", "list"), "the alert to be listed", 60)
        assert bench.cli_json("alerts", "list")[0]["installationId"] == board.iid
        done = bench.cli("alerts", "test")
        assert done.returncode == 2 and "sent nowhere" in done.stderr
    finally:
        bench.close()
    assert not [body for _, _, body in channels.http.requests if board.iid.encode() in body]


def test_leaves_no_secret_in_logs_and_output(evidence):
    assert_nothing_leaked(evidence)
