"""`postern-agent policy` as a person runs it: text, JSON and exit status of the four commands."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.broker import Broker
from bench.link import Link, Login
from bench.program import Program
from bench.waiting import until

SAMPLES = Path(__file__).parents[2] / "Provisioning" / "policies"
POLICY = """\
default = "deny"

[app.thermo]
rate = "2/s"
max_bytes = "4 KiB"

[[rule]]
app = "thermo"
class = "Reading"
allow = ["create"]
fields = { celsius = "number(-60..125)", unit = "string?" }

[[rule]]
class = "Log"
allow = ["create"]

[[rule]]
app = "door"
class = "Opened"
allow = ["create"]
"""


@pytest.fixture
def policy(programs, tmp_path):
    """Runs `postern-agent policy …` on a folder that holds a policy.toml and no board."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "policy.toml").write_text(POLICY)
    (tmp_path / "etc" / "policy.toml").chmod(0o640)

    def command(*arguments, status=0, stdin=b""):
        done = subprocess.run(
            [programs / "postern-agent", "--config-dir", tmp_path / "etc", "policy",
             *map(str, arguments)],
            input=stdin, capture_output=True, timeout=30)
        assert done.returncode == status, done.stderr.decode() + done.stdout.decode()
        return done.stdout.decode(), done.stderr.decode()

    return command


def draft(folder: Path, text: str) -> Path:
    path = folder / "draft.toml"
    path.write_text(text)
    return path


def record(app: str, op: str, name: str, payload: str, second: float = 0.0) -> str:
    """A line as mosquitto_sub -F %j writes it."""
    stamp = f"2026-11-21T17:05:{second:09.6f}Z+0000"
    return json.dumps({
        "tst": stamp, "topic": f"postern/app/{app}/{op}/{name}", "qos": 1, "retain": 0,
        "payloadlen": len(payload.encode()), "mid": 1, "payload": payload,
    }, ensure_ascii=False, separators=(",", ":")) + "\n"


# check


def test_check_finds_nothing_in_the_samples(policy):
    for sample in ("open", "sensors", "silent"):
        shown, _ = policy("check", "--policy", SAMPLES / f"{sample}.toml")
        assert shown.startswith("nothing found in "), sample


def test_check_names_file_line_and_what_to_do(policy, tmp_path):
    path = draft(tmp_path, POLICY + '\n[[rule]]\nclass = "Log"\nallow = ["delete"]\n')
    shown, _ = policy("check", "--policy", path, status=3)
    first, last = shown.splitlines()
    assert first.startswith(f"{path}:22: no write reaches this rule: the one on line 13")
    assert "add delete to allow of that rule, or drop" in first
    assert first.endswith("[unreachable-rule]")
    assert last.startswith("1 finding in 4 rules, by default deny")


def test_check_as_json(policy, tmp_path):
    path = draft(tmp_path, '[[rule]]\nclass = "Session"\nallow = ["create"]\n')
    report = json.loads(policy("check", "--json", "--policy", path, status=3)[0])
    assert (report["file"], report["rules"], report["default"]) == (str(path), 1, "allow")
    (finding,) = report["findings"]
    assert {k: finding[k] for k in ("kind", "rule", "line")} == {
        "kind": "system-class", "rule": "policy.toml:1", "line": 1}
    assert "_Session" in finding["text"]


def test_check_of_a_malformed_file_names_line_and_column(policy, tmp_path):
    path = draft(tmp_path, 'default = "deny"\n\n[[rule]\nclass = "A"\n')
    shown, said = policy("check", "--policy", path, status=78)
    assert shown == "" and f"{path}:3:8:" in said
    path = draft(tmp_path, 'default = "deny"\n[[rule]]\nclas = "A"\n')
    said = policy("check", "--policy", path, status=78)[1]
    assert f"{path}:3:" in said and 'unknown key "rule.clas"' in said


def test_check_of_a_folder_that_is_not_there_names_it(policy, tmp_path):
    nowhere = tmp_path / "nowhere"
    said = policy("check", "--config-dir", nowhere, status=78)[1]
    assert f"{nowhere}: there is no such folder" in said


def test_check_says_what_to_add_to_the_rule_before(policy, tmp_path):
    path = draft(tmp_path, '[[rule]]\nclass = "A"\nallow = ["create"]\n' * 2
                 + '[[rule]]\nclass = "A"\nallow = ["update"]\n')
    lines = policy("check", "--policy", path, status=3)[0].splitlines()
    assert lines[0].endswith("takes them all; drop this rule [unreachable-rule]")
    assert lines[1].startswith(f"{path}:7: no write reaches this rule: the one on line 1, ")
    assert lines[1].endswith(
        "add update to allow of that rule, or drop this rule [unreachable-rule]")


def test_check_against_a_scope(policy, tmp_path):
    scope = tmp_path / "scope.json"
    scope.write_text('{"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}')
    report = json.loads(policy("check", "--scope", scope, "--json", status=3)[0])
    assert [(f["kind"], f["line"]) for f in report["findings"]] == [
        ("scope-forbids", 13), ("scope-forbids", 17)]
    assert all("scope:default" in f["text"] for f in report["findings"])


