"""FAISS and USearch among the same fingerprints, one thread.

Fingerprints and queries are files of 8 bytes each. FAISS reports distances below the radius it is given, so the
bound plus one is passed. USearch has no search by radius: it is asked for the nearest few, and those within the bound count.
"""

import measure
import numpy as np

# USearch: neighbours asked for; links a node and breadth of building and searching are its defaults.
NEAREST, LINKS, BREADTH_BUILDING, BREADTH_SEARCHING = 10, 16, 128, 64


def faiss_index(tool, options):
    import faiss

    faiss.omp_set_num_threads(1)
    if tool == "faiss-flat":
        return faiss.IndexBinaryFlat(64), "Flat"
    if tool == "faiss-hash":
        index = faiss.IndexBinaryHash(64, options["bits"])
        name = f"Hash of {options['bits']} bits"
    else:
        index = faiss.IndexBinaryMultiHash(64, options["hashes"], options["bits"])
        name = f"MultiHash {options['hashes']} x {options['bits']} bits"
    index.nflip = options["flips"]
    return index, f"{name}, nflip {options['flips']}"


def with_faiss(stored, queries, job):
    index, setting = faiss_index(job["tool"], job)
    before = measure.resident_bytes()
    _, build = measure.cpu(lambda: index.add(stored))
    held = measure.resident_bytes() - before
    (limits, _, ids), seconds = measure.repeated(lambda: index.range_search(queries, job["within"] + 1))
    found = [ids[limits[i] : limits[i + 1]].tolist() for i in range(job["scored"])]
    return setting, seconds, build, held, found


def with_usearch(stored, queries, job):
    from usearch.index import Index

    index = Index(
        ndim=64, metric="hamming", dtype="b1", connectivity=LINKS, expansion_add=BREADTH_BUILDING,
        expansion_search=BREADTH_SEARCHING,
    )
    keys = np.arange(len(stored), dtype=np.uint64)
    before = measure.resident_bytes()
    _, build = measure.cpu(lambda: index.add(keys, stored, threads=1))
    held = measure.resident_bytes() - before
    matches, seconds = measure.repeated(lambda: index.search(queries, NEAREST, threads=1))
    found = []
    for i in range(job["scored"]):
        count = matches.counts[i]
        near = matches.distances[i][:count] <= job["within"]
        found.append(matches.keys[i][:count][near].tolist())
    setting = f"HNSW, {LINKS} links, breadth {BREADTH_BUILDING} and {BREADTH_SEARCHING}, nearest {NEAREST}"
    return setting, seconds, build, held, found


def main():
    job = measure.job()
    stored = np.fromfile(job["stored"], dtype=np.uint8).reshape(-1, 8)
    queries = np.fromfile(job["queries"], dtype=np.uint8).reshape(-1, 8)[: job["limit"]]
    search = with_usearch if job["tool"] == "usearch" else with_faiss
    setting, seconds, build, held, found = search(stored, queries, job)
    measure.write(job["out"], found)
    measure.report(setting, seconds, len(queries), build=build, bytes=held)


main()
