"""A real `postern-authority` with its embedded broker, and the admin CLI beside it."""

import json
import os
import secrets
import subprocess
from pathlib import Path

from board_player import BoardPlayer
from postern_contract import names

from .evidence import Evidence
from .program import Program, accepts, free_port, run
from .waiting import until

ADMIN = "ada"


class AuthorityBench:
    """Initialised, served and logged in when made; boards are made and claimed by tests."""

    def __init__(self, folder: Path, evidence: Evidence, programs: Path, settings: str = "",
                 http: str = ""):
        """`settings` are lines of `[session]`, and sections after it; `http` lines of `[http]`."""
        self.folder = folder
        self.evidence = evidence
        self.programs = programs
        self.http_port, self.port = free_port(), free_port()
        self.boards: list[BoardPlayer] = []
        self.claims: list[Claim] = []
        self.config = self._write_config(settings, http)
        self.password_file = self._write_password()
        evidence.folders.append(folder)
        self.server = Program("authority", self._authority("serve"), folder)
        self.must(self._authority("init", "--admin", ADMIN, "--password-file",
                                  self.password_file))
        self.start()
        self.must(self._cli("login", "--username", ADMIN, "--password-file",
                            self.password_file))

    def start(self) -> None:
        self.server.start()
        """Done when it hears boards: it opens HTTP after 5 s without its broker, too."""
        self.server.wait_ready(
            lambda: accepts(self.http_port) and accepts(self.port)
            and "connected to the broker" in self.server.log,
            f"ports {self.http_port} (HTTP) and {self.port} (MQTT), and its broker", 60,
        )

    # The commands.

    def cli(self, *arguments, timeout: float = 60.0) -> subprocess.CompletedProcess:
        """One run of `postern`; what it printed is kept as evidence."""
        return self._kept(run(self._cli(*arguments), timeout=timeout, env=self._environment))

    def cli_json(self, *arguments):
        done = self.cli(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def must(self, argv: list) -> str:
        done = self._kept(run(argv, timeout=180, env=self._environment))
        assert done.returncode == 0, f"{argv[1:5]} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def claim(self, url: str, *more) -> "Claim":
        """Starts `postern claim`, which may wait for the board; see `Claim.end`."""
        number = len(self.claims)
        argv = self._cli("claim", url, *more, "--json")
        program = Program(f"claim-{number}", argv, self.folder, self._environment)
        self.claims.append(Claim(program.start()))
        return self.claims[-1]

    def sessions_of(self, board: BoardPlayer) -> list[dict]:
        """The sessions that the CLI lists for this board, whatever it wraps them in."""
        return _objects(self.cli_json("sessions", "list"),
                        lambda o: board.iid in o.values())

    def revoke(self, session_id: str) -> None:
        self.must(self._cli("sessions", "revoke", session_id))

    # Boards.

    def board(self, name: str = "greenhouse") -> BoardPlayer:
        self.boards.append(BoardPlayer(self.port, self.evidence, name))
        return self.boards[-1]

    def live_board(self, name: str = "greenhouse", *more) -> BoardPlayer:
        """A board with an accepted session, on its new broker password."""
        return self.bring(self.board(name), *more)

    def bring(self, board: BoardPlayer, *more) -> BoardPlayer:
        """Has this board claimed; it then has an accepted session, on its new password."""
        claim = self.claim(board.claim_url, *more)
        board.connect(30).wait_held()
        claim.must_end()
        board.settle()
        board.beat()
        return board

    def close(self) -> None:
        for board in self.boards:
            board.disconnect()
        for claim in self.claims:
            claim.program.close()
        self.server.close()
        self.evidence.texts += [("argv or environment", t) for t in self.server.traces]

    def logs(self) -> list[tuple[str, str]]:
        claims = [(c.program.name, c.program.log) for c in self.claims]
        return [("postern-authority", self.server.log), *claims]

    @property
    def _environment(self) -> dict:
        return {"XDG_CONFIG_HOME": str(self.folder / "xdg"), "HOME": str(self.folder)}

    def _authority(self, *arguments) -> list:
        return [self.programs / "postern-authority", "--config-dir", self.config, *arguments]

    def _cli(self, *arguments) -> list:
        url = f"http://127.0.0.1:{self.http_port}"
        return [self.programs / "postern", "--authority", url, *arguments]

    def _kept(self, done: subprocess.CompletedProcess) -> subprocess.CompletedProcess:
        title = " ".join(map(str, done.args[3:5]))
        self.evidence.texts.append((f"output of {title}", (done.stdout + done.stderr).encode()))
        return done

    def _write_config(self, settings: str, http: str) -> Path:
        config, state = self.folder / "etc", self.folder / "state"
        config.mkdir(mode=0o700)
        state.mkdir(mode=0o700)
        text = (
            f'name = "Home"\nstate_dir = "{state}"\n'
            f'[http]\nlisten = "127.0.0.1:{self.http_port}"\n'
            f'public_url = "http://127.0.0.1:{self.http_port}"\napp_id = "postern"\n{http}'
            f'[broker]\n{self._broker_lines()}'
            f'[session]\npreset = "consumer"\n{settings}\n'
            # The tests look at single sessions, and mark those they make.
            "[session.permissions]\nget = true\naddField = true\n"
        )
        path = config / "authority.toml"
        path.write_text(text)
        os.chmod(path, 0o640)
        return config

    def _broker_lines(self) -> str:
        """The lines of `[broker]`; other kinds of bench have other brokers."""
        return (f'mode = "embedded"\nlisten = "127.0.0.1:{self.port}"\n'
                'access = "dynamic-security"\n')

    def _write_password(self, name: str = "admin-password") -> Path:
        password = secrets.token_urlsafe(24)
        self.evidence.add_secret(f"the password in {name}", password)
        path = self.folder / name
        path.touch(0o600)
        path.write_text(password)
        self.evidence.ours.add(path)
        return path


class Claim:
    """One running `postern claim`."""

    def __init__(self, program: Program):
        self.program = program

    def end(self, timeout: float = 120.0) -> int:
        """Its exit status. It may wait for the board, so give it one or give it time."""
        until(lambda: not self.program.is_running, "`postern claim` to end", timeout)
        return self.program.process.returncode

    def must_end(self) -> None:
        assert self.end() == 0, self.program.log

    def must_fail(self, timeout: float = 120.0) -> str:
        """Its words on stderr, which must be there."""
        assert self.end(timeout) != 0, self.program.out.read_text()
        words = self.program.log.strip()
        assert words and "Fatal error" not in words
        return words


def _objects(value, matches) -> list[dict]:
    """All JSON objects in `value`, at any depth, that match."""
    if isinstance(value, list):
        return [found for item in value for found in _objects(item, matches)]
    if isinstance(value, dict):
        inner = [found for item in value.values() for found in _objects(item, matches)]
        return [value, *inner] if matches(value) else inner
    return []


def session_ids(objects: list[dict]) -> set[str]:
    """The session ids in these objects, under whatever member they stand."""
    return {v for o in objects for v in o.values() if names.is_a("session id", v)}
