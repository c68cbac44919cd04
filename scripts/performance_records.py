"""Records of bench/records: found, selected, and written as Markdown."""
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "bench" / "records"


def record(path):
    """A record of bench/records, or None where it has not been measured."""
    file = RECORDS / path
    return json.loads(file.read_text()) | {"path": path} if file.exists() else None


def number(value):
    """Three significant digits, and no more decimals than those: 6.24 -> 6.2, 89.6 -> 90, 2632.1 -> 2632."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value):
    return "" if value is None else f"{value:.2f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def source(*records):
    """The line under a table: which records, measured at which commit."""
    def commit(r):  # a record of another library has none
        return f" ({r['commit'][:7]})" if "commit" in r else ""
    parts = [f"[{r['path']}](../bench/records/{r['path']}){commit(r)}" for r in records if r]
    return "Records: " + ", ".join(parts) + ".\n"


def rows_of(rec, **wanted):
    """The results of a record whose fields have these values; each was verified when it was measured."""
    if rec is None:
        return []
    found = [r for r in rec["results"] if all(r.get(k) == v for k, v in wanted.items())]
    wrong = [r for r in found if "verified" in r and not r["verified"]["right"]]
    assert not wrong, f"{rec['path']} holds a result that was not verified: {wrong[0]}"
    return found


def one(rec, field, **wanted):
    found = rows_of(rec, **wanted)
    return found[0][field] if found else None


def best_peer(row, prefix=""):
    """The fastest peer whose result was right."""
    times = [p["median_us"] for p in row.get("peers", []) if p["status"] == "ok" and p["name"].startswith(prefix)]
    return min(times) if times else None


def span(values):
    values = [v for v in values if v is not None]
    return f"{min(values):.2f} to {max(values):.2f}"
