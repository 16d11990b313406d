#!/usr/bin/env bash
# Measures again what README and docs/benchmarks quote, at one commit, on an idle machine; one step is one record.
#
#   bench/measure.sh list       the steps, in order of importance, with rough minutes on two cores
#   bench/measure.sh build      compiles everything first (no measurement); build_search before the step search
#   bench/measure.sh STEP...    measures; --small before the steps tries them with small sizes
#
# DATA is the folder of the sets (web-uci, debdocs, phpdoc, cjk-lohelp, webpages-multisite, querylog), WORK one for what
# is made on the way, RECORDS the folder of the records (bench/records/ and the date).
set -eu
TREE=$(cd "$(dirname "$0")/.." && pwd); DATA=${DATA:-$TREE/bench/out/data}; WORK=${WORK:-$TREE/bench/out/measure}
SMALL=; if [ "${1:-}" = --small ]; then SMALL=1; shift; fi
RECORDS=${RECORDS:-$TREE/bench/records/$(date +%F)}
[ -n "$SMALL" ] && RECORDS=$WORK/small
cd "$TREE"; mkdir -p "$RECORDS" "$WORK"
T=$TREE/target; D=${DIST:-$T/dist}; COMMIT=$(git rev-parse --short=8 HEAD)
MACHINE="$(nproc) cores of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), load $(cut -d' ' -f1 /proc/loadavg) before, commit $COMMIT"
pick() { if [ -n "$SMALL" ]; then echo "$2"; else echo "$1"; fi; }          # pick FULL SMALL
unpack() { mkdir -p "$WORK/$1"; [ -s "$WORK/$1/$2" ] || zstd -dcq --long=27 "$DATA/$1/$2.zst" > "$WORK/$1/$2"; echo "$WORK/$1/$2"; }
head_of() { printf '# %s\n\n`%s`; %s.\n\n' "$1" "$2" "$MACHINE"; }          # head_of TITLE COMMAND

build() {
  cargo build --release -p hapax-cli -p hapax-bench -p hapax-bench-live -p hapax-bench-fingerprint -p hapax-bench-store
  cargo build --release --example write_web -p hapax-synth
  cargo build --release --example suite -p hapax-eval
  CARGO_TARGET_DIR=$T cargo build --release --locked --manifest-path bench/compare/Cargo.toml
  cargo build --profile dist -p hapax-bench-serve
}
build_search() { cargo build --profile dist -p hapax-bench-search -p hapax-cli; }

# --- 1: README and the table of docs/benchmarks/compare.md -----------------------------------------------------------
compare_dedup()       { cargo xtask compare $(pick --full --quick) $(pick "--data $DATA/debdocs" "") $(pick "" "--rounds 1") --out "$RECORDS" dedup; }
compare_near_10m()    { cargo xtask compare $(pick "--full --fingerprints 10000000" --quick) --rounds 1 --out "$RECORDS" near; }
compare_near_1m()     { cargo xtask compare $(pick "--full --fingerprints 1000000" --quick) --rounds 1 --out "$RECORDS" near; }
compare_fingerprint() { cargo xtask compare $(pick --full --quick) $(pick "--data $DATA/debdocs" "") $(pick "" "--rounds 1") --out "$RECORDS" fingerprint; }
compare_articles()    { cargo xtask compare $(pick --full --quick) $(pick "--data $DATA/webpages-multisite" "") --rounds 1 --out "$RECORDS" extract; }
compare_extract()     { cargo xtask compare $(pick --full --quick) $(pick "--data $DATA/debdocs" "") --rounds 1 --out "$RECORDS" extract; }

