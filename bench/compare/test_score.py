"""The judge is judged first: `cargo xtask compare` runs these before anything is measured."""

import collections
import pathlib
import random
import unittest

import judge
import record
import sets


def plain_order(likenesses, pairs):
    """The chance that a near-duplicate pair looks more alike than another, by asking all of them."""
    alike = [it for it, (*_, truth) in zip(likenesses, pairs) if truth >= judge.ALIKE]
    others = [it for it, (*_, truth) in zip(likenesses, pairs) if truth < judge.UNLIKE]
    wins = sum((a > b) + (a == b) / 2 for a in alike for b in others)
    return wins / (len(alike) * len(others))


def plain_best(likenesses, pairs):
    """The best F1 over all bounds, by trying all of them."""
    best = 0.0
    for bound in set(likenesses):
        said = [it >= bound for it in likenesses]
        right = sum(s and truth >= judge.ALIKE for s, (*_, truth) in zip(said, pairs))
        wrong = sum(s and truth < judge.UNLIKE for s, (*_, truth) in zip(said, pairs))
        missed = sum(not s and truth >= judge.ALIKE for s, (*_, truth) in zip(said, pairs))
        best = max(best, 2 * right / max(1, 2 * right + wrong + missed))
    return best


def pages(ids, pairs):
    return sets.Pages("made up", pathlib.Path(), ids, pairs, {}, 0)


class Judge(unittest.TestCase):
    def test_separation_is_what_trying_everything_finds(self):
        source = random.Random(3)
        for _ in range(50):
            pairs = [(0, 1, source.random()) for _ in range(60)] + [(0, 1, 0.9), (0, 1, 0.1)]
            # Few values, so that there are ties.
            likenesses = [round(4 * truth + source.random()) for *_, truth in pairs]
            verdict = judge.separation(likenesses, pairs)
            self.assertAlmostEqual(verdict["order"], plain_order(likenesses, pairs))
            p, r = verdict["precision"], verdict["recall"]
            self.assertAlmostEqual(2 * p * r / (p + r), plain_best(likenesses, pairs))

    def test_a_perfect_tool_is_perfect_and_a_blind_one_tosses_coins(self):
        pairs = [(0, 1, truth / 10) for truth in range(11)]
        perfect = judge.separation([truth for *_, truth in pairs], pairs)
        self.assertEqual((perfect["precision"], perfect["recall"], perfect["order"]), (1.0, 1.0, 1.0))
        self.assertEqual(judge.separation([1.0] * len(pairs), pairs)["order"], 0.5)

    def test_answers_count_what_is_right_and_what_is_there(self):
        verdict = judge.answers([[1, 2], [], [7]], [[1, 3], [4], [7]])
        self.assertEqual((verdict["found"], verdict["right"], verdict["there"]), (3, 2, 4))
        self.assertEqual((verdict["precision"], verdict["recall"]), (2 / 3, 0.5))

    def test_a_removed_page_is_right_only_if_its_like_stays(self):
        all_pages = pages(["a", "b", "c", "d"], [(0, 1, 0.95), (1, 2, 0.85), (0, 3, 0.3)])
        one = judge.removal({"b"}, all_pages)
        self.assertEqual((one["removed"], one["right"], one["recall"]), (1, 1, 1.0))
        both = judge.removal({"a", "b"}, all_pages)
        self.assertEqual((both["removed"], both["right"]), (2, 1))
        wrong = judge.removal({"d"}, all_pages)
        self.assertEqual((wrong["right"], wrong["recall"]), (0, 0.0))

    def test_words_agree_by_their_harmonic_mean(self):
        known = {"a": "one two three four"}
        self.assertEqual(judge.word_agreement({"a": "One, two; three four!"}, known, sets.words), 1.0)
        self.assertAlmostEqual(judge.word_agreement({"a": "one two"}, known, sets.words), 2 / 3)
        self.assertEqual(judge.word_agreement({}, known, sets.words), 0.0)


class Truth(unittest.TestCase):
    def test_all_pairs_are_what_comparing_all_sets_gives(self):
        words = [str(n) for n in range(40)]
        source = random.Random(5)
        documents = [" ".join(words[(s := source.randrange(20)) : s + source.randint(3, 20)]) for _ in range(25)]
        found = collections.defaultdict(float, sets.all_pairs(documents))
        for a in range(len(documents)):
            for b in range(a + 1, len(documents)):
                one, other = sets.runs(documents[a]), sets.runs(documents[b])
                self.assertAlmostEqual(found[a, b], len(one & other) / len(one | other))

    def test_tags_scripts_and_comments_are_no_words(self):
        page = "<p>A&amp;B <!-- no --> c<script>x()</script>d <b>E</b>文字"
        self.assertEqual(sets.runs(page), {("a", "b", "c", "d", "e"), ("b", "c", "d", "e", "文"), ("c", "d", "e", "文", "字")})


class Numbers(unittest.TestCase):
    def test_numbers_have_three_figures_and_groups(self):
        for value, text in [(0.01234, "0.0123"), (1.5, "1.5"), (99.96, "100"), (1234.5, "1,234"), (27.123, "27.1")]:
            self.assertEqual(record.number(value), text)

    def test_the_release_stands_behind_the_name(self):
        for name, shown in [("simhash, words", "simhash 2.1, words"), ("FAISS Flat", "FAISS 2.1 Flat"), ("mih-rs", "mih-rs 2.1")]:
            self.assertEqual(record.tool({"tool": name, "release": "2.1", "ours": False}), shown)
        self.assertEqual(record.tool({"tool": "hapax, batch", "release": "", "ours": True}), "**hapax, batch**")

    def test_few_near_duplicates_judge_nobody(self):
        self.assertTrue(judge.enough([(0, 1, judge.ALIKE)] * judge.LEAST_ALIKE))
        self.assertFalse(judge.enough([(0, 1, judge.ALIKE)] * (judge.LEAST_ALIKE - 1) + [(0, 1, 0.79)]))


if __name__ == "__main__":
    unittest.main()
