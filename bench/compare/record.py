"""Markdown tables: the record of a run, and the part of it that the documentation shows.

The record has that table between two comments; `cargo xtask tidy` checks that the documentation's is the same.
"""

import re

BEGIN, END = "<!-- compare: begin -->", "<!-- compare: end -->"


def number(value, digits=3):
    """A number with this many significant digits and grouped thousands."""
    if value >= 100:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def times(row, key):
    return "**1**" if row.get("reference") else number(row[f"{key}_ratio"])


def share(value):
    return f"{value:.4f}"


def megabytes(row):
    return number(row["peak_bytes"] / 1e6)


def micros(row):
    return number(row["seconds_each"] * 1e6)


COLUMNS = {
    "fingerprint": [
        ("texts", lambda r: f"{r['items']:,}"), ("precision", lambda r: share(r["precision"])),
        ("recall", lambda r: share(r["recall"])), ("in order", lambda r: share(r["order"])), ("µs a text", micros),
        ("times ours", lambda r: times(r, "seconds_each")), ("peak MB", megabytes),
        ("bytes a page", lambda r: number(r["bytes_each"])),
    ],
    "near": [
        ("queries", lambda r: f"{r['items']:,}"),
        ("found, of", lambda r: f"{r['right']:,} of {r['there']:,}"), ("precision", lambda r: share(r["precision"])),
        ("recall", lambda r: share(r["recall"])), ("µs a query", micros),
        ("times ours", lambda r: times(r, "seconds_each")), ("build s", lambda r: number(r["build_seconds"])),
        ("peak MB", megabytes), ("bytes a page", lambda r: number(r["bytes_each"])),
    ],
    "dedup": [
        ("pages", lambda r: f"{r['items']:,}"), ("removed", lambda r: f"{r['removed']:,}"),
        ("precision", lambda r: share(r["precision"])), ("recall", lambda r: share(r["recall"])),
        ("wall s", lambda r: number(r["wall_seconds"])), ("CPU s", lambda r: number(r["cpu_seconds"])),
        ("times ours", lambda r: times(r, "cpu_seconds")), ("wall times ours", lambda r: times(r, "wall_seconds")),
        ("peak MB", megabytes), ("peak bytes a page", lambda r: number(r["bytes_each"])),
    ],
    "extract": [
        ("pages", lambda r: f"{r['items']:,}"),
        ("precision", lambda r: share(r["precision"]) if "precision" in r else "-"),
        ("recall", lambda r: share(r["recall"]) if "recall" in r else "-"),
        ("words of the article", lambda r: share(r["words"]) if "words" in r else "-"),
        ("µs a page", micros), ("times ours", lambda r: times(r, "seconds_each")), ("peak MB", megabytes),
        ("bytes a page", lambda r: number(r["bytes_each"])),
    ],
}

MEANING = {
    "fingerprint": "*precision*, *recall*: near-duplicate pairs at the tool's best bound; *in order*: probability that a "
                   "near-duplicate pair gets a higher similarity than another. *bytes a page*: size of what is compared.",
    "near": "*found, of*: correct answers, and how many there are. *bytes a page*: memory that the index added to the process.",
    "dedup": "*precision*: share of removed pages with a near-duplicate (exact Jaccard from 0.8) that is kept; *recall*: share of "
             "pairs from 0.9 that are not both kept. Peak is that of the largest process. Wall time includes other load of the machine.",
    "extract": "*precision*, *recall*: near-duplicate pairs found by our sketch of each tool's text, at its best bound; *words "
              "of the article*: agreement (F1) with the article extracted by hand. *bytes a page*: extracted text.",
}


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "| " + " | ".join(["---"] * len(headings)) + " |"]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def tool(row):
    """The tool's name, with the release after the first word."""
    end = re.match(r"[\w-]+", row["tool"]).end()
    name = row["tool"][:end] + f" {row['release']}".rstrip() + row["tool"][end:]
    return f"**{name}**" if row["ours"] else name


def full_table(made):
    columns = COLUMNS[made["family"]]
    rows = []
    for row in made["rows"]:
        if "why_not" in row:
            cells = [f"no row: {row['why_not']}".replace("|", "/")] + [""] * len(columns)
        else:
            cells = [row["setting"], *(cell(row) for _, cell in columns)]
        rows.append([tool(row), *cells])
    return table(["tool", "setting", *(heading for heading, _ in columns)], rows)


def readme_table(tables):
    """One line per tool and job, including the rows that we lose; the record has the settings."""
    rows = []
    for made in tables:
        if not made.get("in_readme"):
            continue
        key = "cpu_seconds" if made["family"] == "dedup" else "seconds_each"
        job = f"**{made['title']}**"
        for row in made["rows"]:
            if "why_not" in row:
                rows.append([job, tool(row), row["why_not"].replace("|", "/"), "", "", "", ""])
            else:
                precision = share(row["precision"]) if "precision" in row else "-"
                recall = share(row["recall"]) if "recall" in row else "-"
                if "words" in row and "precision" not in row:
                    precision = recall = share(row["words"])
                rows.append([job, tool(row), precision, recall, times(row, key), megabytes(row), number(row["bytes_each"])])
            job = ""
    return table(["job", "tool", "precision", "recall", "CPU time, times ours", "peak MB", "bytes a page"], rows)


def markdown(run):
    """The whole record."""
    parts = [
        f"# Hapax and its peers, {run['date']}", "",
        f"{run['machine']}; {run['versions']}.", "",
        "Every contender ran in its own process on the same input, alternating with the others; the median run "
        "counts. Memory is the peak of the process. Seconds are CPU seconds of all threads unless a heading says wall. *times "
        "ours* are relative to the first line. *load* is the number of programs that wanted a core: above the number of cores, other "
        "programs ran at the same time, which affects wall time, but hardly CPU time. Meaning of the figures and settings of the tools: "
        "[the guide](../../../docs/benchmarks/compare.md).", "",
    ]
    for made in run["tables"]:
        parts += [f"## {made['title']}", "", f"`{made['command']}`; load {made['load']:.0f}. {made['work']}. {MEANING[made['family']]}",
                  "", full_table(made), ""]
    parts += ["## As the documentation shows it", "", BEGIN, readme_table(run["tables"]), END, ""]
    return "\n".join(parts)
