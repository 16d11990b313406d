"""Runs one command and writes its cost to a file: exit code, wall and CPU seconds, peak memory.

    python3 -I -S bench/compare/watch.py FILE SECONDS COMMAND...

The peak memory of a process is at least that of its parent, so this program is small. SECONDS limits the CPU time.
"""

import json
import os
import resource
import sys
import time


def main():
    path, seconds, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error}", file=sys.stderr)
            os._exit(127)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    # Kibibytes on Linux, bytes on macOS.
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    code = os.waitstatus_to_exitcode(status)
    cost = {"code": code, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak": peak}
    with open(path, "w", encoding="ascii") as out:
        json.dump(cost, out)


main()
