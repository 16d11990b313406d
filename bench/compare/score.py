"""Scores of answers, without knowledge of the tool that gave them.

Pairs of pages are near-duplicates from an exact similarity of 0.8 up, and different below 0.6; pairs in between are not scored.
"""

ALIKE, UNLIKE = 0.8, 0.6
# Every tool should find pairs from here up.
SURELY = 0.9
# Minimum number of near-duplicates in a set for meaningful shares.
LEAST_ALIKE = 20


def enough(pairs):
    """Whether a set has enough near-duplicates for scores."""
    return sum(similarity >= ALIKE for *_, similarity in pairs) >= LEAST_ALIKE


def separation(likenesses, pairs):
    """Precision and recall at the tool's best bound, and the probability that a near-duplicate pair gets a higher similarity
    than a different pair (ties count half)."""
    scored = [(likeness, truth >= ALIKE) for likeness, (_, _, truth) in zip(likenesses, pairs, strict=True)
              if truth >= ALIKE or truth < UNLIKE]
    scored.sort(key=lambda it: -it[0])
    alike = sum(truth for _, truth in scored)
    others = len(scored) - alike
    best, right, wrong, above, at = (0.0, 0.0, 0.0, None), 0, 0, 0.0, 0
    while at < len(scored):
        bound = scored[at][0]
        new_right = new_wrong = 0
        while at < len(scored) and scored[at][0] == bound:
            new_right += scored[at][1]
            new_wrong += not scored[at][1]
            at += 1
        # Near-duplicates at this bound count half, those above it count fully.
        above += new_wrong * (right + new_right / 2)
        right += new_right
        wrong += new_wrong
        f1 = 2 * right / (right + wrong + alike) if alike else 0.0
        if f1 > best[0]:
            best = (f1, right / (right + wrong), right / alike, bound)
    order = above / (alike * others) if alike and others else 1.0
    return {"pairs": len(scored), "alike": alike, "precision": best[1], "recall": best[2], "bound": best[3], "order": order}


def answers(found, truth):
    """Precision and recall of reported neighbours."""
    right = sum(len(set(some) & set(known)) for some, known in zip(found, truth, strict=True))
    reported = sum(len(some) for some in found)
    there = sum(len(known) for known in truth)
    return {
        "there": there, "found": reported, "right": right,
        "precision": right / reported if reported else 1.0, "recall": right / there if there else 1.0,
    }


def removal(removed, pages):
    """Precision: share of removed pages with a near-duplicate that is kept. Recall: share of pairs from `SURELY` up that are not both
    kept."""
    gone = {at for at, name in enumerate(pages.ids) if name in removed}
    right, surely, resolved = set(), 0, 0
    for a, b, similarity in pages.pairs:
        if similarity >= ALIKE:
            if a in gone and b not in gone:
                right.add(a)
            if b in gone and a not in gone:
                right.add(b)
        if similarity >= SURELY:
            surely += 1
            resolved += a in gone or b in gone
    return {
        "removed": len(gone), "right": len(right),
        "precision": len(right) / len(gone) if gone else 1.0, "recall": resolved / surely if surely else 1.0,
    }


def word_agreement(texts, references, words):
    """Mean over pages of the F1 of words, counting repetitions."""
    total = 0.0
    for name, reference in references.items():
        theirs, known = words(texts.get(name, "")), words(reference)
        both = (theirs & known).total()
        total += 2 * both / max(1, theirs.total() + known.total())
    return total / max(1, len(references))