# explain


def test_explain_shows_each_layer_and_ends_with_a_sentence(policy, tmp_path):
    payload = tmp_path / "payload"
    payload.write_text('{"celsius": 200}')
    shown, _ = policy("explain", "thermo", "create", "Reading", "--payload", payload,
                      "--policy", tmp_path / "etc" / "policy.toml")
    lines = shown.splitlines()
    assert [line.split("  ")[0] for line in lines if not line.startswith(" ")][:-1] == [
        "write", "built-in", "scope", "app limit", "policy.toml", "rates"]
    assert "✗ policy.toml:7: 142 the rule allows number(-60..125) here (celsius)" in shown
    assert "says: app thermo, class Reading; allow create; fields { celsius = " in shown
    assert "at most 2/s (policy.toml:app.thermo)" in shown
    assert lines[-1].startswith("It is refused by policy.toml:7 with 142: ")


def test_explain_by_topic_and_standard_input_as_json(policy, tmp_path):
    path = draft(tmp_path, POLICY)
    shown, _ = policy(
        "explain", "--topic", "postern/app/thermo/create/Reading", "--payload", "-", "--json",
        "--policy", path, stdin=b'{"celsius": 20}')
    report = json.loads(shown)
    assert (report["decision"], report["rule"]) == ("allow", "policy.toml:7")
    assert [layer["layer"] for layer in report["layers"]] == [
        "built-in", "scope", "app limit", "policy.toml", "effective"]
    assert report["rates"] == [{"rule": "policy.toml:app.thermo", "rate": "2/s"}]


def test_explain_judges_what_is_too_large(policy, tmp_path):
    path = draft(tmp_path, 'default = "allow"\n')
    report = json.loads(policy(
        "explain", "a", "create", "A", "--payload", "-", "--json", "--policy", path,
        stdin=b"x" * 1_000_000)[0])
    assert (report["code"], report["rule"]) == (116, "builtin:payload-size")


# test


def test_cases_agree_with_the_sample_policy(policy):
    shown, _ = policy("test", SAMPLES / "sensors.cases.toml", "--policy", SAMPLES / "sensors.toml")
    lines = shown.splitlines()
    assert len(lines) == 8 and all(line.startswith("✓ ") for line in lines[:-1])
    assert lines[-1] == "7 cases, all as expected"


def test_a_difference_is_shown_with_expected_and_found(policy, tmp_path):
    cases = tmp_path / "cases.toml"
    cases.write_text("""\
[[case]]
name = "hot"
app = "thermo"
op = "create"
class = "Reading"
payload = '{"celsius": 200}'
expect = "allow"

[[case]]
topic = "postern/app/door/create/Opened"
expect = "allow"
rule = "policy.toml:17"
""")
    shown, _ = policy("test", cases, status=1)
    lines = shown.splitlines()
    assert lines[0].startswith(
        f"✗ {cases}:1: hot: expected allow, found deny 142 policy.toml:7 celsius: ")
    assert lines[1] == (f"✓ {cases}:9: postern/app/door/create/Opened: "
                        "expected allow policy.toml:17, found allow policy.toml:17")
    assert lines[2] == "2 cases, 1 not as expected"
    report = json.loads(policy("test", cases, "--json", status=1)[0])
    assert (report["passed"], report["failed"]) == (1, 1)
    assert [case["agrees"] for case in report["cases"]] == [False, True]


def test_cases_that_are_none_or_malformed(policy, tmp_path):
    cases = tmp_path / "cases.toml"
    cases.write_text("# None yet.\n")
    assert "there is no [[case]]" in policy("test", cases, status=2)[1]
    cases.write_text('[[case]]\napp = "thermo"\nexpects = "allow"\n')
    said = policy("test", cases, status=78)[1]
    assert f"{cases}:3:" in said and 'unknown key "case.expects"' in said


# simulate


def test_simulate_counts_and_shows_the_first_of_each_kind(policy, tmp_path):
    log = tmp_path / "log"
    log.write_text(
        record("thermo", "create", "Reading", '{"celsius": 20}', 1)
        + record("thermo", "create", "Reading", '{"celsius": 200}', 2)
        + record("thermo", "create", "Reading", '{"celsius": 300}', 3)
        + record("door", "create", "Secret", "x", 4)
        + "not a message\n"
        # Within the bucket, and one beyond it.
        + "".join(record("thermo", "create", "Log", "", 10) for _ in range(3)))
    shown, said = policy("simulate", log)
    assert said == f"{log}:5: not a JSON object\n"
    lines = shown.splitlines()
    assert lines[0] == "2026-11-21T17:05:01.000Z to 2026-11-21T17:05:10.000Z"
    assert lines[1] == "7 writes seen: 3 allowed, 4 refused"
    assert [line.split()[:6] for line in lines if " policy.toml:" in line and "first" not in line][
        :3] == [
        ["2", "thermo", "create", "Reading", "142", "policy.toml:7"],
        ["1", "door", "create", "Secret", "119", "policy.toml:default"],
        ["1", "thermo", "create", "Log", "155", "policy.toml:app.thermo"]]
    assert "first 2026-11-21T17:05:02.000Z on postern/app/thermo/create/Reading: " in shown
    assert "policy.toml:17 matched nothing: app door, class Opened" in lines
    assert "policy.toml:13 refused nothing of 3: any app, class Log" in lines
    report = json.loads(policy("simulate", "-", "--json", stdin=log.read_bytes())[0])
    assert (report["writes"], report["allowed"], report["refused"], report["malformed"]) == (
        7, 3, 4, 1)
    assert report["refusals"][0]["first"]["field"] == "celsius"
    assert report["rules"][1] == {"rule": "policy.toml:13", "matched": 3, "refused": 0}


