"""Secrets leave the memory of the real programs when they are used up."""

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.authority_bench import AuthorityBench
from bench.process_memory import holds
from bench.waiting import until
from postern_contract import base64url
from postern_contract.claim_url import ClaimURL


def wait_gone(process: int, *secrets: str | bytes) -> None:
    """A reply or a commit may still be on its way."""
    sought = [each if isinstance(each, bytes) else each.encode() for each in secrets]
    until(lambda: not holds(process, *sought), "the secrets to leave the memory", 60)


def test_claim_secret_leaves_the_agent_with_the_provisioning(bench):
    url = bench.pair()
    bench.start()
    secret = ClaimURL.parse(url).claim_secret
    assert holds(bench.agent.pid, secret) == [secret]
    board = bench.authority.claim(url)
    bench.authority.wait_live(board)
    bench.wait_session("available")
    wait_gone(bench.agent.pid, secret, base64url.encode(secret))


def test_tokens_leave_the_agent_with_the_sign_out(bench):
    board = bench.live()
    provision = board.provision
    tokens = [provision[name] for name in ("sessionToken", "refreshToken")]
    token = provision["sessionToken"].encode()
    assert holds(bench.agent.pid, token) == [token]
    bench.command("session", "logout")
    bench.authority.wait_request("session.revoke", timeout=60)
    bench.wait_session("unavailable")
    wait_gone(bench.agent.pid, *tokens)


def test_refresh_token_leaves_the_agent_with_the_next(bench):
    board = bench.live()
    spent = board.provision["refreshToken"]
    mark = bench.authority.mark()
    bench.command("session", "refresh")
    bench.authority.wait_request("session.refresh", since=mark, timeout=60)
    wait_gone(bench.agent.pid, spent)


def test_tokens_leave_the_authority_with_its_answers(tmp_path, evidence, programs):
    bench = AuthorityBench(tmp_path, evidence, programs)
    try:
        board = bench.live_board()
        board.beat()
        spent = board.held.refresh_token
        board.refresh()
        wait_gone(bench.server.pid, board.held.session_token, spent,
                  bench.password_file.read_text().strip())
    finally:
        bench.close()
