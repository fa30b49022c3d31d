"""The phases of a run, in order. Each leaves good weather, and an agent that runs."""

import random
import threading
import time
from contextlib import contextmanager
from subprocess import CalledProcessError

from bench.fake_clock import FakeClock, sweep
from disk import EIO, ENOSPC, POINTS, BrokenDisk, SlowDisk, SmallDisk
from publisher import WINDOW
from torture import Torture, tell
from weather import KINDS, MILD, Away, Clear, HalfOpen


@contextmanager
def changeable(torture: Torture, kinds: tuple, least: float, most: float):
    """The weather changes by itself, drawn from `kinds`, with a clear spell between."""
    draw = random.Random(torture.draw.random())
    is_over = threading.Event()

    def change() -> None:
        while not is_over.is_set():
            for kind in (draw.choice(kinds), Clear):
                torture.proxy.change(kind)
                if is_over.wait(draw.uniform(least, most)):
                    return

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        torture.proxy.change(Clear)


def calm_begin(torture: Torture) -> None:
    with torture.phase("a quiet network", 0.05, torture.plan.seconds(3, 10)) as span:
        while span.goes_on:
            time.sleep(0.1)


def kills(torture: Torture) -> None:
    """The agent is killed every 200 ms to 2 s, mostly by SIGKILL, and started at once."""
    seconds = torture.plan.seconds(10, 130)
    # In bursts, most of which a kill hits, between a commit and what is said of it, too.
    burst = int(0.3 * torture.plan.messages / seconds * 1.1)
    with torture.phase("killed every 200 ms to 2 s", 0, seconds) as span:
        with changeable(torture, MILD, 0.3, 2):
            while not span.is_late:
                rest = torture.draw.uniform(0.2, 2)
                lead = min(rest, torture.draw.uniform(0, 0.4))
                time.sleep(rest - lead)
                torture.publisher.offer(burst, 0.02)
                time.sleep(lead)
                torture.board.end_somehow(torture.draw)
        while span.goes_on:
            time.sleep(0.1)


def network(torture: Torture) -> None:
    """Every kind of weather, one after the other; after each it must flow again."""
    kinds = list(KINDS)
    torture.draw.shuffle(kinds)
    each = torture.plan.seconds(0.5, 4)
    with torture.phase("every kind of weather", 0.2, len(kinds) * each * 2) as span:
        for kind in kinds:
            torture.proxy.change(kind)
            time.sleep(torture.draw.uniform(0.5, 1.5) * each)
            torture.proxy.change(Clear)
            _recover(torture, kind.name)
        while span.goes_on:
            time.sleep(0.1)


def _recover(torture: Torture, what: str) -> None:
    """Waits for a while for the agent to come back by itself; then it is started anew.

    Its own back-off grows to a minute while connections end soon, as they do here.
    """
    if torture.publisher.outstanding == 0 and not torture.ledger.missing:
        return
    span = torture.flows_again(torture.plan.seconds(2, 6))
    if span is None:
        torture.add("restarts to cut a back-off short")
        torture.board.stop()
        torture.board.start()
        span = torture.flows_again(20)
        if span is None:
            torture.fault("nothing flows", f"20 s after a start, after: {what}")
    else:
        torture.most("longest wait for the uplink, s", span)


def half_open(torture: Torture) -> None:
    """A connection that is dead without a sign: the agent itself must find out."""
    if torture.plan.is_short:
        return
    torture.board.stop()
    torture.board.start_ready()
    torture.flows_again(10)
    with torture.phase("half-open until the agent notices", 0.05, 30):
        mark = torture.proxy.tally["connections"]
        torture.proxy.change(HalfOpen)
        time.sleep(1)
        torture.publisher.offer(200, 1)
        begun = time.monotonic()
        while torture.proxy.tally["connections"] == mark and time.monotonic() - begun < 100:
            time.sleep(0.1)
        span = time.monotonic() - begun
        if torture.proxy.tally["connections"] == mark:
            torture.fault("half-open", "the agent kept a dead connection for 100 s")
        torture.figures["a dead connection was given up after, s"] = round(span, 1)
        torture.proxy.change(Clear)
        _recover(torture, "half-open")


def broker(torture: Torture) -> None:
    """The upstream broker stops, comes back with another receive maximum, and refuses."""
    rounds = int(torture.plan.seconds(1, 4))
    upstream = torture.upstream
    with torture.phase("upstream stops and refuses", 0.1,
                       torture.plan.seconds(8, 60)) as span:
        for count in range(rounds):
            upstream.stop()
            time.sleep(torture.draw.uniform(0.3, torture.plan.seconds(1, 4)))
            upstream.set_receive_maximum(torture.draw.choice((1, 3, 20, 400)))
            upstream.resume()
            torture.add("restarts of the upstream broker")
            _recover(torture, "a restart of the upstream broker")
            upstream.refuse_data(torture.iid)
            time.sleep(torture.draw.uniform(0.5, torture.plan.seconds(1, 5)))
            if count % 2:
                torture.board.end_somehow(torture.draw)
                time.sleep(1)
            upstream.allow_data(torture.iid)
            torture.add("spells of PUBACK 0x87, not authorized")
            _recover(torture, "PUBACK 0x87")
        while span.goes_on:
            time.sleep(0.1)
        upstream.stop()
        upstream.set_receive_maximum(200)
        upstream.resume()


