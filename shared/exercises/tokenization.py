"""Chapter 04: tokenization."""

from collections import Counter
from itertools import pairwise

import numpy as np

from shared.exercises import Exercise


def _pairs(ids):
    return Counter(pairwise(int(i) for i in ids))


def _best(ids, order=lambda pair: pair):
    counts = _pairs(ids)
    return np.array(min(counts, key=lambda pair: (-counts[pair], order(pair))))


def _rarest(ids):
    counts = _pairs(ids)
    return np.array(min(counts, key=lambda pair: (counts[pair], pair)))


def _first_seen(ids):
    counts = _pairs(ids)
    return np.array(max(counts, key=counts.get))


def _unordered(ids):
    counts = Counter(tuple(sorted(pair)) for pair in pairwise(int(i) for i in ids))
    return np.array(min(counts, key=lambda pair: (-counts[pair], pair)))


def _every_second(ids):
    counts = Counter((int(a), int(b)) for a, b in zip(ids[::2], ids[1::2]))
    return np.array(min(counts, key=lambda pair: (-counts[pair], pair)))


def _larger(ids):
    return _best(ids, lambda pair: (-pair[0], -pair[1]))


def _right_id_first(ids):
    return _best(ids, lambda pair: pair[::-1])


def _random_ids(rng):
    """A text for which every way to break a tie or to miscount finds another pair."""
    while True:
        ids = rng.choice(rng.permutation(np.arange(2, 30))[:5], size=24)
        ways = (_best, _first_seen, _larger, _right_id_first, _rarest, _unordered, _every_second)
        if len({tuple(way(ids).tolist()) for way in ways}) == len(ways):
            return (ids,)


def _join(ids, left, right, made):
    result, index = [], 0
    while index < len(ids):
        found = index + 1 < len(ids) and ids[index] == left and ids[index + 1] == right
        result.append(made if found else ids[index])
        index += 2 if found else 1
    return np.array(result)


def _spell(ids, merges):
    parts = {int(made): (int(left), int(right)) for left, right, made in merges}

    def letters(token):
        return [token] if token not in parts else [letter for part in parts[token] for letter in letters(part)]

    return np.array([letter for token in ids for letter in letters(int(token))])


def _spell_once(ids, merges):
    parts = {int(made): (left, right) for left, right, made in merges}
    return np.array([part for i in ids for part in parts.get(int(i), (i,))])


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


def _random_encode_back(rng):
    """Tokens of two and more letters, some made of others in the order of the merges and some against it."""
    a, b, c, d = (int(i) for i in rng.permutation(np.arange(2, 30))[:4])
    merges = np.array([[a, b, 258], [258, c, 259], [d, 258, 260], [259, 260, 261], [c, d, 262]])
    return np.concatenate([[261, 258, 262], rng.permutation([a, b, c, d, 258, 259, 260, 261, 262])]), merges


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
        right=6,
        praise="A space, c, a, f, and the two bytes of é. A byte-level tokenizer counts bytes.",
        mistakes={
            # likely: len("café") counts characters.
            "Those are the characters. An é is two bytes, and encode puts a space before the first word.": 4,
            # likely: one of two facts is remembered.
            "Almost: there is one more byte. Either é (two bytes) or the space before the first word is missing.": 5,
            # likely: the notebook's first tokenizer makes one token of a word.
            "Without merges nothing is joined: each byte is a token by itself.": 1,
            # seen: BERT's encode adds [CLS] and [SEP].
            "No special tokens are added by encode: count the bytes, and the space before the first word.": 8,
            # named by an outside reading; likely: Llama's encode adds one token at the beginning.
            "One too many: encode adds no token for a beginning or an end. Count the space, and the bytes.": 7,
        },
        hints=['len("café".encode()) counts bytes.', "What does encode put before the first word?"],
    ),
    "04.2": Exercise(
        right=_best,
        inputs=_random_ids,
        shape="(2,)",
        praise="Repeat it with the next exercise, and you have trained a tokenizer.",
        mistakes={
            # likely: Counter.most_common, and max with a key, keep the order of the text.
            "Right but for ties: you take the pair that comes first in the text; take the smaller ids.": _first_seen,
            # likely: max over (count, pair) takes the larger of both.
            "Right but for ties: you take the larger ids; take the smaller ones.": _larger,
            # likely: By hand's min with a key, and the minus forgotten.
            "This is the rarest pair; merge the most frequent one.": _rarest,
        },
        hints=[
            "collections.Counter(zip(ids[:-1].tolist(), ids[1:].tolist())) counts all pairs.",
            "min with a key can look at two things at once: first the count, then the pair.",
            "The largest count is the smallest negative count. Return the pair as an array.",
        ],
    ),
    "04.3": Exercise(
        right=_spell,
        inputs=_random_encode_back,
        shape="(number of letters,)",
        praise="This is what decoding rests on: each token is the letters it was made of.",
        mistakes={
            # likely: a dictionary of parts, or a loop over the merges from the first to the last.
            "Each id is taken apart once, but its parts may be made by merges, too: go through the merges from the last to the first.": _spell_once,
        },
        hints=[
            "Undo what was done last first.",
            "For each merge, build a new list: left and right in the place of made, everything else as it is.",
            "merges[::-1] goes through the merges from the last to the first.",
        ],
    ),
    "04.4": Exercise(
        right=_encode,
        inputs=_random_encode,
        shape="(new length,)",
        praise="That is encode, without the table of words it remembers.",
        mistakes={
            # likely: the loop of 04.3, taken over.
            "You apply the last merge first; apply them in the order in which they were learned.": _encode_backwards,
            # likely: reading from left to right comes naturally.
            "You join whatever pair comes first from the left; the merge that was learned first goes first.": _leftmost_pair,
            # seen: WordPiece does so.
            "You take the longest token that fits; what counts is the order of the merges.": _longest_token,
            # likely: a search that stops at the first hit, as list.index does.
            "You join only the first place of each pair; a merge joins the pair wherever it is.": _first_index,
        },
        hints=[
            "join_pair, from By hand, does one merge.",
            "One loop over the rows of merges; each gets the result of the one before.",
            "join_pair compares lists: ids.tolist() and merges.tolist() make them.",
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
