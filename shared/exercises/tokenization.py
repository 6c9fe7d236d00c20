"""Chapter 04: tokenization."""

from collections import Counter
from itertools import pairwise

import numpy as np

from shared.exercises import Exercise


def _pairs(ids):
    return Counter(pairwise(int(i) for i in ids))


def _wordpiece(ids, score=lambda pair, left, right: pair / (left * right), sign=-1):
    singles, pairs = Counter(int(i) for i in ids), _pairs(ids)
    scores = {(a, b): score(count, singles[a], singles[b]) for (a, b), count in pairs.items()}
    return np.array(min(scores, key=lambda pair: (sign * scores[pair], pair)))


def _most_frequent(ids):
    return _wordpiece(ids, lambda pair, left, right: pair)


def _by_the_left(ids):
    return _wordpiece(ids, lambda pair, left, right: pair / left)


def _by_the_right(ids):
    return _wordpiece(ids, lambda pair, left, right: pair / right)


def _by_the_sum(ids):
    return _wordpiece(ids, lambda pair, left, right: pair / (left + right))


def _lowest_score(ids):
    return _wordpiece(ids, sign=1)


def _random_ids(rng):
    """A text in which one pair has the highest score, and every other way to score finds another pair."""
    while True:
        ids = rng.choice(rng.permutation(np.arange(2, 30))[:5], size=24, p=[0.35, 0.25, 0.2, 0.1, 0.1])
        ways = (_wordpiece, _most_frequent, _by_the_left, _by_the_right, _by_the_sum, _lowest_score)
        singles, pairs = Counter(ids.tolist()), _pairs(ids)
        first, second = sorted((n / (singles[a] * singles[b]) for (a, b), n in pairs.items()), reverse=True)[:2]
        if len({tuple(way(ids).tolist()) for way in ways}) == len(ways) and first > 1.01 * second:
            return (ids,)


def _replaced(ids, pair, made, skip=2, most=None):
    """Each such pair becomes `made`; a wrong skip reads the right token again, and `most` stops after so many."""
    result, index, joined = [], 0, 0
    while index < len(ids):
        found = tuple(ids[index : index + 2]) == pair and joined != most
        result.append(made if found else ids[index])
        joined += found
        index += skip if found else 1
    return result


def _without_overlap(ids):
    """Pairs as a merge would join them: a a a holds one."""
    pairs = Counter()
    for pair in set(pairwise(ids)):
        pairs[pair] = _replaced(ids, pair, -1).count(-1)
    return pairs


def _learn(
    ids,
    num_merges,
    count=lambda ids: Counter(pairwise(ids)),
    order=lambda pair: pair,
    replace=_replaced,
    first=lambda ids: 256,
    again=True,
):
    ids = [int(i) for i in ids]
    rows, new, pairs = [], first(ids), count(ids)
    for _ in range(num_merges):
        if again:
            pairs = count(ids)
        best = min(pairs, key=lambda pair: (-pairs[pair], order(pair)))
        if not again:
            del pairs[best]
        ids = replace(ids, best, new)
        rows.append((*best, new))
        new += 1
    return np.array(rows)


def _learn_first_seen(ids, num_merges):
    return _learn(ids, num_merges, order=lambda pair: 0)


def _learn_larger(ids, num_merges):
    return _learn(ids, num_merges, order=lambda pair: (-pair[0], -pair[1]))


def _learn_once(ids, num_merges):
    return _learn(ids, num_merges, again=False)


def _learn_first_place(ids, num_merges):
    return _learn(ids, num_merges, replace=lambda *pair: _replaced(*pair, most=1))


def _learn_twice_read(ids, num_merges):
    return _learn(ids, num_merges, replace=lambda *pair: _replaced(*pair, skip=1))


def _learn_without_overlap(ids, num_merges):
    return _learn(ids, num_merges, count=_without_overlap)


def _learn_from_the_largest(ids, num_merges):
    return _learn(ids, num_merges, first=lambda ids: max(ids) + 1)


