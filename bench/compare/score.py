"""How right are answers? Nothing here knows whose they are.

Pairs of pages are near-duplicates from an exact similarity of 0.8, and are not below 0.6; between, a verdict is a matter of taste
and is not judged.
"""

ALIKE, UNLIKE = 0.8, 0.6
# Pairs that nobody should miss.
SURELY = 0.9
# Near-duplicates that a set needs before its shares mean something.
LEAST_ALIKE = 20


def enough(pairs):
    """Whether the pairs of a set can judge anyone."""
    return sum(similarity >= ALIKE for *_, similarity in pairs) >= LEAST_ALIKE


def separation(likenesses, pairs):
    """Precision and recall at the bound that suits the tool best, and the chance that a near-duplicate pair looks more alike
    than another pair (ties count half)."""
    judged = [(likeness, truth >= ALIKE) for likeness, (_, _, truth) in zip(likenesses, pairs, strict=True)
              if truth >= ALIKE or truth < UNLIKE]
    judged.sort(key=lambda it: -it[0])
    alike = sum(truth for _, truth in judged)
    others = len(judged) - alike
    best, right, wrong, above, at = (0.0, 0.0, 0.0, None), 0, 0, 0.0, 0
    while at < len(judged):
        bound = judged[at][0]
        new_right = new_wrong = 0
        while at < len(judged) and judged[at][0] == bound:
            new_right += judged[at][1]
            new_wrong += not judged[at][1]
            at += 1
        # Of this bound's others, those above it were met before; its own count half.
        above += new_wrong * (right + new_right / 2)
        right += new_right
        wrong += new_wrong
        f1 = 2 * right / (right + wrong + alike) if alike else 0.0
        if f1 > best[0]:
            best = (f1, right / (right + wrong), right / alike, bound)
    order = above / (alike * others) if alike and others else 1.0
    return {"pairs": len(judged), "alike": alike, "precision": best[1], "recall": best[2], "bound": best[3], "order": order}


def answers(found, truth):
    """Of the neighbours found, how many are right; of those there are, how many were found."""
    right = sum(len(set(some) & set(known)) for some, known in zip(found, truth, strict=True))
    reported = sum(len(some) for some in found)
    there = sum(len(known) for known in truth)
    return {
        "there": there, "found": reported, "right": right,
        "precision": right / reported if reported else 1.0, "recall": right / there if there else 1.0,
    }


def removal(removed, pages):
    """Of the removed, those with a near-duplicate that stays; of the surest pairs, those that do not both stay."""
    gone = {at for at, name in enumerate(pages.ids) if name in removed}
    covered, surely, settled = set(), 0, 0
    for a, b, similarity in pages.pairs:
        if similarity >= ALIKE:
            if a in gone and b not in gone:
                covered.add(a)
            if b in gone and a not in gone:
                covered.add(b)
        if similarity >= SURELY:
            surely += 1
            settled += a in gone or b in gone
    return {
        "removed": len(gone), "right": len(covered),
        "precision": len(covered) / len(gone) if gone else 1.0, "recall": settled / surely if surely else 1.0,
    }


def word_agreement(texts, references, words):
    """Mean over pages of the harmonic mean of precision and recall of words, repeats counted."""
    total = 0.0
    for name, reference in references.items():
        theirs, known = words(texts.get(name, "")), words(reference)
        both = (theirs & known).total()
        total += 2 * both / max(1, theirs.total() + known.total())
    return total / max(1, len(references))
