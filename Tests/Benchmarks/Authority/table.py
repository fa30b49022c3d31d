"""Tables of what was measured: medians over the rounds."""

from statistics import median

# What makes two spans of load the same measurement.
_SAME = ("store", "cores", "replicas", "boards", "sessions", "part", "mix")


def table(figures: dict) -> str:
    return "\n\n".join([
        _loads(figures["rows"], figures["echo"]), _claims(figures["claims"]),
        _more(figures)])


def _loads(rows: list[dict], echo: list[dict]) -> str:
    lines = [
        "| store | cores | stored | request | a second | of the echo | p50 ms | p99 ms "
        "| authority µs | store µs | broker µs | bytes written | run again |",
        "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    base = _median(echo, "rate")
    lines += [_line(found, base) for found in _grouped(rows) if "part" not in found[0]]
    lines.append(
        f"| echo in C | 1 | | echo | {base:,.0f} | 1.00 × | {_median(echo, 'p50'):.1f} "
        f"| {_median(echo, 'p99'):.1f} | {_median(echo, 'echo_us'):.0f} | "
        f"| {_median(echo, 'broker_us'):.0f} | | |")
    return "\n".join(lines)


def _line(found: list[dict], base: float) -> str:
    row = found[0]
    rate = _median(found, "rate")
    return (
        f"| {_site(row)} | {row['cores']} | {row['sessions']:,} | {row['mix']} | {rate:,.0f} "
        f"| {rate / base:.2f} × | {_median(found, 'p50'):.1f} | {_median(found, 'p99'):.1f} "
        f"| {_median(found, 'authority_us'):.0f} | {_store(found)} "
        f"| {_median(found, 'broker_us'):.0f} | {_median(found, 'written_bytes'):,.0f} "
        f"| {_median(found, 'lost_races'):.1%} |")


def _claims(claims: list[dict]) -> str:
    lines = ["| store | cores | stored | claims | a second | authority µs | store µs "
             "| broker µs |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in claims:
        before = row["sessions"] - row["count"]
        lines.append(
            f"| {_site(row)} | {row['cores']} | {before:,} | {row['count']:,} | {row['rate']:,.0f} "
            f"| {row['authority_us']:.0f} | {_store([row])} | {row['broker_us']:.0f} |")
    return "\n".join(lines)


def _more(figures: dict) -> str:
    lines = [f"- one more stored session, {_cores(row)}: {row['bytes']:.0f} bytes on disk"
             for row in figures["stored"]]
    lines += [f"- PSS of one authority, {_cores(row)}, {row['sessions']:,} stored: "
              f"{row['pss']:.1f} MB; database {row['database']:.0f} MB"
              for row in figures["memory"]]
    lines += [f"- a start, {_cores(row)}, with {row['boards']:,} boards: {row['seconds']:.1f} s, "
              f"{row['authority_us']:.0f} CPU µs a board" for row in figures["starts"]]
    parted = _grouped([row for row in figures["rows"] if "part" in row])
    for mix, many in (("heartbeat", "heartbeats"), ("refresh", "refreshes")):
        found = {rows[0]["replicas"]: rows for rows in parted if rows[0]["mix"] == mix}
        if {1, 2} <= found.keys():
            one, two = (_median(found[count], "rate") for count in (1, 2))
            lines.append(
                f"- {many} a second with {found[1][0]['part']:.0%} of a core for each authority: "
                f"{one:,.0f} with one, {two:,.0f} with two, {two / one:.2f} ×")
    return "\n".join(lines)


def _grouped(rows: list[dict]) -> list[list[dict]]:
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in _SAME), []).append(row)
    return list(groups.values())


def _site(row: dict) -> str:
    return row["store"] + (f", {row['replicas']} authorities" if row["replicas"] > 1 else "")


def _cores(row: dict) -> str:
    return f"{_site(row)}, {row['cores']} core{'s' if row['cores'] > 1 else ''}"


def _store(rows: list[dict]) -> str:
    return f"{_median(rows, 'postgres_us'):.0f}" if "postgres_us" in rows[0] else ""


def _median(rows: list[dict], key: str) -> float:
    return median(row[key] for row in rows)