sizing() {
  local pages=$(pick 1000000 20000)
  { head_of "A million real pages" "python3 bench/dedup/sizing.py web-uci/docs.jsonl.zst debdocs/docs.jsonl.zst phpdoc/docs.jsonl.zst cjk-lohelp/docs.jsonl.zst"
    echo '*Bytes a document* is what the job holds in memory between reading and writing, names included.'; echo
    HAPAX=$T/release/hapax python3 bench/dedup/sizing.py $(for s in $(pick "web-uci debdocs phpdoc cjk-lohelp" "debdocs"); do echo $DATA/$s/docs.jsonl.zst; done)
  } > "$RECORDS/sizing.md"
  "$T/release/examples/write_web" 1 $pages > "$WORK/web.jsonl"
  { printf '\n## A synthetic web\n\n`cargo run --release -p hapax-synth --example write_web 1 %s > m.jsonl`, `hapax dedup m.jsonl --out out -q` with and without `--memory`.\nRead, decide and write are seconds of the wall clock.\n\n' $pages
    echo '| input | pages | --memory | CPU s a million | wall s a million | read s | decide s | write s | bytes a document | peak MB |'
    echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
    for memory in none 400MB; do
      rm -rf "$WORK/out"
      python3 - "$T/release/hapax" "$WORK/web.jsonl" "$WORK/out" $memory $pages <<'P'
import json, resource, subprocess, sys, time
program, pages, out, memory, count = sys.argv[1:]
start = time.perf_counter()
subprocess.run([program, "dedup", pages, "--out", out, "-q", *([] if memory == "none" else ["--memory", memory])], check=True)
wall, used, run, n = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN), json.load(open(out + "/run.json")), int(count) / 1e6
print(f"| synthetic web | {count} | {memory} | {(used.ru_utime + used.ru_stime) / n:.0f} | {wall / n:.0f} | {run['reading_seconds']:.1f} | {run['deciding_seconds']:.1f} | {run['writing_seconds']:.1f} | {run['bytes_per_document']:.0f} | {run['peak_memory'] / 1e6:.0f} |")
P
    done; } >> "$RECORDS/sizing.md"; rm -rf "$WORK/out" "$WORK/web.jsonl"; }

serve_load() {
  local pages=$(pick 1000000 20000) o=$(pick "--seconds 6 --batch 40000" "--seconds 1 --batch 2000")
  rm -rf "$WORK/serve"
  { head_of "The service under load" "cargo run --profile dist -p hapax-bench-serve -- load --pages $pages $o --folder DIR"
    echo "64 connections, client and service on the same two cores; twice in one folder."; echo
    for run in First Second; do echo "## $run run"; echo; "$D/hapax-bench-serve" load --pages $pages $o --folder "$WORK/serve"; echo; done; } > "$RECORDS/serve.md"; }

quality_minhash() {  # answers of rensa and datasketch for `quality` (not our code; so that one record has all rows of docs/benchmarks/quality.md)
  local v=$WORK/venv; [ -x $v/bin/python ] || { python3 -m venv $v; $v/bin/pip install -q datasketch==2.0.0 rensa==0.5.0 numpy==2.4.6; }
  mkdir -p "$WORK/groups"
  for s in $(pick "web-uci debdocs phpdoc cjk-lohelp" "web-uci"); do docs=$(unpack $s docs.jsonl)
    for library in rensa datasketch; do
      $v/bin/python experiments/quality/minhash.py "$docs" --library $library --perms 256 --threshold 0.85 --verify --out "$WORK/groups/$s-minhash-$library-0.85.tsv" & done; wait; done; }
quality() {  # nothing in it is a time. Equal to the record of 2026-11-18 but for the rows of minhash and `ignored`, if no answer changed
  mkdir -p "$WORK/groups"
  "$T/release/examples/suite" --data "$DATA" --groups "$WORK/groups" --json "$RECORDS/quality.json" > "$WORK/quality.txt"; }

python_rows() {  # needs a wheel: WHEEL=file.whl, or the one that `cargo xtask test python` built
  local docs; docs=$(unpack debdocs docs.jsonl); pairs=$(unpack debdocs pairs.tsv)
  [ -n "$SMALL" ] && { head -600 $docs > "$WORK/few.jsonl"; docs=$WORK/few.jsonl; pairs=; }
  { head_of "From Python" "python3 bench/python/kept_row.py debdocs/docs.jsonl --pairs debdocs/pairs.tsv --wheel WHEEL, python3 bench/python/binding.py debdocs/docs.jsonl --wheel WHEEL"
    echo "## Kept row"; echo; python3 bench/python/kept_row.py $docs ${pairs:+--pairs $pairs} ${WHEEL:+--wheel $WHEEL}
    echo; echo "## Engine and binding"; echo; python3 bench/python/binding.py $docs ${WHEEL:+--wheel $WHEEL}; } > "$RECORDS/python.md"; }

threads() { local n=$(pick 900e3 10e3)
  { head_of "A job by number of threads" "cargo run --release -p hapax-bench -- threads --documents $n --files 16 --layouts one --threads 1,2,16 --keep /dev/shm/threads"
    echo "## On idle cores"; echo
    "$T/release/hapax-bench" threads --documents $n --files 16 --layouts one --threads 1,2,16 --keep /dev/shm/threads --hapax "$T/release/hapax"; } > "$RECORDS/threads.md"; rm -rf /dev/shm/threads; }