def test_simulate_of_nothing_that_can_be_read_fails(policy, tmp_path):
    log = tmp_path / "log"
    log.write_text("")
    policy("simulate", log, status=1)
    nowhere = tmp_path / "nowhere"
    assert f"{nowhere}: there is no such file" in policy("simulate", nowhere, status=2)[1]
    policy("test", nowhere, status=2)


@pytest.mark.slow
def test_simulate_takes_a_long_log_in_bounded_memory(programs, policy, tmp_path):
    line = record("thermo", "create", "Reading", '{"celsius": 200}', 1)
    log = tmp_path / "log"
    with log.open("w") as out:
        for _ in range(200):
            out.write(line * 1000)
        out.write(record("thermo", "create", "Reading", "x" * 20_000_000, 2))
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -v 400000; exec "$0" "$@"', programs / "postern-agent",
         "--config-dir", tmp_path / "etc", "policy", "simulate", log, "--json"],
        capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads(done.stdout)
    assert report["writes"] == 200_001 and report["malformed"] == 0
    assert {row["code"] for row in report["refusals"]} == {142, 116}


def test_simulate_reads_what_mosquitto_sub_recorded(policy, tmp_path):
    recorder = shutil.which("mosquitto_sub")
    if not recorder:
        pytest.skip("mosquitto_sub is not installed")
    broker = Broker("recorded", tmp_path / "bus", "allow_anonymous true").start()
    programs = []
    link = Link(Login(broker.port, "writer")).open()
    try:
        link.publish("postern/app/thermo/create/Log", b"kept", retain=True)
        for form in ("%j", "%J"):
            programs.append(Program(
                "sub" + form[1], [recorder, "-h", "127.0.0.1", "-p", broker.port, "-q", "1", "-t", "#",
                                  "-F", form], tmp_path).start())
            until(lambda: programs[-1].out.stat().st_size > 0 or form == "%J" and
                  programs[-1].err.stat().st_size > 0, "the retained message")
        for payload in (b'{"celsius": 20.50}', b'{"celsius":1,"\\u0063elsius":2}',
                        b'{"celsius": 1e400}', b"\xff\x00binary", b"", "Grüße ☃\n".encode()):
            link.publish("postern/app/thermo/create/Reading", payload)
        until(lambda: programs[0].out.read_text(errors="replace").count("\n") == 7, "the log")
        until(lambda: programs[1].out.read_text(errors="replace").count("\n") == 7, "the log")
    finally:
        link.close()
        for program in programs:
            program.close()
        broker.close()
    # A recorder may write down late when messages came.
    path = draft(tmp_path, POLICY.replace('rate = "2/s"', 'rate = "100/s"'))
    report = json.loads(policy("simulate", programs[0].out, "--policy", path, "--json")[0])
    assert (report["messages"], report["retained"], report["allowed"], report["refused"]) == (
        7, 1, 1, 5)
    assert {row["code"]: row["count"] for row in report["refusals"]} == {107: 4, 142: 1}
    assert report["malformed"] == report["blank"] == report["rewritten"] == 0
    # %J says nothing of what is not JSON, and writes the rest anew.
    report = json.loads(policy("simulate", programs[1].out, "--policy", path, "--json")[0])
    assert report["blank"] == 3 and report["rewritten"] == 3


# The session's scope.


def test_check_and_explain_judge_by_the_scope_of_the_session(make_bench):
    bench = make_bench(policy='[[rule]]\nclass = "Door"\nallow = ["create"]\n')
    bench.live(scope={"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]})
    for _ in ("while the agent runs", "from the disk"):
        report = json.loads(bench.command("policy", "check", "--json", ok=(3,)))
        assert [f["kind"] for f in report["findings"]] == ["scope-forbids"]
        report = json.loads(bench.command("policy", "explain", "a", "create", "Door", "--json"))
        assert (report["decision"], report["rule"]) == ("deny", "scope:default")
        bench.agent.stop()
    cases = bench.folder / "cases.toml"
    cases.write_text('[[case]]\napp = "a"\nop = "create"\nclass = "Door"\nexpect = "allow"\n')
    bench.command("policy", "test", str(cases))
    bench.command("policy", "test", str(cases), "--with-session", ok=(1,))
