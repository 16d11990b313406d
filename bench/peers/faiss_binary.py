"""FAISS IndexBinaryMultiHash over the benchmark's own files, one thread.

Reads fingerprints and queries (8 bytes each, little-endian), writes the answers as three files
(limits, distances, ids) for the benchmark to compare with its own, and prints one line of JSON.

FAISS reports distances below the radius it is given, so the bound plus one is passed.
"""

import argparse
import json
import os
import time

import faiss
import numpy as np


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fingerprints")
    parser.add_argument("queries")
    parser.add_argument("answers", help="prefix of the files to write")
    parser.add_argument("--within", type=int, required=True)
    parser.add_argument("--hashes", type=int, default=4)
    parser.add_argument("--bits", type=int, default=16)
    parser.add_argument("--nflip", type=int, default=0)
    args = parser.parse_args()

    faiss.omp_set_num_threads(1)
    stored = np.fromfile(args.fingerprints, dtype=np.uint8).reshape(-1, 8)
    queries = np.fromfile(args.queries, dtype=np.uint8).reshape(-1, 8)
    index = faiss.IndexBinaryMultiHash(64, args.hashes, args.bits)
    before = resident_bytes()
    start = time.process_time()
    index.add(stored)
    build = time.process_time() - start
    held = resident_bytes() - before

    index.nflip = args.nflip
    index.range_search(queries[: len(queries) // 10 + 1], args.within + 1)
    start = time.process_time()
    limits, distances, ids = index.range_search(queries, args.within + 1)
    search = time.process_time() - start

    limits.astype("<u8").tofile(args.answers + ".limits")
    distances.astype("<u4").tofile(args.answers + ".distances")
    ids.astype("<u8").tofile(args.answers + ".ids")
    print(json.dumps({
        "version": faiss.__version__,
        "build_seconds": build,
        "search_seconds": search,
        "bytes": held,
    }))


if __name__ == "__main__":
    main()
