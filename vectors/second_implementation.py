"""A second implementation of docs/reference/fingerprint.md, to see whether the page says enough.

Reads the golden vectors beside it and recomputes every output of words.json, tallies.json
and the plain texts of signatures.json from the specification alone. It shares no code with the
engine and is written to be read, not to be fast. Left out: HTML, dictionary segmentation,
stop words, stems and frequency tables, which are libraries' work.

    pip install --requirement vectors/requirements.txt
    python3 vectors/second_implementation.py
"""

import json
import pathlib
import unicodedata

import blake3
import regex
import xxhash

HERE = pathlib.Path(__file__).parent
MASK = (1 << 64) - 1
BASE = 0x9E3779B97F4A7C17
BINS = 1024

ADDRESS = regex.compile(
    r"(?:(?<![A-Za-z0-9])(?i:https?|ftp)://(?=[\p{L}\p{Nd}\[])"
    r"|(?<![A-Za-z0-9.\-_@/])(?:www|WWW|Www)\.(?=[\p{L}\p{Nd}]))"
    r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%\p{L}\p{N}]*"
)


def purify(text):
    """Section 2, for plain text."""
    folded = regex.sub(r"\p{White_Space}", " ", text)
    folded = regex.sub(r"[\p{Cc}[\p{Default_Ignorable_Code_Point}--[\u200c\u200d]]]", "", folded, flags=regex.V1)
    folded = regex.sub(r"(?<=(.)|^)([\u200c\u200d])[\u200c\u200d]*(?=(.)|$)", joiner, folded, flags=regex.S)
    folded = regex.sub(" +", " ", folded)

    def cut(match):
        found = match.group()
        for end, c in enumerate(found):
            if ord(c) >= 0x0E00:
                found = found[:end]
                break
        kept = found.rstrip(".,;:!?'*_~()[]")
        return " " + match.group()[len(kept) :]

    folded = ADDRESS.sub(cut, folded)
    return regex.sub(" +", " ", folded).strip(" ")


def joiner(match):
    """Section 2, step 1: a joiner that changes nothing is dropped."""
    before, found, after = match.groups()
    if not before or not after:
        return ""
    joins = regex.match(r"[\p{Joining_Type=D}\p{Joining_Type=L}\p{Joining_Type=T}]", before) and regex.match(
        r"[\p{Joining_Type=D}\p{Joining_Type=R}]", after
    )
    return found if joins or 9 in (unicodedata.combining(before), unicodedata.combining(after)) else ""


# Section 3, step 5: Latin, Cyrillic, Greek; `-` where there is none.
LOOK_ALIKES = """aаα bвβ cсϲ dԁ- eеε hн- hһ- iіι jјϳ kкκ lӏ- mм- nпη oоο pрρ qԛ- rг- sѕ- tтτ u-υ vѵν wԝ- xхχ yуγ
    yү- z-ζ á-ά é-έ í-ί ó-ό ú-ύ ëё- ïїϊ çҫ-""".split()
SCRIPTS = [
    regex.compile("[a-zß-ö\u00f8-\u02af\u1e00-\u1eff]"),
    regex.compile("[\u0400-\u052f]"),
    regex.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
]


def one_script(word):
    """Section 3, step 5."""
    if not (SCRIPTS[1].search(word) or SCRIPTS[2].search(word)):
        return word
    rows = [next((row for row in LOOK_ALIKES if c in row and c != "-"), None) for c in word]
    own = {i for c, row in zip(word, rows) for i in range(3) if row is None and SCRIPTS[i].match(c)}
    if len(own) > 1:
        return word
    into = own.pop() if own else 0
    return "".join(row[into] if row and row[into] != "-" else c for c, row in zip(word, rows))


def words(text, unspaced, joined, confusables):
    """Section 3, with characters or pairs for unspaced scripts."""
    found = cut_words(text, unspaced, joined)
    return [one_script(word) for word in found] if confusables == "fold" else found


def cut_words(text, unspaced, joined):
    found = []
    for chunk in regex.split(r"[ \t\n\v\f\r]+", text):
        chunk = unicodedata.normalize("NFKC", chunk).casefold()
        if joined == "parts":
            chunk = regex.sub(r"[\p{WB=ExtendNumLet}\p{WB=MidLetter}\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}\p{WB=Double_Quote}]", "\0", chunk)
        run = []
        segments = regex.split(r"(?w)\b", chunk, flags=regex.VERSION1) if chunk else []
        for segment in [s for s in segments if s] + [""]:
            units = regex.findall(
                r"[\p{L}\p{Nl}&&\p{WB=Other}][\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*",
                segment,
                flags=regex.VERSION1,
            )
            if units:
                run += units
                continue
            pairs = unspaced == "bigrams" and len(run) > 1
            found += ["".join(pair) for pair in zip(run, run[1:])] if pairs else run
            run = []
            katakana = regex.fullmatch(
                r"(\p{WB=Katakana}[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*)+", segment
            )
            if katakana and unspaced == "characters":
                found += katakana.captures(1)
            elif regex.search(r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}\p{WB=Katakana}]", segment):
                found.append(segment)
    return found


