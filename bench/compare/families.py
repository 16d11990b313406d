"""The four comparisons: contenders, inputs, and scores.

A family gives tables: a title, a sentence on the work, and one row per contender. Ratios are relative to the first of ours.
"""

import json
import random
import shutil

import score
import releases
import sets
from contender import Contender, Failed, Seen, alternating, log


def row(contender, seen, ground):
    """The fields of every row."""
    base = {"tool": contender.name, "release": ground.version(contender), "ours": contender.ours}
    if isinstance(seen, Failed):
        return {**base, "why_not": str(seen)}
    return {**base, "setting": seen.report.get("setting", ""), "peak_bytes": seen.peak}


def ratios(rows, key):
    """Adds the ratio of each row to our first one."""
    ours = next((it[key] for it in rows if it["ours"] and key in it), None)
    for it in rows:
        if key in it and ours:
            it[f"{key}_ratio"] = it[key] / ours


def fingerprint(ground, pages, rounds):
    """Texts to fingerprints, scored by the separation of near-duplicate pairs from others."""
    contenders = [
        Contender("hapax, bits", "hapax-bits", ours=True),
        Contender("hapax, sketch", "hapax-sketch", ours=True),
        Contender("gaoya SimHash", "gaoya-simhash"),
        Contender("gaoya MinHash", "gaoya-minhash"),
        Contender("rensa", "rensa", releases.RENSA),
        Contender("datasketch", "datasketch", releases.DATASKETCH),
        Contender("simhash, words", "simhash-words", releases.SIMHASH),
        Contender("simhash, text", "simhash-text", releases.SIMHASH),
    ]
    texts, pairs, out = (ground.scratch / name for name in ("texts.jsonl", "pairs.json", "likeness.json"))
    body = Contender("hapax", "extract", options={"main_content": False})
    ground.run(body, "extract", {"pages": pages.path, "out": texts})
    pairs.write_text(json.dumps([(a, b) for a, b, _ in pages.pairs]))
    scores = {}

    def run(contender):
        seen = ground.run(contender, "fingerprint", {"texts": texts, "pairs": pairs, "out": out})
        scores[contender.name] = score.separation(json.loads(out.read_text()), pages.pairs)
        return seen

    rows = item_by_item(ground, alternating(ground, contenders, rounds, run, len(pages.ids)), scores)
    scored = next((it for it in rows if "pairs" in it), {"pairs": 0, "alike": 0})
    work = (f"{len(pages.ids):,} texts of {pages.name} in memory, one thread; {scored['pairs']:,} pairs scored, "
            f"{scored['alike']:,} of them near-duplicates")
    return {"family": "fingerprint", "size": len(pages.ids), "title": f"Fingerprints of {pages.name}", "work": work, "rows": rows}


def item_by_item(ground, runs, scores):
    """Rows of contenders that process one item at a time, with their scores."""
    rows = []
    for contender, seen in runs:
        made = row(contender, seen, ground)
        if isinstance(seen, Seen):
            count = seen.report["items"]
            made |= {"items": count, "seconds_each": seen.report["seconds"] / count,
                     "bytes_each": seen.report["bytes"] / count, **scores[contender.name]}
        rows.append(made)
    ratios(rows, "seconds_each")
    return rows


def planted(count, queries, within, seed, scratch):
    """Random fingerprints; every tenth query has a neighbour at 1 to `within` bits."""
    source = random.Random(seed)
    stored, asked = source.randbytes(8 * count), bytearray()
    for number in range(queries):
        bits = source.getrandbits(64)
        if number % 10 == 0:
            at = 8 * source.randrange(count)
            bits = int.from_bytes(stored[at : at + 8], "little")
            for bit in source.sample(range(64), source.randint(1, within)):
                bits ^= 1 << bit
        asked += bits.to_bytes(8, "little")
    paths = scratch / "stored.u64", scratch / "queries.u64"
    for path, content in zip(paths, (stored, asked)):
        path.write_bytes(content)
    return paths