def bus(torture: Torture) -> None:
    """The board's own broker is restarted, in order."""
    with torture.phase("the local broker restarts", 0.04, torture.plan.seconds(3, 15)) as span:
        for _ in range(int(torture.plan.seconds(1, 4))):
            time.sleep(torture.draw.uniform(0.3, 1.5))
            if torture.draw.random() < 0.3:
                torture.board.kill()
            torture.board.bus.restart()
            torture.add("restarts of the local broker")
            if torture.board.agent.process is None:
                torture.board.start()
            torture.answers_again(10)
        while span.goes_on:
            time.sleep(0.1)


def everything(torture: Torture) -> None:
    seconds = torture.plan.seconds(6, 85)
    with torture.phase("kills and all weathers at once", 0.12, seconds) as span:
        with changeable(torture, KINDS, 0.1, 1.5):
            while span.goes_on:
                time.sleep(torture.draw.uniform(0.2, 2))
                torture.board.end_somehow(torture.draw)


@contextmanager
def on_a_small_disk(torture: Torture, kib: int):
    """The state lies on a disk of its own size until the end; None where none can be mounted."""
    try:
        disk = SmallDisk(torture.folder / f"small-{kib}", kib)
    except (OSError, CalledProcessError) as error:
        torture.skipped.append(f"a full disk: no tmpfs can be mounted ({error})")
        tell(f"- SKIPPED: {torture.skipped[-1]}")
        yield None
        return
    board, place = torture.board, disk.folder / "state"
    try:
        board.stop()
        board.copy_state(board.state, place)
        board.run_with({"POSTERN_STATE_DIR": str(place)})
        board.start_ready()
        yield disk
        board.stop()
        board.copy_state(place, board.state)
        board.run_with({})
        board.start_ready()
    finally:
        disk.close()


def full_disk(torture: Torture) -> None:
    """Space ends and comes back while the agent runs; it must not have to be started anew."""
    with on_a_small_disk(torture, 24 * 1024) as disk:
        if disk is None:
            return
        with torture.phase("a full disk", 0.06, torture.plan.seconds(8, 40)) as span:
            for count in range(int(torture.plan.seconds(2, 8))):
                if span.is_late:
                    break
                _fill_once(torture, disk, is_uplink_up=count % 2 == 0)
            while span.goes_on:
                time.sleep(0.1)


def _fill_once(torture: Torture, disk: SmallDisk, is_uplink_up: bool) -> None:
    torture.proxy.change(Clear if is_uplink_up else Away)
    pid = torture.board.agent.pid
    disk.fill(torture.draw.choice((0, 8, 64, 256)))
    torture.publisher.offer(300, 1)
    time.sleep(torture.draw.uniform(1, torture.plan.seconds(1.5, 4)))
    torture.add("times the disk was full")
    disk.clear()
    torture.proxy.change(Clear)
    _answers_within(45, torture, "full disk", "space came back")
    if torture.board.is_dead or torture.board.agent.pid != pid:
        torture.fault("full disk", f"the agent ended: {torture.board.deaths[-1:]}")
        torture.board.start()


def _answers_within(
    seconds: float, torture: Torture, kind: str, cause: str, which: str = ""
) -> None:
    """The bus acknowledges again so soon after `cause`; how long it took is a figure."""
    torture.publisher.offer(20, 0.1)
    span = torture.answers_again(seconds)
    if span is not None:
        return torture.most(f"longest wait after {cause}, s", span)
    said = f"{cause} ({which})" if which else cause
    torture.fault(kind, f"nothing is acknowledged {seconds} s after {said}")


def own_full_disk(torture: Torture) -> None:
    """The outbox itself fills the disk while the uplink is away; then it drains what it has."""
    if torture.plan.is_short:
        return
    with on_a_small_disk(torture, 12 * 1024) as disk:
        if disk is None:
            return
        with torture.phase("the outbox fills its disk", 0, 60):
            torture.proxy.change(Away)
            torture.publisher.offer(40_000, 2)
            while torture.answers_again(3) is not None:
                pass
            torture.figures["waiting on a disk of 12 MiB when it was full"] = (
                len(torture.ledger.missing))
            torture.publisher.withdraw()
            torture.proxy.change(Clear)
            _drain(torture)


