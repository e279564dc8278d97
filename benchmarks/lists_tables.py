"""The tables of docs/lists.md, made of the rows that benchmarks/lists.py has kept."""

from __future__ import annotations

from typing import Any

import numpy as np

Row = dict[str, Any]
Cells = dict[tuple[str, ...], list[Row]]


def places(results: dict[str, Row]) -> dict[str, str]:
    """Return the tables by the place in the page that they belong to; a place without any row stays as it is."""
    kinds: dict[str, Cells] = {}
    for key, row in results.items():
        kind, *about, _ = key.split(":")
        kinds.setdefault(kind, {}).setdefault(tuple(about), []).append(row)
    lists = dict(sorted(kinds.get("list", {}).items(), key=lambda one: (one[0][:2], int(one[0][2]))))
    made = {
        "lists": power(lists, "many"),
        "lists few": power(lists, "few"),
        "detection": detection(lists, kinds.get("peers", {})),
        "small p": uniform(lists),
        "calibration": calibration(lists, "proba"),
        "calibration adapted": calibration(lists, "adapted"),
        "files": files(kinds.get("file", {})),
        "bad cases": bad_cases(kinds.get("bad", {})),
        "real sets": real_sets(kinds.get("real", {})),
    }
    return {place: text for place, text in made.items() if text}


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown; nothing without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def power(lists: Cells, size: str) -> str:
    """Means over seeds; the false share with its standard error."""
    head = ["curves", "training", "seeds", "list: power / false share", "bound", "exceeded"]
    head += ["p not below 1/(pool + 1)", "oracle"]
    rows = []
    for (setting, number, n), seeds in lists.items():
        found = [row[size] for row in seeds]
        mean = {name: float(np.mean([row[name] for row in found])) for name in found[0]}
        wrong = np.array([row["false"] for row in found])
        error = float(wrong.std(ddof=min(1, len(wrong) - 1))) / np.sqrt(len(wrong))
        over = sum(row["false"] > row["bound"] for row in found)
        rows.append(
            [
                f"{setting} {number}",
                f"{int(n):,}",
                f"{len(found)}",
                f"{mean['power']:.2f} / {mean['false']:.3f} ± {error:.3f}",
                f"{mean['bound']:.2f}",
                f"{over} of {len(found)}",
                f"{mean['power_pool']:.2f} / {mean['false_pool']:.3f}",
                f"{mean['oracle']:.2f}",
            ]
        )
    return table(head, rows)


# Likelihood ratio of the true generating densities, 15,000 test curves (`python -m reproduction limits`).
LIMITS = {("printed", "1"): "0.980 / 1.000 / 0.998", ("printed", "2"): "0.906 / 0.980 / 0.991"}


def detection(lists: Cells, others: Cells) -> str:
    """MCC, area under the curve and rank-weighted score, beside other methods' and the limit."""
    rows = []
    for (setting, number, n), seeds in lists.items():
        ours = np.mean([row["detection"] for row in seeds], axis=0)
        beside = others.get((setting, number, n), [])
        cells = [
            " / ".join(f"{one:.3f}" for one in np.mean([row[name] for row in beside], axis=0))
            if beside
            else ""
            for name in ("LOF", "KNN")
        ]
        ours_words = " / ".join(f"{one:.3f}" for one in ours)
        limit = LIMITS.get((setting, number), "")
        rows.append([f"{setting} {number}", f"{int(n):,}", str(len(seeds)), ours_words, *cells, limit])
    return table(["curves", "training", "seeds", "badac", "LOF", "KNN", "limit"], rows)


def uniform(lists: Cells) -> str:
    """P(p <= t) of known objects over t: 1 where p-values are right."""
    rows = []
    for (setting, number, n), seeds in lists.items():
        found = np.array([row["uniform"] for row in seeds])
        error = found.std(axis=0, ddof=min(1, len(found) - 1)) / np.sqrt(len(found))
        cells = [f"{one:.2f} ± {e:.2f}" for one, e in zip(found.mean(axis=0), error, strict=True)]
        rows.append([f"{setting} {number}", f"{int(n):,}", str(len(seeds)), *cells])
    return table(["curves", "training", "seeds", "t = 0.0001", "0.001", "0.01", "0.1"], rows)


def calibration(lists: Cells, which: str) -> str:
    """Stated and true share of anomalies by tenths of `anomaly_proba`, all seeds together, and the Bayes list."""
    rows = []
    for (setting, number, n), every in lists.items():
        # Rows that were kept before a probability was made as it is now do not have it.
        seeds = [row for row in every if which in row]
        if not seeds:
            continue
        stated, true, count = (
            np.sum([row[which][name] for row in seeds], axis=0) for name in ("stated", "true", "count")
        )
        cells = [
            f"{s / c:.2f} / {t / c:.2f} ({c})" if c else ""
            for s, t, c in zip(stated, true, count.astype(int), strict=True)
        ]
        wrong = np.array([row[which]["bayes_false"] for row in seeds])
        error = float(wrong.std(ddof=min(1, len(wrong) - 1))) / np.sqrt(len(wrong))
        about = [f"{setting} {number}", f"{int(n):,}", str(len(seeds))]
        rows.append([*about, *cells[1:], f"{wrong.mean():.3f} ± {error:.3f}"])
    tenths = [f"from {k / 10:.1f}" for k in range(1, 10)]
    return table(["curves", "training", "seeds", *tenths, "Bayes list: false share"], rows)


def files(surveys: Cells) -> str:
    """Lists of surveys in files, by the command line."""
    rows = []
    for (setting, number, n_train, n_new), seeds in sorted(surveys.items()):
        mean = {name: float(np.mean([row[name] for row in seeds])) for name in seeds[0]}
        found = f"{mean['power']:.2f} / {mean['false']:.3f}"
        cells = [f"{setting} {number}", f"{int(n_train):,}", f"{int(n_new):,}", str(len(seeds))]
        rows.append([*cells, f"{mean['listed']:.0f}", found, f"{mean['bound']:.2f}", f"{mean['cpu']:.0f}"])
    head = [
        "curves",
        "training",
        "new",
        "seeds",
        "on the list",
        "power / false share",
        "bound",
        "CPU s of `badac rank`",
    ]
    return table(head, rows)


def bad_cases(cases: Cells) -> str:
    """What a list holds and says where things go wrong."""
    rows = []
    for (name,), seeds in sorted(cases.items()):
        held = [row["listed"] for row in seeds]
        wrong = [row["false"] for row in seeds]
        span = f"{min(held)}" if min(held) == max(held) else f"{min(held)} to {max(held)}"
        rows.append([name, str(len(seeds)), span, f"{np.mean(wrong):.2f}", seeds[0]["words"]])
    return table(
        ["case", "seeds", "objects on the list", "false among them, mean", "what is said (first seed)"], rows
    )


def real_sets(sets: Cells) -> str:
    """Left-out p-values of known objects, and lists with each class left out."""
    levels = ["0.001", "0.01", "0.05", "0.1", "0.5"]
    rows = []
    for (name,), (row, *_) in sorted(sets.items()):
        shares = [f"{share:.4f} ± {error:.4f}" for share, error in row["uniform"]]
        lists = "; ".join(f"{one['class']}: {one['power']:.2f} / {one['false']:.2f}" for one in row["lists"])
        rows.append([name, f"{row['known']:,}", *shares, lists])
    return table(
        [
            "set",
            "known objects",
            *(f"P(p <= {one})" for one in levels),
            "class left out: power / false share",
        ],
        rows,
    )