def near_contenders(count, within):
    """All contenders, with the fastest settings for this size and bound."""
    bits = max(12, min(24, count.bit_length() - 1))
    multi = [
        # Of four blocks of 16 bits one has at most k / 4 flips; of three of 21 bits, k / 3.
        Contender(f"FAISS MultiHash {hashes}x{width}", "faiss-multihash", releases.FAISS,
                  {"hashes": hashes, "bits": width, "flips": within // hashes})
        for hashes, width in [(4, 16), (3, 21)]
    ]
    return [
        Contender("hapax, batch", "hapax-batch", ours=True),
        Contender("hapax, one by one", "hapax", ours=True),
        Contender("mih-rs", "mih-rs"),
        Contender("gaoya", "gaoya", most=2_000_000, beyond="1 kB each in memory"),
        Contender("FAISS Flat", "faiss-flat", releases.FAISS),
        *multi,
        Contender("FAISS Hash", "faiss-hash", releases.FAISS, {"bits": bits, "flips": min(within, 3)}),
        Contender("USearch", "usearch", releases.USEARCH, most=2_000_000,
                  beyond="0.3 ms to add one"),
    ]


def near(ground, count, within, asked, scored, rounds):
    """All neighbours within a distance, compared with a linear scan."""
    stored, queries = planted(count, asked, within, 11, ground.scratch)
    out = ground.scratch / "found.json"
    job = {"stored": stored, "queries": queries, "scored": scored, "within": within, "out": out}
    log(f"truth: {scored} queries against {count:,}")
    ground.run(Contender("truth", "truth"), "near", {**job, "limit": scored})
    truth, scores = json.loads(out.read_text()), {}
    quick = {"hapax-batch", "hapax", "mih-rs"}

    def run(contender):
        limit = asked if contender.tool in quick else scored
        seen = ground.run(contender, "near", {**job, "limit": limit})
        scores[contender.name] = score.answers(json.loads(out.read_text()), truth)
        return seen

    rows = []
    for contender, seen in alternating(ground, near_contenders(count, within), rounds, run, count):
        made = row(contender, seen, ground)
        if isinstance(seen, Seen):
            made |= {"items": seen.report["items"], "seconds_each": seen.report["seconds"] / seen.report["items"],
                     "build_seconds": seen.report["build"], "bytes_each": seen.report["bytes"] / count,
                     **scores[contender.name]}
        rows.append(made)
    ratios(rows, "seconds_each")
    work = (f"{count:,} random fingerprints, one thread; every tenth query has a neighbour at 1 to {within} bits; "
            f"{scored:,} queries compared with a linear scan")
    return {"family": "near", "size": [count, within], "title": f"All within {within} bits of {count:,}", "work": work, "rows": rows}


def dedup(ground, pages, rounds):
    """HTML pages to the list of removed documents, on all cores."""
    contenders = [
        Contender("hapax dedup", "hapax", ours=True),
        Contender("rensa", "rensa", releases.RENSA),
        Contender("datasketch", "datasketch", releases.DATASKETCH),
        Contender("text-dedup", "text-dedup", releases.TEXT_DEDUP),
        Contender("simhash", "simhash", releases.SIMHASH),
        Contender("semhash", "semhash", releases.SEMHASH, most=1000,
                  beyond="0.15 s of CPU time a page", heavy="its model brings 5 GB of PyTorch"),
    ]
    out, scores = ground.scratch / "removed.json", {}

    def run(contender):
        if contender.ours:
            folder = ground.scratch / "clean"
            shutil.rmtree(folder, ignore_errors=True)
            command = [ground.hapax, "dedup", pages.path, "--out", folder, "--quiet"]
            seen = ground.watched(command, answers=False)
            seen.report["setting"] = "its defaults"
            kept = {json.loads(line)["id"] for line in open(folder / "kept.jsonl", encoding="utf-8")}
            removed = set(pages.ids) - kept
        else:
            seen = ground.run(contender, "dedup", {"pages": pages.path, "out": out, "scratch": ground.scratch})
            removed = set(json.loads(out.read_text()))
        scores[contender.name] = score.removal(removed, pages)
        return seen

    rows = []
    for contender, seen in alternating(ground, contenders, rounds, run, len(pages.ids)):
        made = row(contender, seen, ground)
        if isinstance(seen, Seen):
            made |= {"items": len(pages.ids), "wall_seconds": seen.wall, "cpu_seconds": seen.cpu,
                     "bytes_each": seen.peak / len(pages.ids), **scores[contender.name]}
        rows.append(made)
    ratios(rows, "wall_seconds")
    ratios(rows, "cpu_seconds")
    work = (f"{len(pages.ids):,} pages of {pages.name} ({pages.size / 1e6:.1f} MB of JSON lines) to the list of removed documents, "
            "all cores, a process each; start of the process included")
    return {"family": "dedup", "size": len(pages.ids), "title": f"Cleaning {pages.name}", "work": work, "rows": rows}


def extract(ground, pages, rounds):
    """HTML to text, scored by the separation of pairs with the same fingerprint, and by words where an article is known."""
    contenders = [
        Contender("hapax", "extract", options={"main_content": False}, ours=True),
        Contender("hapax, main content", "extract", options={"main_content": True}, ours=True),
        Contender("selectolax", "selectolax", releases.LEXBOR),
        Contender("resiliparse", "resiliparse", releases.RESILIPARSE),
        Contender("resiliparse, main content", "resiliparse-main", releases.RESILIPARSE),
        Contender("trafilatura, fast", "trafilatura-fast", releases.TRAFILATURA),
        Contender("trafilatura", "trafilatura", releases.TRAFILATURA),
    ]
    out, pairs, likeness = (ground.scratch / name for name in ("texts.jsonl", "pairs.json", "likeness.json"))
    pairs.write_text(json.dumps([(a, b) for a, b, _ in pages.pairs]))
    by_sketch = Contender("hapax, sketch", "hapax-sketch")
    scores = {}

    def run(contender):
        seen = ground.run(contender, "extract", {"pages": pages.path, "out": out})
        if contender.name not in scores:
            result = {}
            if score.enough(pages.pairs):
                ground.run(by_sketch, "fingerprint", {"texts": out, "pairs": pairs, "out": likeness})
                result = score.separation(json.loads(likeness.read_text()), pages.pairs)
            if pages.articles:
                lines = map(json.loads, open(out, encoding="utf-8"))
                texts = {line["id"]: line.get("text", "") for line in lines if line["id"] in pages.articles}
                result["words"] = score.word_agreement(texts, pages.articles, sets.words)
            scores[contender.name] = result
        return seen

    rows = item_by_item(ground, alternating(ground, contenders, rounds, run, len(pages.ids)), scores)
    work = f"{len(pages.ids):,} pages of {pages.name} in memory ({pages.size / 1e6:.1f} MB), decoded, one thread"
    if pages.articles:
        work += f"; articles of {len(pages.articles)} of them written down by hand"
    return {"family": "extract", "size": len(pages.ids), "title": f"HTML to text, {pages.name}", "work": work, "rows": rows}
