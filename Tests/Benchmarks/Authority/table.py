"""One table of what was measured."""

from statistics import median


def table(figures: dict) -> str:
    rows = [("what", "heartbeat", "refresh", "echo in C"), ("---", "--:", "--:", "--:")]
    load = {mix: [row for row in figures["load"] if row["mix"] == mix]
            for mix in ("heartbeat", "refresh")}
    echo = figures["echo"]

    def line(what: str, form: str, key: str, echo_key: str | None = None) -> None:
        cells = [form.format(_median(load[mix], key)) for mix in load]
        rows.append((what, *cells, form.format(_median(echo, echo_key or key))))

    line("a second", "{:,.0f}", "rate")
    line("p50 ms", "{:.1f}", "p50")
    line("p95 ms", "{:.1f}", "p95")
    line("p99 ms", "{:.1f}", "p99")
    line("CPU µs a request", "{:.0f}", "authority_us", "echo_us")
    line("the core's share", "{:.0%}", "busy")
    line("broker's CPU µs a request", "{:.0f}", "broker_us")
    rows.append(("the load's own CPU µs", *(
        f"{_median(load[mix], 'maker_us'):.0f}" for mix in load), ""))
    for what, key, echo_key in (("a second, ratio to the echo", "rate", "rate"),
                                ("CPU, ratio to the echo", "authority_us", "echo_us")):
        rows.append((what, *(
            f"{_median(load[mix], key) / _median(echo, echo_key):.2f} ×" for mix in load), ""))
    memory = figures["memory"]
    more = [
        f"provisioned a second: {figures['provisioned_per_second']:.0f}",
        f"PSS of the authority: {memory['pss']:.1f} MB, database {memory['database']:.0f} MB",
    ]
    for count in sorted({row["sessions"] for row in figures["stored"]}):
        found = [row for row in figures["stored"] if row["sessions"] == count]
        more.append(
            f"{count:,} sessions stored: {_median(found, 'authority_us'):.0f} CPU µs a "
            f"heartbeat, {_median(found, 'rate'):,.0f} a second, "
            f"p99 {_median(found, 'p99'):.1f} ms")
    more.append(f"PSS with these stored: {figures['memory_stored']['pss']:.1f} MB, "
                f"database {figures['memory_stored']['database']:.0f} MB")
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", *(f"- {text}" for text in more)])


def _median(rows: list[dict], key: str) -> float:
    return median(row[key] for row in rows)
