"""Tests of the scores, which `cargo xtask compare` runs before it measures."""

import collections
import pathlib
import random
import unittest

import score
import record
import sets


def plain_order(likenesses, pairs):
    """The probability that a near-duplicate pair gets a higher similarity than a different pair, by comparing all."""
    alike = [it for it, (*_, truth) in zip(likenesses, pairs) if truth >= score.ALIKE]
    others = [it for it, (*_, truth) in zip(likenesses, pairs) if truth < score.UNLIKE]
    wins = sum((a > b) + (a == b) / 2 for a in alike for b in others)
    return wins / (len(alike) * len(others))


def plain_best(likenesses, pairs):
    """The best F1, by trying all bounds."""
    best = 0.0
    for bound in set(likenesses):
        predicted = [it >= bound for it in likenesses]
        right = sum(s and truth >= score.ALIKE for s, (*_, truth) in zip(predicted, pairs))
        wrong = sum(s and truth < score.UNLIKE for s, (*_, truth) in zip(predicted, pairs))
        missed = sum(not s and truth >= score.ALIKE for s, (*_, truth) in zip(predicted, pairs))
        best = max(best, 2 * right / max(1, 2 * right + wrong + missed))
    return best


def pages(ids, pairs):
    return sets.Pages("made up", pathlib.Path(), ids, pairs, {}, 0)


class Scores(unittest.TestCase):
    def test_separation_agrees_with_trying_all_bounds(self):
        source = random.Random(3)
        for _ in range(50):
            pairs = [(0, 1, source.random()) for _ in range(60)] + [(0, 1, 0.9), (0, 1, 0.1)]
            # Few values, so that there are ties.
            likenesses = [round(4 * truth + source.random()) for *_, truth in pairs]
            scored = score.separation(likenesses, pairs)
            self.assertAlmostEqual(scored["order"], plain_order(likenesses, pairs))
            p, r = scored["precision"], scored["recall"]
            self.assertAlmostEqual(2 * p * r / (p + r), plain_best(likenesses, pairs))

    def test_perfect_and_constant_similarities_have_the_extreme_orders(self):
        pairs = [(0, 1, truth / 10) for truth in range(11)]
        perfect = score.separation([truth for *_, truth in pairs], pairs)
        self.assertEqual((perfect["precision"], perfect["recall"], perfect["order"]), (1.0, 1.0, 1.0))
        self.assertEqual(score.separation([1.0] * len(pairs), pairs)["order"], 0.5)

    def test_answers_count_correct_reported_and_existing_neighbours(self):
        scored = score.answers([[1, 2], [], [7]], [[1, 3], [4], [7]])
        self.assertEqual((scored["found"], scored["right"], scored["there"]), (3, 2, 4))
        self.assertEqual((scored["precision"], scored["recall"]), (2 / 3, 0.5))

    def test_a_removed_page_is_correct_only_if_a_near_duplicate_is_kept(self):
        all_pages = pages(["a", "b", "c", "d"], [(0, 1, 0.95), (1, 2, 0.85), (0, 3, 0.3)])
        one = score.removal({"b"}, all_pages)
        self.assertEqual((one["removed"], one["right"], one["recall"]), (1, 1, 1.0))
        both = score.removal({"a", "b"}, all_pages)
        self.assertEqual((both["removed"], both["right"]), (2, 1))
        wrong = score.removal({"d"}, all_pages)
        self.assertEqual((wrong["right"], wrong["recall"]), (0, 0.0))

    def test_words_agree_by_their_harmonic_mean(self):
        known = {"a": "one two three four"}
        self.assertEqual(score.word_agreement({"a": "One, two; three four!"}, known, sets.words), 1.0)
        self.assertAlmostEqual(score.word_agreement({"a": "one two"}, known, sets.words), 2 / 3)
        self.assertEqual(score.word_agreement({}, known, sets.words), 0.0)


class Truth(unittest.TestCase):
    def test_all_pairs_agree_with_comparing_all_sets(self):
        words = [str(n) for n in range(40)]
        source = random.Random(5)
        documents = [" ".join(words[(s := source.randrange(20)) : s + source.randint(3, 20)]) for _ in range(25)]
        found = collections.defaultdict(float, sets.all_pairs(documents))
        for a in range(len(documents)):
            for b in range(a + 1, len(documents)):
                one, other = sets.runs(documents[a]), sets.runs(documents[b])
                self.assertAlmostEqual(found[a, b], len(one & other) / len(one | other))

    def test_tags_scripts_and_comments_are_not_words(self):
        page = "<p>A&amp;B <!-- no --> c<script>x()</script>d <b>E</b>文字"
        self.assertEqual(sets.runs(page), {("a", "b", "c", "d", "e"), ("b", "c", "d", "e", "文"), ("c", "d", "e", "文", "字")})


class Numbers(unittest.TestCase):
    def test_numbers_have_three_figures_and_groups(self):
        for value, text in [(0.01234, "0.0123"), (1.5, "1.5"), (99.96, "100"), (1234.5, "1,234"), (27.123, "27.1")]:
            self.assertEqual(record.number(value), text)

    def test_the_release_follows_the_name(self):
        for name, shown in [("simhash, words", "simhash 2.1, words"), ("FAISS Flat", "FAISS 2.1 Flat"), ("mih-rs", "mih-rs 2.1")]:
            self.assertEqual(record.tool({"tool": name, "release": "2.1", "ours": False}), shown)
        self.assertEqual(record.tool({"tool": "hapax, batch", "release": "", "ours": True}), "**hapax, batch**")

    def test_few_near_duplicates_are_not_enough(self):
        self.assertTrue(score.enough([(0, 1, score.ALIKE)] * score.LEAST_ALIKE))
        self.assertFalse(score.enough([(0, 1, score.ALIKE)] * (score.LEAST_ALIKE - 1) + [(0, 1, 0.79)]))


if __name__ == "__main__":
    unittest.main()
