"""What is done to the parts of a fleet, one after the other, while the boards go on."""

import time

import invariants
import simulation
from fleet import Fleet, milliseconds, tell
from invariants import Finding
from telemetry import Window, account


def pair(fleet: Fleet) -> None:
    fleet.simulation.start()
    fleet.simulation.wait_paired(tell)
    fleet.paired_at = time.monotonic()
    tell(f"✓ {fleet.plan.boards} boards paired through {fleet.replicas[0].name}")


def steady(fleet: Fleet) -> None:
    fleet.run(fleet.plan.between)


def kill_authorities(fleet: Fleet) -> None:
    """One after the other, each under load; the other one goes on."""
    for replica in fleet.replicas:
        with fleet.event(f"SIGKILL of {replica.name}"):
            replica.kill()
            time.sleep(fleet.plan.down)
            replica.start()
        fleet.run(fleet.plan.between)


def kill_both(fleet: Fleet) -> None:
    if len(fleet.replicas) < 2:
        return
    with fleet.event("SIGKILL of both authorities at once"):
        for replica in fleet.replicas:
            replica.kill()
        time.sleep(fleet.plan.down)
        for replica in fleet.replicas:
            replica.start()
    fleet.run(fleet.plan.between)


def kill_broker(fleet: Fleet) -> None:
    """What it held in memory is gone, and all connections with it."""
    with fleet.event("SIGKILL of the broker"):
        fleet.consumer.expect_loss()
        begin = milliseconds()
        fleet.broker.program.kill()
        time.sleep(fleet.plan.down)
        fleet.broker.start()
        fleet.consumer.wait(60)
        fleet.kills.append(Window(begin, milliseconds()))
    fleet.run(fleet.plan.between + fleet.plan.spread)


def crash_database(fleet: Fleet) -> None:
    if not fleet.postgres:
        return
    with fleet.event("crash of PostgreSQL (stop -m immediate)"):
        fleet.postgres.crash()
        time.sleep(fleet.plan.down)
        fleet.postgres.start()
    fleet.run(fleet.plan.between)


def restart_in_turn(fleet: Fleet) -> None:
    """As an upgrade does it: SIGTERM, and the next one only when this one is back."""
    for replica in fleet.replicas:
        with fleet.event(f"SIGTERM of {replica.name} and a new start"):
            replica.stop_well()
            replica.start()
        fleet.run(fleet.plan.between / 2)


def calm(fleet: Fleet) -> None:
    """No part is touched any more until each board has been heard, and each thief."""
    fleet.run(max(0.0, fleet.plan.thefts_end - fleet.age))
    tell(f"… calm for {fleet.plan.calm:.0f} s at most: each board is to be heard once more")
    end = time.monotonic() + fleet.plan.calm
    while time.monotonic() < end:
        fleet.run(2)
        if invariants.all_heard(fleet.records, fleet.calm_since).holds:
            break
    fleet.sizes = fleet.memory()


ALL = (pair, steady, kill_authorities, kill_both, kill_broker, crash_database, restart_in_turn,
       calm)


def judged(fleet: Fleet, said: dict) -> list[Finding]:
    """After the last answer: what the store, the boards and the consumer say."""
    told = simulation.told(said, fleet.plan)
    findings = invariants.judge(fleet.records, told, fleet.calm_since)
    findings.append(account(fleet.consumer.book, simulation.sent(said), fleet.kills))
    return findings
