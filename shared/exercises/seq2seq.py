"""Chapter 12: translation."""

import numpy as np

from shared.exercises import Exercise


def _right(written, wanted):
    """Which tokens are right, and which count."""
    return written == wanted, wanted != 0


def _exact(written, wanted):
    same, counts = _right(written, wanted)
    return np.mean((same | ~counts).all(axis=1))


def _random_written(rng):
    """Some rows right, some with a mistake, and what was written on padding is arbitrary."""
    batch, length = int(rng.integers(6, 9)), int(rng.integers(5, 8))
    lengths = rng.permutation(np.arange(batch) % (length - 2) + 2)
    counts = np.arange(length) < lengths[:, None]
    wanted = np.where(counts, rng.integers(3, 9, size=(batch, length)), 0)
    written = np.where(counts, wanted, rng.integers(0, 3, size=(batch, length)))
    wrong = rng.permutation(batch)[: batch // 3]
    written[wrong, 1] = 9
    full = int(np.argmax(lengths))
    written[full] = np.where(counts[full], wanted[full], 0)
    return written, wanted


def _greedy_text(next_probabilities, start_id, end_id, max_length):
    tokens = [start_id]
    while len(tokens) < max_length and (len(tokens) == 1 or tokens[-1] != end_id):
        tokens.append(int(np.argmax(next_probabilities(np.array(tokens)))))
    return np.array(tokens)


def _never_stops(next_probabilities, start_id, end_id, max_length):
    return _greedy_text(next_probabilities, start_id, -1, max_length)


def _one_more(next_probabilities, start_id, end_id, max_length):
    return _greedy_text(next_probabilities, start_id, end_id, max_length + 1)


def _last_only(next_probabilities, start_id, end_id, max_length):
    """Every choice from the last token alone."""
    return _greedy_text(lambda tokens: next_probabilities(tokens[-1:]), start_id, end_id, max_length)


def _random_text(rng):
    """Probabilities that depend on every token so far; the end comes after some steps, or not at all."""
    vocab_size, start_id, end_id = 7, 1, 2
    weights = rng.normal(size=(12, 20, vocab_size)) * 2
    last = int(rng.integers(3, 8))  # where the end comes
    max_length = last + int(rng.choice([-1, 2]))

    def next_probabilities(tokens):
        logits = sum(weights[index, token] for index, token in enumerate(np.asarray(tokens).tolist()))
        logits = np.array(logits)
        logits[[0, start_id, end_id]] = -9.0
        if len(tokens) >= last:
            logits[end_id] = 40.0
        exponentials = np.exp(logits - logits.max())
        return exponentials / exponentials.sum()

    return next_probabilities, start_id, end_id, max_length


def _pairs(scores, beams):
    """The best entries of (beams, vocab_size) as rows of beam and token."""
    order = np.argsort(-scores.reshape(-1), kind="stable")[:beams]
    return np.stack(np.divmod(order, scores.shape[1]), axis=1)


def _beam_step(totals, log_p):
    return _pairs(totals[:, None] + log_p, len(totals))


def _random_beam(rng):
    beams, vocab_size = int(rng.integers(3, 5)), 6
    log_p = np.log(rng.dirichlet(np.ones(vocab_size) * 0.7, size=beams))
    return np.sort(rng.normal(scale=1.5, size=beams) - 4)[::-1].copy(), log_p


def _best_of_each(totals, log_p):
    return np.stack([np.arange(len(totals)), log_p.argmax(axis=1)], axis=1)


def _best_of_each_sorted(totals, log_p):
    order = np.argsort(-(totals + log_p.max(axis=1)), kind="stable")
    return _best_of_each(totals, log_p)[order]


def _grow(target, beam, token):
    rows = np.arange(len(target))[:, None]
    return np.concatenate([target[rows, beam], token[:, :, None]], axis=2)


def _random_grow(rng):
    batch, beams, length = int(rng.integers(2, 4)), 3, int(rng.integers(3, 6))
    target = rng.integers(3, 30, size=(batch, beams, length))
    beam = np.array([[2, 0, 0], [1, 1, 2], [1, 2, 0]])[:batch]
    return target, beam, rng.integers(3, 30, size=(batch, beams))


def _grown_in_order(target, beam, token):
    return np.concatenate([target, token[:, :, None]], axis=2)


def _grown_by_first(target, beam, token):
    return np.concatenate([target[:, beam[0]], token[:, :, None]], axis=2)


def _token_moved(target, beam, token):
    return _grow(target, beam, np.take_along_axis(token, beam, axis=1))


def _let_go_on(log_p, ended, pad_id):
    padding = np.where(np.arange(log_p.shape[2]) == pad_id, 0.0, -np.inf)
    return np.where(ended[:, :, None], padding, log_p)


def _random_ended(rng):
    batch, beams, vocab_size = int(rng.integers(2, 4)), 3, int(rng.integers(5, 7))
    log_p = np.log(rng.dirichlet(np.ones(vocab_size), size=(batch, beams)))
    ended = np.array([[True, False, False], [False, True, True], [False, False, True]])[:batch]
    return log_p, ended, int(rng.integers(0, 3))


def _with(value_at_pad, elsewhere):
    """Two values for the beams that have ended."""

    def wrong(log_p, ended, pad_id):
        row = np.where(np.arange(log_p.shape[2]) == pad_id, value_at_pad, elsewhere)
        return np.where(ended[:, :, None], row, log_p)

    return wrong


def _by_beams(totals, log_p):
    order = np.argsort(-(totals[:, None] + log_p).ravel(), kind="stable")[: len(totals)]
    return np.stack(np.divmod(order, len(totals)), axis=1)


EXERCISES = {
    "12.1": Exercise(
        right=0.98**11,
        digits=2,
        praise="One of five texts has a mistake, though 98 % of the tokens are right.",
        mistakes={
            # likely: the question says 10 amino acids
            "The end is a token too: eleven must be right.": round(0.98**10, 2),
            # likely: 11 times 2 % is a quick estimate
            "You subtract 0.02 for each token, as if two mistakes never met in one text; multiply.": 0.78,
            # likely: the chance of a mistake is what comes to mind first
            "That is the chance of at least one mistake.": 0.2,
        },
        hints=[
            "How many tokens does the model write? The end is one of them.",
            "Two independent events both happen with the product of their probabilities.",
            "The chance is a power of 0.98.",
        ],
    ),
    "12.2": Exercise(
        right=_exact,
        inputs=_random_written,
        shape="(), one number",
        praise="It is the strictest measure there is: one wrong token, and the row counts for nothing.",
        mistakes={
            # seen: pitfall 8
            "That is the share of right tokens; a row counts only if all of its tokens are right.": (
                lambda a, b: _right(a, b)[0][_right(a, b)[1]].mean()
            ),
            # likely: (written == wanted).all(axis=1), and no mask
            "You count places that are padding in `wanted`; what was written there doesn't matter.": lambda a, b: (
                (a == b).all(axis=1).mean()
            ),
            # likely: accuracy by habit, (written == wanted).mean()
            "That is the share of all places that are right, padding among them.": lambda a, b: (a == b).mean(),
            # likely: & with the mask leaves padding out of a mean, but not out of all()
            "Padding counts as a mistake in yours; it must count as right.": (
                lambda a, b: np.mean((_right(a, b)[0] & _right(a, b)[1]).all(axis=1))
            ),
            # likely: axis=0 in place of 1
            "You ask of each place whether all rows are right there; ask of each row (axis 1).": (
                lambda a, b: np.mean((_right(a, b)[0] | ~_right(a, b)[1]).all(axis=0))
            ),
        },
        hints=[
            "Which places matter? Those where `wanted` isn't padding.",
            "A place is fine if it is right, or if it is padding.",
            "Of each row you want to know whether all of its places are fine; then the mean over the rows.",
        ],
    ),
    "12.3": Exercise(
        right=_greedy_text,
        inputs=_random_text,
        trials=10,
        shape="(length,), with the start and, if it was chosen, the end",
        praise="It is what greedy_decode does for each row.",
        mistakes={
            # likely: a loop over range, without a break
            "Yours goes on after the end.": _never_stops,
            # likely: range(max_length) after the start, or the end counted apart
            "At most max_length tokens are allowed in all, the start among them: yours allows one more or one less.": (
                _one_more,
                lambda f, start, end, n: _greedy_text(f, start, end, n - 1),
            ),
            # likely: break before append
            "The end belongs to the text, if it was chosen.": (
                lambda f, start, end, n: np.array([each for each in _greedy_text(f, start, end, n) if each != end])
            ),
            # likely: what was written is what a translator returns
            "The start is missing.": lambda f, start, end, n: _greedy_text(f, start, end, n)[1:],
            # seen: recurrent decoders, whose state remembers the rest
            "Every choice is made from the last token alone; give the function all tokens so far.": _last_only,
        },
        hints=[
            "Begin with an array, or a list, that holds the start alone.",
            "Two things end the loop: the end was written, or there is no room.",
            "argmax of the probabilities is the next token; the function wants an array of all tokens so far.",
        ],
    ),
    "12.4": Exercise(
        right=_beam_step,
        inputs=_random_beam,
        trials=10,
        shape="(beams, 2)",
        praise="With a length penalty you'd divide before you compare.",
        mistakes={
            # seen: an outside reader's trial answer (sorted); argmax along the last axis is the first idea
            "You take the best token of each beam; one beam may have several of the best, and another none.": (
                _best_of_each,
                _best_of_each_sorted,
            ),
            # likely: log_p alone is ranked
            "The totals are missing: a beam that was improbable stays so.": lambda t, p: _pairs(p, len(t)),
            # likely: probabilities are multiplied
            "Log-probabilities are added; you multiply.": lambda t, p: _pairs(t[:, None] * p, len(t)),
            # likely: np.argsort sorts upward, and [:beams] takes its beginning
            "You take the worst ones: the largest log-probability is best.": (
                lambda t, p: _pairs(-(t[:, None] + p), len(t))
            ),
            # likely: np.argsort sorts upward, and [-beams:] takes its end
            "Right, and in the wrong order: best first.": lambda t, p: _beam_step(t, p)[::-1],
            # likely: the number of beams is the first axis of both arrays
            "Divide the place by the size of the vocabulary, not by the number of beams.": _by_beams,
        },
        hints=[
            "What is the log-probability of a beam with a token after it?",
            "Put all continuations in one row, and sort it.",
            "np.divmod by the size of the vocabulary turns a place in that row into beam and token.",
        ],
    ),
    "12.6": Exercise(
        track="pytorch",
        right=_grow,
        inputs=_random_grow,
        shape="(batch, beams, length + 1)",
        praise="It is step 6 of beam_search.",
        mistakes={
            # likely: torch.cat is half of the work, and the shape is right
            "The tokens are appended, and the texts were not reordered.": _grown_in_order,
            # likely: target[:, beam[0]] is the indexing that works for a batch of one
            "All rows of the batch use the beams of the first row.": _grown_by_first,
            # likely: append first, then reorder everything
            "The tokens belong to the new beams already; don't reorder them.": _token_moved,
        },
        errors={
            "Index tensor must have the same number of dimensions": "gather wants an index with as many axes as the tensor.",
            "Tensors must have same number of dimensions": "Give the tokens a third axis.",
        },
        hints=[
            "target.gather(1, index) takes, for each entry, the beam that index names.",
            "The index must have three axes, and the same beam for all places of a text: expand repeats without copying.",
            "The tokens need a third axis before they can be appended.",
        ],
    ),
    "12.7": Exercise(
        track="keras",
        right=_let_go_on,
        inputs=_random_ended,
        shape="(batch, beams, vocab_size)",
        praise="A beam that has ended keeps its score, because log 1 is 0.",
        errors={"item assignment": "Keras' tensors can't be assigned to: ops.where makes a new one."},
        mistakes={
            # likely: a probability of 1 for padding, and of 0 for the rest
            "Those are not log-probabilities: log 1 is 0, and the logarithm of 0 is minus infinity.": (
                _with(1.0, -np.inf),
                _with(1.0, 0.0),
            ),
            # seen: Annotated Transformer, masked_fill(mask == 0, -1e9)
            "A large negative number isn't impossible; use minus infinity.": _with(0.0, -1e9),
            # likely: ops.where(ended, -inf, log_p) comes first, and padding is forgotten
            "All tokens are impossible in yours; padding must stay possible.": _with(-np.inf, -np.inf),
            # likely: the two cases of ops.where exchanged
            "The wrong beams: those that have ended go on as if nothing had happened.": (
                lambda log_p, ended, pad_id: _let_go_on(log_p, ~ended, pad_id)
            ),
            # likely: the others are forbidden, and what is left seems to be certain
            "Padding keeps the model's probability in yours; it must be free.": (
                lambda log_p, ended, pad_id: np.where(
                    ended[:, :, None] & (np.arange(log_p.shape[2]) != pad_id), -np.inf, log_p
                )
            ),
        },
        hints=[
            "Make the row that all ended beams get: 0 for padding, minus infinity for the rest.",
            "ops.arange(vocab_size) == pad_id tells which entry is padding.",
            "ops.where chooses between two arrays; `ended` needs a third axis to fit.",
        ],
    ),
    "12.8": Exercise(
        track="compare",
        right=1472,
        praise="The kernel of 64 × 23 is gone; the bias of 23 stays.",
        mistakes={
            # likely: "the projection is gone" is taken to mean both of its arrays
            "The bias stays: only the kernel is gone.": 1495,
            # likely: the first vocabulary of the question
            "It is the target's table that makes the logits, not the source's.": 320,
            # seen: Vaswani et al. 2017, section 3.4, who share both tables
            "The source's table has no part in it.": 1792,
        },
        hints=[
            "Which array makes the logits without tie_weights, and what is its shape?",
            "Which part of the projection is not in the embedding?",
            "Count the kernel: its inputs are features, its outputs tokens of the target.",
        ],
    ),
}
