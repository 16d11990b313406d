"""Text extraction and SimHash by the peers from PyPI, on the pages of a JSON lines file.

Prints one JSON object: CPU seconds for extracting the text alone, best of the rounds asked for,
and on a sample for extracting and fingerprinting: with words as features, as our default recipe
has it, and with what `Simhash(text)` takes by itself, runs of four characters. And the number of
words found.
"""

import json
import sys
import time

from selectolax.lexbor import LexborHTMLParser
from simhash import Simhash


def text_of(html):
    body = LexborHTMLParser(html).body
    return body.text(separator=" ") if body else ""


def best(rounds, work):
    return min(timed(work) for _ in range(rounds))


def timed(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main():
    path, rounds = sys.argv[1], int(sys.argv[2])
    with open(path, encoding="utf-8") as lines:
        pages = [json.loads(line)["html"] for line in lines]
    words = sum(len(text_of(page).split()) for page in pages)
    sample = pages[: max(1, len(pages) // 20)]
    extract_sample = best(1, lambda: [text_of(page) for page in sample])
    words_sample = best(1, lambda: [Simhash(text_of(page).lower().split()) for page in sample])
    usual_sample = best(1, lambda: [Simhash(text_of(page)) for page in sample])
    print(
        json.dumps(
            {
                "extract": best(rounds, lambda: [text_of(page) for page in pages]),
                "extract_sample": extract_sample,
                "words_sample": words_sample,
                "usual_sample": usual_sample,
                "sample": len(sample),
                "words": words,
            }
        )
    )


main()
