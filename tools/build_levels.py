"""How the engines that tests build were verified. Each build is noted as (level, reason), the reason being why it was not verified; tests of
every kind append `LEVEL<tab>REASON` lines to the file that the environment variable TUTTI_BUILDS_LOG names."""
import collections

VERIFIED = ("fast", "full")


def read(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return collections.Counter((level, reason) for level, _, reason in (line.partition("\t") for line in lines))


def summary(builds):
    """`builds: N verified fast, M full, K off (reasons)`."""
    totals, rest = collections.Counter(), []
    for (level, reason), count in sorted(builds.items()):
        totals[level if level in VERIFIED else "off"] += count
        if level not in VERIFIED:
            rest.append(f"{count} x {reason or 'NO REASON GIVEN'}")
    return f"builds: {totals['fast']} verified fast, {totals['full']} full, {totals['off']} off" + (f" ({'; '.join(rest)})" if rest else "")


def unexplained(builds):
    """Builds below `fast` verification without a reason."""
    return sum(count for (level, reason), count in builds.items() if level not in VERIFIED and not reason)