def scramble(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def shingles(hashes, size):
    """Section 4."""
    if size == 1 or not hashes:
        return list(hashes)
    size_here = min(size, len(hashes))
    out = []
    for start in range(len(hashes) - size_here + 1):
        value = 0
        for h in hashes[start : start + size_here]:
            value = (value * BASE + h) & MASK
        out.append(scramble(value))
    return out


def sums_of(features):
    """Section 5."""
    return [sum(w if h >> j & 1 else -w for h, w in features) for j in range(64)]


def cut(sums, tie):
    return sum(1 << j for j, s in enumerate(sums) if s > 0 or (s == 0 and tie == "one"))


def signature(text, recipe):
    unspaced, joined, confusables, shingle, weight, tie = {
        "web-2": ("characters", "parts", "fold", 1, "count", "zero"),
        "stream-words": ("bigrams", "whole", "keep", 1, "count", "zero"),
        "khan-words": ("bigrams", "whole", "keep", 1, "count", "one"),
        "zhu-shingles": ("bigrams", "whole", "keep", 5, "presence", "zero"),
    }[recipe]
    text = purify(text)
    found = words(text, unspaced, joined, confusables)
    hashes = [xxhash.xxh3_64_intdigest(word.encode(), seed=0) for word in found]
    features = shingles(hashes, shingle)
    weighed = [(f, 1) for f in (set(features) if weight == "presence" else features)]
    sums = sums_of(weighed)
    return {
        "content": blake3.blake3(text.encode()).digest()[:16].hex(),
        "words": len(hashes),
        "features": len(features),
        "too_short": len(features) < 10,
        "fingerprint": f"{cut(sums, tie):016x}" if features else None,
        "sums": sums if features else None,
        "weak_bits": sorted(range(64), key=lambda j: (abs(sums[j]), j)) if features else None,
        "sketch": sketch(shingles(hashes, 5)) if features else None,
    }


def main():
    checked = 0

    def check(name, found, expected):
        nonlocal checked
        for key, value in found.items():
            assert value == expected[key], f"{name}: {key} is {value!r}, not {expected[key]!r}"
        checked += 1

    for case in json.loads((HERE / "words.json").read_text()):
        if case["unspaced"] != "dictionary":
            way = case.get("joined", "whole"), case.get("confusables", "keep")
            found = {"words": words(case["input"], case["unspaced"], *way)}
            check(case["name"], found, case["output"])
    for case in json.loads((HERE / "tallies.json").read_text()):
        sums = sums_of([(int(h, 16), w) for h, w in case["features"]])[: case["bits"]]
        found = {"sums": sums}
        for tie in ("zero", "one"):
            found[f"tie_{tie}"] = f"{cut(sums, tie):016x}"
        check(case["name"], found, case["output"])
    for case in json.loads((HERE / "signatures.json").read_text()):
        if case["kind"] == "text" and case["recipe"] != "sood-tfidf":
            found = signature(case["input"], case["recipe"])
            check(f"{case['recipe']}, {case['name']}", found, case["output"])
    print(f"{checked} passed, 0 failed")


def sketch(shingles):
    """Section 6."""

    def round_of(s, r):
        product = s * (scramble(r) | 1) & MASK
        return product ^ (product >> 32)

    shift, low = 64 - BINS.bit_length() + 1, (1 << 48) - 1
    bins = [None] * BINS
    for r in range(BINS):
        if None not in bins:
            break
        empty = {i for i, value in enumerate(bins) if value is None}
        for s in shingles:
            h = s if r == 0 else round_of(s, r)
            i, value = h >> shift, h & low
            if i in empty and (bins[i] is None or value < bins[i]):
                bins[i] = value
    for i, value in enumerate(bins):
        if value is None:
            bins[i] = min(round_of(s, BINS + i) & low for s in shingles)
    bits = sum((value & 1) << i for i, value in enumerate(bins))
    return bits.to_bytes(BINS // 8, "little").hex()


if __name__ == "__main__":
    main()
