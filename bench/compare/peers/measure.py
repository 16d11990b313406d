"""What every peer in Python reports about itself, as `bench/compare/src/measure.rs` does for Rust.

A peer gets its job as one argument in JSON and prints one line of JSON: how it was set, CPU seconds of all its
threads, and how many pages or queries that was. Its peak of memory is seen from outside.
"""

import ctypes
import json
import os
import sys
import time


def job():
    return json.loads(sys.argv[1])


def report(setting, seconds, items, **more):
    print(json.dumps({"setting": setting, "seconds": seconds, "items": items, **more}))


# CPU seconds of work at least: the clock of a process errs by some milliseconds.
LEAST = 0.3


def repeated(work):
    """What `work` returns, and the CPU seconds of one run, of as many as it takes to be measured."""
    result, spent = cpu(work)
    times = 1
    while spent < LEAST:
        result, took = cpu(work)
        spent += took
        times += 1
    return result, spent / times


def cpu(work):
    """What `work` returns, and how many CPU seconds it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def documents(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out)


def resident_bytes():
    """Bytes in memory now; what was freed before is given back first, so that growth is seen. 0 where nobody tells."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        pass
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def words(text):
    return text.lower().split()


def runs(text, size=5):
    """All runs of five words; one of all where there are fewer."""
    found = words(text)
    return [" ".join(found[i : i + size]) for i in range(max(1, len(found) - size + 1))] if found else []
