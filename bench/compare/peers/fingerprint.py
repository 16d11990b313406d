"""simhash, datasketch and rensa on the same texts, and how alike they say that given pairs are.

Making is timed, words and runs of words included; comparing is not. A likeness grows with being alike.
"""

import measure

# Texts that rensa digests at a time.
TOGETHER = 500


def simhash_of_words(texts, pairs):
    from simhash import Simhash

    made, seconds = measure.repeated(lambda: [Simhash(measure.words(text)) for text in texts])
    return "64 bits of the words", seconds, 8, [-made[a].distance(made[b]) for a, b in pairs]


def simhash_of_text(texts, pairs):
    from simhash import Simhash

    made, seconds = measure.repeated(lambda: [Simhash(text) for text in texts])
    return "64 bits of 4-character runs, its default", seconds, 8, [-made[a].distance(made[b]) for a, b in pairs]


def datasketch(texts, pairs):
    from datasketch import MinHash

    def make(text):
        made = MinHash(128)
        made.update_batch([run.encode() for run in measure.runs(text)])
        return made

    made, seconds = measure.repeated(lambda: [make(text) for text in texts])
    return "128 minima of 5-word runs", seconds, 8 * 128, [made[a].jaccard(made[b]) for a, b in pairs]


def rensa(texts, pairs):
    import rensa

    # The batch call, which gives rows of minima as a matrix, is timed; comparing wants objects. Some texts at a time, because
    # runs take many times the memory of the text.
    def batches():
        for start in range(0, len(texts), TOGETHER):
            sets = [measure.runs(text) for text in texts[start : start + TOGETHER]]
            yield rensa.RMinHash.digest_matrix_from_token_sets(sets, 128, 42)

    _, seconds = measure.repeated(lambda: list(batches()))

    def make(text):
        made = rensa.RMinHash(128, 42)
        made.update(measure.runs(text))
        return made

    made = [make(text) for text in texts]
    return "128 minima of 5-word runs, batch", seconds, 4 * 128, [made[a].jaccard(made[b]) for a, b in pairs]


TOOLS = {
    "simhash-words": simhash_of_words,
    "simhash-text": simhash_of_text,
    "datasketch": datasketch,
    "rensa": rensa,
}


def main():
    job = measure.job()
    texts = [document.get("text", "") for document in measure.documents(job["texts"])]
    with open(job["pairs"], encoding="ascii") as file:
        pairs = measure.json.load(file)
    setting, seconds, each, likenesses = TOOLS[job["tool"]](texts, pairs)
    measure.write(job["out"], [float(likeness) for likeness in likenesses])
    measure.report(setting, seconds, len(texts), bytes=each * len(texts))


main()