def _random_text(rng):
    """Runs of letters, so that overlapping pairs count; every mistake learns other merges."""
    ways = (_learn, _learn_first_seen, _learn_larger, _learn_once, _learn_first_place)
    ways += (_learn_twice_read, _learn_without_overlap, _learn_from_the_largest)
    while True:
        letters = rng.choice(rng.permutation(np.arange(97, 123))[:4], size=16)
        ids = np.repeat(letters, rng.integers(1, 4, size=16))
        if len({way(ids, 4).tobytes() for way in ways}) == len(ways):
            return ids, 4


def _join(ids, left, right, made):
    result, index = [], 0
    while index < len(ids):
        found = index + 1 < len(ids) and ids[index] == left and ids[index + 1] == right
        result.append(made if found else ids[index])
        index += 2 if found else 1
    return np.array(result)


def _encode(ids, merges):
    for left, right, made in merges:
        ids = _join(ids, left, right, made)
    return np.array(ids)


def _encode_backwards(ids, merges):
    return _encode(ids, merges[::-1])


def _leftmost_pair(ids, merges):
    """Always the first pair that any merge has, from the left."""
    rule = {(int(a), int(b)): int(made) for a, b, made in merges}
    ids = [int(i) for i in ids]
    index = 0
    while index < len(ids) - 1:
        if tuple(ids[index : index + 2]) in rule:
            ids[index : index + 2] = [rule[tuple(ids[index : index + 2])]]
            index = 0
        else:
            index += 1
    return np.array(ids)


def _longest_token(ids, merges):
    """From the left, always the longest token that fits, whatever the merges would have made."""
    spelled = {}
    for a, b, made in merges:
        spelled[int(made)] = (*spelled.get(int(a), (int(a),)), *spelled.get(int(b), (int(b),)))
    ids, result, index = [int(i) for i in ids], [], 0
    while index < len(ids):
        fits = {
            token: letters for token, letters in spelled.items() if tuple(ids[index : index + len(letters)]) == letters
        }
        best = max(fits, key=lambda token: len(fits[token]), default=None)
        result.append(ids[index] if best is None else best)
        index += 1 if best is None else len(fits[best])
    return np.array(result)


def _first_index(ids, merges):
    ids = [int(i) for i in ids]
    for left, right, made in merges:
        indices = [i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == (left, right)]
        if indices:
            ids[indices[0] : indices[0] + 2] = [int(made)]
    return np.array(ids)


def _random_encode(rng):
    """Words whose letters could be joined in other ways: bc before ab, so abc is never made of ab; cd before da."""
    a, b, c, d = (int(i) for i in rng.permutation(np.arange(2, 30))[:4])
    rows = [[b, c, 258], [a, b, 259], [259, c, 260], [c, d, 261], [d, a, 262], [c, 262, 263], [a, a, 264]]
    words = [[a, b, c], [c, d, a], [a, a, b], [b, c, d], [d, a, d], [a, b, d]]
    order = rng.permutation(len(words))
    return np.array([letter for word in order for letter in words[word]]), np.array(rows)


def _padding(lengths, batch_size, ordered=True, per=lambda padding, total: padding / total, drop=False):
    lengths = np.sort(lengths) if ordered else np.asarray(lengths)
    stop = len(lengths) // batch_size * batch_size if drop else len(lengths)
    rows = [lengths[i : i + batch_size] for i in range(0, stop, batch_size)]
    total = sum(len(row) * row.max() for row in rows)
    return np.array(per(total - sum(row.sum() for row in rows), total), dtype=float)


def _from_long_to_short(lengths, batch_size):
    return _padding(np.sort(lengths)[::-1], batch_size, ordered=False)


def _as_wide_as_the_longest(lengths, batch_size):
    return np.array(1 - lengths.sum() / (len(lengths) * lengths.max()))


def _last_batch_filled(lengths, batch_size):
    lengths = np.sort(lengths)
    rows = [lengths[i : i + batch_size] for i in range(0, len(lengths), batch_size)]
    total = sum(batch_size * row.max() for row in rows)
    return np.array((total - lengths.sum()) / total)


def _mean_over_batches(lengths, batch_size):
    lengths = np.sort(lengths)
    rows = [lengths[i : i + batch_size] for i in range(0, len(lengths), batch_size)]
    return np.mean([1 - row.mean() / row.max() for row in rows])


def _random_lengths(rng):
    batch_size = int(rng.integers(3, 6))
    return rng.integers(2, 60, size=4 * batch_size + 2), batch_size