near_k3()  { local n=$(pick 10e6 1e5); { head_of "Ten million fingerprints within 3 bits" "cargo run --release -p hapax-bench -- near --pages $n --within 3"
    "$T/release/hapax-bench" near --pages $n --within 3 $(pick "" "--queries 1e4 --slow-queries 1e3"); } > "$RECORDS/near-k3-10M.md"; }
recall()   { local n=$(pick 10e6 2e5); { head_of "near find --recall, measured from outside" "cargo run --release -p hapax-bench -- recall --pages $n"
    "$T/release/hapax-bench" recall --pages $n $(pick "" "--queries 2e3") --hapax "$T/release/hapax" --keep "$WORK/recall"; } > "$RECORDS/recall.md"; rm -rf "$WORK/recall"; }
live()     { local n=$(pick 4000000 100000); { head_of "Searching while inserting" "cargo run --release -p hapax-bench-live -- --entries $n --within 6 load --seconds 5"
    "$T/release/hapax-bench-live" --entries $n --within 6 load --seconds $(pick 5 1); } > "$RECORDS/live-k6-4M.md"; }
weak()     { local n=$(pick 10e6 2e5); { head_of "Weak bits, ten million documents" "cargo run --release -p hapax-bench -- weak --pages $n --documents $n --within 3,6 --tables 4,10 --slow-queries 3000"
    "$T/release/hapax-bench" weak --pages $n --documents $n --within 3,6 --tables 4,10 --slow-queries $(pick 3000 300) $(pick "" "--queries 20e3"); } > "$RECORDS/weak-10M.md"; }
weak_2p26() { local n=$(pick 67108864 400000) d=$(pick 10e6 2e5); { head_of "Weak bits, 67 million fingerprints" "cargo run --release -p hapax-bench -- weak --pages $n --documents $d --within 3,6 --recall 0.95,0.99 --queries 200e3 --slow-queries 2000 --tables 6,8 --baseline-tables 4"
    "$T/release/hapax-bench" weak --pages $n --documents $d --within 3,6 --recall 0.95,0.99 --queries $(pick 200e3 20e3) --slow-queries $(pick 2000 200) --tables 6,8 --baseline-tables 4; } > "$RECORDS/weak-2p26.md"; }
growth()   { { head_of "Growth with the number of pages" "cargo run --release -p hapax-bench -- growth --to $(pick 27 18) --plot docs/images/growth.svg"
    "$T/release/hapax-bench" growth --to $(pick 27 18) --plot $(pick docs/images/growth.svg "$WORK/growth.svg"); } > "$RECORDS/growth.md"; }
frames()   { local s o=$WORK/frames docs; docs=$(for s in $(pick "web-uci debdocs phpdoc" "web-uci"); do unpack $s docs.jsonl; done)
  { head_of "Pages that share a frame" "cargo run --release -p hapax-bench -- frames --corpus SET/docs.jsonl ..."
    "$T/release/hapax-bench" frames --hapax "$T/release/hapax" --keep "$o" $(for s in $docs; do echo --corpus $s; done) | sed '/^[^|]/s/^/## /'
    printf '\n## Cost\n\n`hapax dedup SET --out OUT --threads 2`, `--frames off` and `on` in turn, seven times; CPU seconds of the whole process, the least of seven.\n\n| corpus | off | on | more, %% |\n| --- | --- | --- | --- |\n'
    for s in $docs; do python3 - "$T/release/hapax" $s "$o/cost" <<'P'
import os, resource, shutil, subprocess, sys
program, documents, out = sys.argv[1:]
def cost(frames):
    shutil.rmtree(out, ignore_errors=True); before = os.times()
    subprocess.run([program, "dedup", documents, "--out", out, "--threads", "2", "--frames", frames, "-q"], check=True)
    after = os.times(); return after.children_user + after.children_system - before.children_user - before.children_system
off, on = map(min, zip(*((cost("off"), cost("on")) for _ in range(7))))
print(f"| {documents.split('/')[-2]} | {off:.2f} | {on:.2f} | {100 * (on / off - 1):.1f} |")
P
    done; } > "$RECORDS/frames.md"; rm -rf "$o"; }
