"""One of several authorities on one store."""

from pathlib import Path

from .program import Program, accepts, free_port, run

ADMINISTRATOR = "ada"
# The issuer of their tokens, which is one for all on a store; nobody connects to it.
PUBLIC_URL = "http://127.0.0.1:8080"


class Replica:
    """`postern-authority` with a folder and a port of its own; store and keys are shared."""

    def __init__(self, name: str, folder: Path, programs: Path, broker: str, store: str,
                 wrapped=lambda argv: argv):
        """`store` is the lines at the top of authority.toml that name it; `wrapped` gives the
        argv that runs it, such as one with a core of its own."""
        self.name = name
        self._programs = programs
        config, state = folder / name, folder / f"{name}-state"
        for made in (config, state):
            made.mkdir(mode=0o700)
        self.database = state / "authority.db"
        self._http = free_port()
        write(config / "authority.toml", (
            f'name = "Fleet"\nstate_dir = "{state}"\n{store}'
            f'[http]\nlisten = "127.0.0.1:{self._http}"\npublic_url = "{PUBLIC_URL}"\n'
            f'[broker]\nmode = "external"\nuri = "{broker}"\naccess = "none"\n'))
        self._command = [programs / "postern-authority", "--config-dir", config]
        self.program = Program(
            name, wrapped([str(word) for word in [*self._command, "serve"]]), folder)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http}"

    def found(self, password: Path) -> None:
        """Makes the store's tables, the keys and the administrator: by one of them, once."""
        must([*self._command, "init", "--admin", ADMINISTRATOR, "--password-file", password])

    def cli(self, profile: Path) -> list[str]:
        """The administrator's program, as it is called towards this one."""
        return [str(self._programs / "postern"), "--profile-dir", str(profile),
                "--authority", self.url]

    def login(self, profile: Path, password: Path) -> None:
        must([*self.cli(profile), "login", "--username", ADMINISTRATOR, "--password-file",
              password])

    def start(self) -> None:
        self.program.start()
        self.wait()

    def wait(self) -> None:
        self.program.wait_ready(lambda: accepts(self._http), "to listen", 120)

    def kill(self) -> None:
        self.program.kill()

    def stop(self) -> int | None:
        """SIGTERM: what is on its way is answered first."""
        return self.program.stop(60)

    def stop_well(self) -> None:
        """As `stop`; any other end than a good one is a failure, with its last words."""
        status = self.stop()
        assert status == 0, "\n".join([
            f"{self.name} ended with {status}", *self.program.log.splitlines()[-8:]])

    def close(self) -> None:
        """At once: nothing of it is needed any more."""
        self.program.kill()


def write(path: Path, text: str) -> None:
    path.touch(0o600)
    path.write_text(text)


def must(argv: list) -> None:
    done = run(argv, timeout=120)
    assert done.returncode == 0, f"{argv[1:4]}: {done.stderr.strip()}"