def _drain(torture: Torture) -> None:
    """With no space but what delivery gives back. The agent's own back-off may be a minute."""
    begun = time.monotonic()
    while time.monotonic() - begun < 90:
        if not torture.ledger.missing and torture.publisher.is_done:
            torture.figures["a full outbox drained in, s"] = round(time.monotonic() - begun, 1)
            return
        time.sleep(0.2)
    torture.fault("a disk filled by the outbox", (
        f"after 90 s with the uplink back {len(torture.ledger.missing)} have not arrived, "
        f"{torture.publisher.outstanding} are unanswered"))


def broken_disk(torture: Torture) -> None:
    """Writes and syncs fail with ENOSPC and EIO, by libfiu."""
    if not BrokenDisk.is_there():
        torture.skipped.append("injected faults: libfiu is not installed (fiu-utils)")
        return tell(f"- SKIPPED: {torture.skipped[-1]}")
    disk = BrokenDisk(torture.folder)
    torture.board.stop()
    torture.board.run_with(disk.environment)
    torture.board.start_ready()
    try:
        with torture.phase("injected ENOSPC and EIO", 0.06,
                           torture.plan.seconds(8, 50)) as span:
            for _ in range(int(torture.plan.seconds(2, 12))):
                if span.is_late:
                    break
                _break_once(torture, disk)
            while span.goes_on:
                time.sleep(0.1)
    finally:
        torture.board.stop()
        torture.board.run_with({})
    torture.board.start_ready()


def _break_once(torture: Torture, disk: BrokenDisk) -> None:
    board, draw = torture.board, torture.draw
    point, error = draw.choice(POINTS), draw.choice((ENOSPC, EIO))
    pid = board.agent.pid
    disk.fail(pid, point, error, draw.choice((0.02, 0.2, 1)))
    torture.publisher.offer(200, 0.5)
    time.sleep(draw.uniform(0.3, torture.plan.seconds(0.8, 2)))
    torture.add("spells of injected ENOSPC or EIO")
    if board.is_dead:
        torture.fault("injected fault", f"the agent ended: {board.deaths[-1]}")
        board.start_ready()
        return
    disk.heal(pid, point)
    _answers_within(45, torture, "injected fault", "a fault healed", point)


def clock(torture: Torture) -> None:
    """The wall clock jumps forward by days and back to 1970; now and then the agent starts so."""
    try:
        fake = FakeClock(torture.folder / "clock")
        environment = fake.environment
    except AssertionError as error:
        torture.skipped.append(f"clock jumps: {error}")
        return tell(f"- SKIPPED: {torture.skipped[-1]}")
    torture.board.stop()
    torture.board.run_with(environment)
    torture.board.start_ready()
    jumps = ["+3d", "@1970-01-01 00:00:10", "+0", "+400d", "-3d", "@2000-02-29 12:00:00"]
    try:
        with torture.phase("clock jumps", 0.06, torture.plan.seconds(6, 50)) as span:
            for says in jumps[:int(torture.plan.seconds(3, 6))]:
                _jump(torture, fake, says)
            while span.goes_on:
                time.sleep(0.1)
    finally:
        fake.says("+0")
        torture.board.stop()
        torture.board.run_with({})
        sweep()
    torture.board.start_ready()


def _jump(torture: Torture, fake: FakeClock, says: str) -> None:
    fake.says(says)
    torture.add("clock jumps")
    torture.publisher.offer(50, 0.5)
    time.sleep(torture.draw.uniform(0.5, torture.plan.seconds(1, 4)))
    if torture.draw.random() < 0.5:
        torture.board.kill()
        torture.board.start()
    _answers_within(30, torture, "clock", "a clock jump", says)


def slow_disk(torture: Torture) -> None:
    """How many messages a second are acknowledged while each sync takes longer."""
    disk = SlowDisk(torture.folder)
    if not disk.is_there:
        torture.skipped.append("a slow disk: there is no C compiler")
        return tell(f"- SKIPPED: {torture.skipped[-1]}")
    torture.publisher.withdraw()
    for milliseconds in (0, 10, 50):
        torture.board.stop()
        torture.board.run_with(disk.environment(milliseconds))
        torture.board.start_ready()
        # What the last stop left unanswered is not waited for.
        torture.publisher.window = WINDOW + torture.publisher.outstanding
        torture.publisher.offer(1_000_000, 1)
        time.sleep(1)
        before, begun = torture.ledger.acknowledged, time.monotonic()
        time.sleep(torture.plan.seconds(1.5, 5))
        count = torture.ledger.acknowledged - before
        rate = round(count / (time.monotonic() - begun))
        torture.publisher.withdraw()
        torture.figures[f"messages/s, each sync {milliseconds} ms longer"] = rate
        tell(f"✓ {rate} messages/s acknowledged with {milliseconds} ms a sync")


ALL = (calm_begin, kills, network, broker, bus, everything, full_disk, own_full_disk,
       broken_disk, clock, half_open)