store()    { local n=$(pick 1000000 20000) b=$T/release/hapax-bench-store w=$WORK/store; mkdir -p "$w"
  "$b" bulk --pages $((n / 10)) --batch $((n / 100)) > "$w/small"; "$b" bulk --pages $n --batch $((n / 10)) > "$w/large"
  "$b" growth --sizes $(pick 10000,100000,250000,500000,1000000,2000000 5000,10000) --svg $(pick docs/images/store-growth.svg "$w/growth.svg") > "$w/growth"; "$b" recrawl --pages $(pick 200000 4000) > "$w/recrawl"
  { head_of "The repository on disk" "cargo run --release -p hapax-bench-store -- bulk --pages $n --batch $((n / 10)), growth, recrawl --pages $(pick 200000 4000)"
    python3 - "$w" <<'P'
import re, sys
text = lambda name: open(f"{sys.argv[1]}/{name}").read()
columns = ["pages", "batches of", "kept when seen", "observe_many, pages/s", "syncs", "raw batch-put, pages/s", "ratio", "rows, bytes/page", "file, bytes/page", "index, bytes/page", "open, s", "open, rebuilt, s", "verify, s"]
print("## Bulk\n\nThe ratio is that of observe_many against a raw batch-put of the same rows in as many commits.\n\n| " + " | ".join(columns) + " |\n|" + "---:|" * len(columns))
singles = []
for name in ("small", "large"):
    found = [re.findall(r"[\d.]+", line.replace("batches of", "")) for line in text(name).splitlines()]
    row = [value for numbers in found[:10] for value in numbers]
    print("| " + " | ".join(row) + " |")
    singles += [[row[0], *numbers] for numbers in found if len(numbers) == 5]
print("\n## Single observes\n\n| stored | threads | pages/s | pages | commits | syncs |\n|---:|---:|---:|---:|---:|---:|")
for row in singles: print("| " + " | ".join(row) + " |")
print("\n## Growth\n\nSeconds for one batch of 1,000 pages at each size.\n\n| pages | incremental | all again | ratio | groups |\n|---:|---:|---:|---:|---:|")
for line in text("growth").splitlines():
    if len(line.split()) == 5 and line.split()[0].isdigit(): print("| " + " | ".join(line.split()) + " |")
print("\n## Recrawl\n\n| processed | known | unchanged | updated | of these tier 1, % |\n|---:|---:|---:|---:|---:|")
lines = text("recrawl").splitlines()
for line in lines:
    if re.match(r"\s+\d", line): print("| " + " | ".join(line.replace("%", "").split()) + " |")
for line in lines:
    if line.startswith(("tier ", "of ")): print("\n" + line)
speeds = re.search(r"updated pages a second: (\d+) with tier 1, (\d+) if", text("recrawl"))
print("\n| updated pages a second | with tier 1 | if all were searched for |\n|---|---:|---:|\n| recrawl | " + " | ".join(speeds.groups()) + " |")
P
  } > "$RECORDS/store.md"; }
fetchers() { local n=$(pick 1000000 20000); { head_of "Twenty crawlers at one service" "cargo run --profile dist -p hapax-bench-serve -- fetchers --pages $n --seconds 8"
    "$D/hapax-bench-serve" fetchers --pages $n --seconds $(pick 8 1) --folder "$WORK/fetchers"; } > "$RECORDS/fetchers.md"; rm -rf "$WORK/fetchers"; }
backup()   { local n=$(pick 1000000 20000); { head_of "A backup while clients ask" "cargo run --profile dist -p hapax-bench-serve -- backup --pages $n --seconds 15"
    "$D/hapax-bench-serve" backup --pages $n --seconds $(pick 15 2) --folder "$WORK/backup" || echo "The bound was missed."; } > "$RECORDS/backup.md"; rm -rf "$WORK/backup"; }
documents() { { head_of "Short texts" "cargo run --release -p hapax-bench -- documents --documents $(pick 1e6,2e6,4e6,8e6,16e6 1e5,2e5)"
    "$T/release/hapax-bench" documents --documents $(pick 1e6,2e6,4e6,8e6,16e6 1e5,2e5) --keep "$WORK/documents" --plot $(pick docs/images/documents.svg "$WORK/documents.svg"); } > "$RECORDS/documents.md"; rm -rf "$WORK/documents"; }