def _to_the_end(tokens):
    return np.array([[*row[row != 0], *row[row == 0]] for row in tokens])


def _random_padded(rng):
    tokens = rng.integers(2, 40, size=(4, 7))
    for row, padding in zip(tokens, (3, 1, 5, 0)):
        row[:padding] = 0
        tokens[0, -1] = tokens[0, 3] = 30  # not in order, and an id twice
    return (tokens,)


EXERCISES = {
    "04.1": Exercise(
        right=8,
        praise="s, low, a space, c, a, f, and the two bytes of é.",
        mistakes={
            # likely: len("é") is 1.
            "Almost: an é is two bytes, and no merge joins them.": 7,
            # likely: bytes are counted, and the merges forgotten.
            "Those are the bytes. The three merges join l, o and w.": 10,
            # likely: characters are counted.
            "Those are the characters. Count bytes, then join l, o and w.": 9,
            # likely: the notebook's *Why* makes one token of a word.
            "Those are the words. Start from the bytes, and apply the three merges.": 2,
            # likely: é and the space are overlooked together.
            "Both the space and the second byte of é are tokens, too.": 6,
        },
        hints=[
            'len("slow café".encode()) counts the bytes.',
            "Which of the merges fit? Each makes the list one shorter.",
        ],
    ),
    "04.2": Exercise(
        right=_wordpiece,
        inputs=_random_ids,
        shape="(2,)",
        praise="It is rare tokens that belong together which this score joins first.",
        mistakes={
            # likely: the notebook's own rule.
            "This is the most frequent pair, which byte-pair encoding joins; divide by how often its tokens occur.": (
                _most_frequent
            ),
            # likely: how often the right token follows the left one, a conditional probability.
            "You divide by how often the left token occurs; divide by the right one's number, too.": _by_the_left,
            # likely: the same from the other side.
            "You divide by how often the right token occurs; divide by the left one's number, too.": _by_the_right,
            # likely: a sum for a product.
            "You divide by the sum of the two numbers; divide by their product.": _by_the_sum,
            # likely: min with a key, and the minus forgotten.
            "This is the pair with the lowest score; take the highest.": _lowest_score,
        },
        hints=[
            "You need two counts: Counter(ids.tolist()), and Counter(pairwise(ids.tolist())).",
            "The score of (a, b) is pairs[a, b] / (single[a] * single[b]).",
            "max with a key finds the pair with the highest score. Return it as an array.",
        ],
    ),
    "04.3": Exercise(
        right=_learn,
        inputs=_random_text,
        shape="(num_merges, 3)",
        praise="That is all that training a byte-pair tokenizer is.",
        mistakes={
            # likely: Counter.most_common, and max with a key, keep the order of the text.
            "Right but for ties: you take the pair that comes first in the text; take the smaller ids.": (
                _learn_first_seen
            ),
            # likely: max over (count, pair) takes the larger of both.
            "Right but for ties: you take the larger ids; take the smaller ones.": _learn_larger,
            # likely: most_common(num_merges) looks like the whole job.
            "You count once; after each merge the neighbors are others, so count again.": _learn_once,
            # likely: a search that stops at the first hit, as list.index does.
            "You join only the first place of each pair; a merge joins the pair wherever it is.": _learn_first_place,
            # likely: a for loop over the indices, which visits the right token again.
            "The right token of a joined pair is still in your list: go on two places after a pair.": _learn_twice_read,
            # likely: str.count doesn't count overlapping ones; named by an outside reading.
            "In a row such as 5 5 5 there are two pairs of neighbors; you count one.": _learn_without_overlap,
            # likely: the next free number.
            "Your new ids begin after the largest id of the text; the first new one is 256.": _learn_from_the_largest,
        },
        hints=[
            "A merge has three steps: count the pairs of neighbors, take the most frequent one, join it everywhere.",
            "max(sorted(pairs), key=pairs.get) breaks ties: sorted puts the smaller ids first.",
            "To join, go through the list with an index of your own, which moves on by two after a pair.",
        ],
    ),
    "04.4": Exercise(
        right=_encode,
        inputs=_random_encode,
        shape="(new length,)",
        praise="That is how the course's tokenizer encodes; it also remembers the words that it has seen.",
        mistakes={
            # likely: a dictionary from pair to rank, and max for min.
            "You apply the last merge first; apply them in the order in which they were learned.": _encode_backwards,
            # likely: reading from left to right comes naturally.
            "You join whatever pair comes first from the left; the merge that was learned first goes first.": _leftmost_pair,
            # seen: WordPiece does so.
            "You take the longest token that fits; what counts is the order of the merges.": _longest_token,
            # likely: a search that stops at the first hit, as list.index does.
            "You join only the first place of each pair; a merge joins the pair wherever it is.": _first_index,
        },
        hints=[
            "join, from By hand, does one merge; it compares lists, which ids.tolist() and merges.tolist() make.",
            "A dictionary from each pair to its place among the merges tells which pair of the word was learned first.",
            "Pairs that aren't in the dictionary were never learned: when the word has no other, you are done.",
        ],
    ),
    "04.6": Exercise(
        track="pytorch",
        right=_padding,
        inputs=_random_lengths,
        shape="(), one number",
        praise="Sorting leaves little: only the lengths inside one batch differ.",
        mistakes={
            # likely: batches are cut from the data as they come.
            "You didn't sort: texts of similar length must be in the same batch.": (
                lambda n, b: _padding(n, b, ordered=False)
            ),
            # named by an outside reading, which found it the better practice.
            "You sort from long to short, which works as well; the answer here is from short to long, as lengths.sort() does it.": (
                _from_long_to_short
            ),
            # seen: tokenize_and_pad of the NumPy notebook makes one array of all.
            "You make every batch as wide as the longest text of all; each is as wide as its own longest.": (
                _as_wide_as_the_longest
            ),
            # likely: padding per token, a ratio for a share.
            "You divide by the real tokens; divide by all ids, padding included.": (
                lambda n, b: _padding(n, b, per=lambda padding, total: padding / (total - padding))
            ),
            # likely: a reshape to (batches, batch_size) wants whole batches, and so does drop_last.
            "You leave out the last batch, which is smaller.": lambda n, b: _padding(n, b, drop=True),
            # likely: batch_size * longest is the size of every other batch.
            "You count the last batch as full; it has fewer rows.": _last_batch_filled,
            # likely: a share for each batch, and mean() of them.
            "You take the mean over the batches; wide batches have more ids. Add up first, then divide.": (
                _mean_over_batches
            ),
        },
        hints=[
            "lengths.sort().values.split(batch_size) gives the lengths of each batch.",
            "A batch holds len(batch) * batch.max() ids, of which batch.sum() are real.",
            "Add up over all batches, and divide once at the end.",
        ],
    ),
    "04.7": Exercise(
        track="keras",
        right=_to_the_end,
        inputs=_random_padded,
        shape="(batch, length)",
        praise="One stable sort can do it for the whole batch at once.",
        mistakes={
            # likely: ops.flip does move the padding.
            "You reverse the rows: the padding is at the end, and the text runs backwards.": lambda x: x[:, ::-1],
            # likely: 0 is the smallest id, so sorting downward moves it to the end.
            "You sort the ids themselves; they must keep their order.": lambda x: -np.sort(-x, axis=1),
            # likely: ops.roll takes one shift for all rows.
            "You roll all rows by as much as the first one; each has its own number of zeros.": (
                lambda x: np.roll(x, -int((x[0] == 0).sum()), axis=1)
            ),
        },
        hints=[
            "Give each place a key: 0 for a real token, 1 for padding. Then sort the places by their keys.",
            "keras.ops.argsort is stable on TensorFlow, PyTorch and JAX: equal keys keep their order.",
            "ops.cast makes numbers of True and False, and ops.take_along_axis picks by the order that argsort found.",
        ],
    ),
    "04.8": Exercise(
        track="compare",
        right=4,
        praise="Only the middle word keeps its id, by accident. No error tells you.",
        mistakes={
            # likely: every place of the list has changed its neighbor, and the middle is overlooked.
            "Not all: turn a list of five around, and look at the middle.": 5,
            # likely: the same words are taken for the same vocabulary.
            "The vocabularies hold the same words, but not in the same order.": 0,
            # likely: the question is read the other way round.
            "That is how many keep their id.": 1,
        },
        hints=["Write the two orders below each other: a b c d e, and e d c b a.", "How many columns differ?"],
    ),
}