search() {
  local b=$D/hapax-bench-search h=$D/hapax s=$WORK/search sets; mkdir -p "$s"
  sets=$(for it in $(pick "debdocs phpdoc cjk-lohelp web-uci" "debdocs"); do unpack $it docs.jsonl; done)
  [ -s "$s/web.jsonl" ] || "$T/release/examples/write_web" 7 $(pick 60000 2000) > "$s/web.jsonl"
  [ -s "$s/scores.tsv" ] || "$h" rank $sets "$s/web.jsonl" -o "$s/scores.tsv" -q
  [ -d "$s/index" ] || "$b" build $sets "$s/web.jsonl" --out "$s/index" --scores "$s/scores.tsv" > "$s/build.txt"
  zstd -dcqf "$DATA/querylog/excite-1997.tsv.zst" > "$s/excite.tsv"
  [ -s "$s/log.tsv" ] || "$b" log $sets "$s/web.jsonl" --like "$s/excite.tsv" --out "$s/log.tsv" --queries $(pick 2500 300) > "$s/log.txt"
  [ -d "$s/full" ] || "$h" dedup $sets "$s/web.jsonl" --out "$s/full" -q
  { head_of "Query-biased dedup and PageRank" "cargo run --profile dist -p hapax-bench-search -- job --index INDEX --log LOG --full GROUPS.parquet"
    echo "## Time"; echo; "$b" job --index "$s/index" --log "$s/log.tsv" --time-only $(pick 1000 100); echo
    echo "## Table I, modes, quality"; echo; "$b" job --index "$s/index" --log "$s/log.tsv" --full "$s/full/groups.parquet" --queries $(pick 2000 200); echo
    echo "## PageRank"; echo; "$b" rank --pages $(pick 1000000 10000) --links $(pick 10000000 100000); } > "$RECORDS/search.md"; }

index() {  # rows of the records' README for what was measured; rows that are there stay
  local r=$RECORDS/README.md; [ -s "$r" ] || printf '# Measured on %s\n\n%s.\n\n| file | command |\n| --- | --- |\n' "$(date +%F)" "${MACHINE^}" > "$r"
  row() { [ -e "$RECORDS/${1%% *}" ] && ! grep -q "^| \`${1%% *}\`" "$r" && printf '| `%s` | %s |\n' "$1" "$2" >> "$r" || true; }
  row compare.md "\`cargo xtask compare --full\`, one family or size at a time, as the line above each table says; with \`compare.json\`"
  row serve.md "\`hapax-bench-serve load\`, built with \`dist\`, twice"
  row quality.json "\`cargo run --release -p hapax-eval --example suite -- --data DIR --groups DIR\`, groups by \`experiments/quality/minhash.py\`; nothing in it is a time"
  row python.md "\`bench/python/kept_row.py\`, \`bench/python/binding.py\`"
  row threads.md "\`hapax-bench threads\`"
  row near-k3-10M.md "\`hapax-bench near\`"
  row recall.md "\`hapax-bench recall\`"
  row live-k6-4M.md "\`hapax-bench-live load\`"
  row weak-10M.md "\`hapax-bench weak\`"
  row weak-2p26.md "\`hapax-bench weak\`"
  row growth.md "\`hapax-bench growth\`"
  row frames.md "\`hapax-bench frames\`"
  row store.md "\`hapax-bench-store bulk\`, \`growth\`, \`recrawl\`"
  row fetchers.md "\`hapax-bench-serve fetchers\`"
  row backup.md "\`hapax-bench-serve backup\`"
  row documents.md "\`hapax-bench documents\`"
  row search.md "\`hapax-bench-search job\` and \`rank\`, built with \`dist\`"
  cat "$r"; }

STEPS="compare_dedup:5 sizing:4 compare_near_10m:6 compare_near_1m:13 compare_fingerprint:5 compare_articles:1 compare_extract:3 serve_load:2 quality_minhash:7 quality:1 python_rows:3 threads:3 near_k3:2 recall:4 live:1 fetchers:2 backup:2 search:1 documents:3 weak:2 weak_2p26:5 growth:8 frames:2 store:5"
case "${1:-list}" in
  list) for it in $STEPS; do printf '%-20s ~%s min\n' ${it%:*} ${it#*:}; done; echo "compare_near_1m: 11 of its 13 minutes are USearch adding a million fingerprints twice"; echo "after: index, then move the marks of the documentation; cargo xtask tidy says which figures changed"; echo "before: build (~8 min), build_search (~6 min; before search only)";;
  *) for step in "$@"; do
    case " $STEPS build: build_search: index: " in *" $step:"*) ;; *) echo "there is no step $step; bench/measure.sh list names them" >&2; exit 2;; esac
    echo "== $step $(date +%T)"; "$step"; echo "== $step done $(date +%T)"; done;;
esac
