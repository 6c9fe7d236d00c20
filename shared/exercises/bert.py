"""Chapter 13: BERT."""

import numpy as np

from shared.exercises import Exercise

IGNORED = -100


def _posterior(prior, likelihood):
    joint = prior * likelihood
    return joint / joint.sum()


def _likelihood(prior, seen):
    """The probability of what is seen, for each word that it may have been."""
    by_chance = 0.1 / len(prior)
    return np.where(np.arange(len(prior)) == seen, 0.1 + by_chance, by_chance)


def _exact_probs(prior, seen):
    return prior / prior.sum() if seen == -1 else _posterior(prior, _likelihood(prior, seen))


def _trusting(prior, seen):
    return prior / prior.sum() if seen == -1 else np.eye(len(prior))[seen]


def _only_kept(prior, seen):
    if seen == -1:
        return prior / prior.sum()
    by_chance = np.full(len(prior), 0.1 / len(prior))
    by_chance[seen] = 0.1
    return _posterior(prior, by_chance)


def _another(prior, seen):
    if seen == -1:
        return prior / prior.sum()
    by_chance = np.full(len(prior), 0.1 / (len(prior) - 1))
    by_chance[seen] = 0.1
    return _posterior(prior, by_chance)


def _nine_to_one(prior, seen):
    if seen == -1:
        return prior / prior.sum()
    return _posterior(prior, np.where(np.arange(len(prior)) == seen, 0.9, 0.1))


def _mixed_nine_to_one(prior, seen):
    prior = prior / prior.sum()
    return prior if seen == -1 else 0.9 * np.eye(len(prior))[seen] + 0.1 * prior


def _not_divided(prior, seen):
    return prior * (0.8 if seen == -1 else _likelihood(prior, seen))


def _last_word(prior, seen):
    likelihood = np.full(len(prior), 0.1 / len(prior))
    likelihood[seen] += 0.1
    return _posterior(prior, likelihood)


def _random_probs(rng):
    words = int(rng.integers(4, 8))
    prior = rng.uniform(0.5, 2, size=words)
    return prior / prior.sum(), int(rng.choice([-1, rng.integers(words - 1)]))


def _first_of(starts):
    """For each position, where its word begins."""
    return np.maximum.accumulate(np.where(starts, np.arange(starts.shape[1]), 0), axis=1)


def _whole_words(chosen, starts):
    return np.take_along_axis(chosen, _first_of(starts), axis=1)


def _any_of_it(chosen, starts):
    result = np.zeros_like(chosen)
    words = np.cumsum(starts, axis=1)
    for row, (ids, picked) in enumerate(zip(words, chosen)):
        result[row] = np.isin(ids, ids[picked])
    return result


def _two_tokens(chosen, starts):
    first = chosen & starts
    second = np.zeros_like(first)
    second[:, 1:] = first[:, :-1] & ~starts[:, 1:]
    return first | second


def _random_words(rng):
    batch, length = 4, int(rng.integers(9, 12))
    starts = rng.random((batch, length)) < 0.45
    starts[:, 0] = True
    starts[0, :5] = [True, False, False, True, False]  # a word of three tokens
    chosen = rng.random((batch, length)) < 0.4
    chosen[0, :5] = [True, False, True, False, True]
    return chosen, starts


def _by_output(table, tokens, grad_logits):
    return grad_logits.T @ table[tokens]


def _by_lookup(table, tokens, grad_logits):
    result = np.zeros_like(table)
    np.add.at(result, tokens, grad_logits @ table)
    return result


def _repeats_lost(table, tokens, grad_logits):
    result = _by_output(table, tokens, grad_logits)
    result[tokens] += grad_logits @ table
    return result


def _random_tied(rng):
    words, d_model, length = 5, 3, 7
    tokens = rng.permutation(np.array([0, 1, 1, 2, 2, 2, 4]))  # repeats, and a word that doesn't occur
    return rng.normal(size=(words, d_model)), tokens, rng.normal(size=(length, words))


def _log_softmax(z, table):
    logits = z @ table.T
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def _losses(z, table, targets):
    chosen = targets != IGNORED
    rows = _log_softmax(z, table)[chosen]
    return -rows[np.arange(len(rows)), targets[chosen]]


def _as_the_first_word(z, table, targets):
    wanted = np.where(targets == IGNORED, 0, targets)
    return -np.take_along_axis(_log_softmax(z, table), wanted[..., None], axis=-1).mean()


def _random_loss(rng):
    batch, length, d_model, words = 3, 5, 4, 6
    targets = rng.integers(0, words, size=(batch, length))
    targets[rng.random((batch, length)) < 0.5] = IGNORED
    targets[:, 0] = [1, 2, IGNORED]
    return rng.normal(size=(batch, length, d_model)), rng.normal(size=(words, d_model)), targets


def _right(logits, targets):
    return logits.argmax(axis=-1) == targets


def _random_accuracy(rng):
    batch, length, words = 4, 6, 5
    logits = rng.normal(size=(batch, length, words))
    targets = np.where(rng.random((batch, length)) < 0.5, logits.argmax(axis=-1), rng.integers(words))
    targets[rng.random((batch, length)) < 0.4] = IGNORED
    targets[:, 0] = logits[:, 0].argmax(axis=-1)  # each sentence has a chosen position
    targets[0, 1:] = IGNORED
    targets[1, 1] = logits[1, 1].argmin()
    return logits, targets


EXERCISES = {
    "13.1": Exercise(
        right=0.11 / 0.13,
        digits=3,
        praise="Not certain: with a small vocabulary, chance puts a fitting word there quite often.",
        mistakes={
            # likely: "equally probable" is read as the answer
            "That is the chance before you look at the word. How probable is what you see, for each of the three?": 1
            / 3,
            # likely: a random word is thought to be another one
            "A random word can be the original, too: add 0.1/10 to the 0.1.": 0.1 / 0.12,
            # likely: Bayes' rule without its last step
            "That is the probability of seeing the word if it is the original; divide by the sum over the three.": 0.11,
            # likely: BERT's 10 % and 10 %
            "Words are kept as often as they are replaced, but only some replacements give this word.": 0.5,
        },
        hints=[
            "For each of the three words: if it was the original, with what probability do you see what you see?",
            "The original can stay, or be replaced by itself. Another word must have been replaced by just this one.",
            "The three are equally probable before, so only these three probabilities count. Divide the first by their sum.",
        ],
    ),
    "13.2": Exercise(
        right=_exact_probs,
        inputs=_random_probs,
        shape="(words,)",
        praise="This is what exact_predictions does, with the grammar for a prior.",
        trials=16,
        mistakes={
            # likely: a visible word looks like the answer
            "You trust the word that is seen; with 10 % of the chosen words it's a random one.": _trusting,
            # likely: a chosen word is one to predict, so what is seen there seems to tell nothing
            "You treat every word as [MASK]; a word that is seen is evidence for itself.": (
                lambda prior, seen: prior / prior.sum()
            ),
            # likely: a random word is thought to be another one
            "A random word can be the original, too: seeing it has probability 0.1 + 0.1/words.": _only_kept,
            # likely: the same, with the other words counted
            "The random word is drawn from all words, the original among them: divide by their number.": _another,
            # seen: an outside reader's trial answer
            "A visible word isn't the original with 0.9: it was kept with 0.1, and is the random word with 0.1/words.": (
                _nine_to_one,
                _mixed_nine_to_one,
            ),
            # likely: Bayes' rule without its last step
            "The chances must sum to 1: divide by the sum.": (
                _not_divided,
                lambda prior, seen: prior / prior.sum() if seen == -1 else prior * _likelihood(prior, seen),
            ),
            # likely: the last word's likelihood is changed, and NumPy raises nothing
            "seen = -1 is [MASK], and NumPy reads the index -1 as the last word.": _last_word,
        },
        hints=[
            "How probable is what you see, for each word that may have been there? [MASK] is as probable for all of them.",
            "A word that is seen: 0.1/words for every word, and 0.1 more for one of them.",
            "Multiply by the prior, then take step 3 of *By hand*.",
        ],
    ),
    "13.3": Exercise(
        right=_whole_words,
        inputs=_random_words,
        shape="(batch, length)",
        praise="This is whole-word masking, of the second edition of BERT.",
        trials=8,
        mistakes={
            # likely: "whole words" without the sentence about the first token
            "You choose a word if any of its tokens was chosen; only the first counts. (Long words would be chosen more often.)": (
                _any_of_it
            ),
            # likely: one line finds these, and the rest of each word needs several
            "The first tokens are right; the other tokens of their words are missing.": (
                lambda chosen, starts: chosen & starts
            ),
            # likely: a shift by one, as for neighbors, reaches the second token
            "A word may have more than two tokens.": _two_tokens,
            # likely: np.maximum.accumulate of the chosen beginnings
            "A chosen word spreads to all words after it; stop where the next word begins.": (
                lambda chosen, starts: np.maximum.accumulate(chosen & starts, axis=1)
            ),
            # likely: an assignment to True adds tokens and takes none away
            "You fill in the words that are chosen, and leave other chosen tokens as they are: these must not be chosen.": (
                lambda chosen, starts: chosen | _whole_words(chosen, starts)
            ),
        },
        hints=[
            "Each position needs the place where its word begins.",
            "np.arange where a word begins and 0 elsewhere: the largest number so far is the place of the last beginning.",
            "np.maximum.accumulate finds the largest so far, and np.take_along_axis looks up `chosen` at such places.",
        ],
    ),
    "13.4": Exercise(
        right=lambda *given: _by_output(*given) + _by_lookup(*given),
        inputs=_random_tied,
        shape="(words, d)",
        praise="Two uses, two gradients, one sum.",
        mistakes={
            # seen: chapter 12, pitfall 6
            "That is the part of the output alone; the table was looked up at the input, too.": _by_output,
            # likely: the gradient of an embedding is the one of chapter 05
            "That is the part of the lookup alone; the output used the table, too.": _by_lookup,
            # likely: += with repeated indices, which NumPy does once
            "A token that occurs twice gets one gradient of two: table[tokens] += keeps the last.": _repeats_lost,
        },
        hints=[
            "The table is used twice. Find the gradient of each use as if the other table were another array.",
            "The output is a matrix product, as in the section on the tied output. The lookup needs the gradient of x first.",
            "np.add.at(array, tokens, rows) adds a row for each token, and counts tokens that occur twice.",
        ],
    ),
    "13.6": Exercise(
        track="pytorch",
        right=lambda *given: _losses(*given).mean(),
        inputs=_random_loss,
        shape="()",
        praise="If you indexed before the product, then with 15 % chosen, six of seven rows of logits are saved.",
        mistakes={
            # seen: pitfall 5 of the PyTorch notebook
            "You divide by all positions; divide by the chosen ones.": (
                lambda z, table, targets: _losses(z, table, targets).sum() / targets.size
            ),
            # likely: clamp(min=0), so that -100 is no index
            "Where nothing is asked, you ask for token 0: leave these positions out.": _as_the_first_word,
        },
        hints=[
            "A mask of booleans as an index keeps the positions that are True, in one axis.",
            "Index z and targets with the same mask, before you compute any logits.",
            "F.cross_entropy takes logits of shape (n, words) and targets of shape (n,).",
        ],
    ),
    "13.7": Exercise(
        track="keras",
        right=lambda logits, targets: _right(logits, targets)[targets != IGNORED].mean(),
        inputs=_random_accuracy,
        shape="()",
        praise="It works inside compile(metrics=[...]), too.",
        errors={"int32": "ops.argmax gives int32: compare with ops.equal, or cast the targets."},
        mistakes={
            # seen: Keras' "accuracy"
            "You divide by all positions; divide by the chosen ones.": (
                lambda logits, targets: _right(logits, targets).mean()
            ),
            # likely: sums with axis=-1, and then a mean of the quotients
            "You take the mean of the sentences' shares; every chosen position counts the same.": (
                lambda logits, targets: np.mean(
                    [r[t != IGNORED].mean() for r, t in zip(_right(logits, targets), targets)]
                )
            ),
        },
        hints=[
            "Two masks of booleans: where the guess is right, and where a target counts.",
            "ops.argmax gives int32, so compare with ops.equal or cast the targets. ops.sum of booleans needs a cast to numbers, too.",
            "One sum divided by another. No guess is ever -100, so what does the first sum need?",
        ],
    ),
    "13.8": Exercise(
        track="compare",
        right=64 * 64 + 64 + 2 * 64 + 1000,
        praise="The table belongs to the embedding, so the head adds few numbers.",
        mistakes={
            # likely: the decoder of a BERT is drawn with its table
            "The table is the embedding's; the head uses it and doesn't own it.": 64 * 64 + 64 + 2 * 64 + 1000 + 64_000,
            # seen: pitfall 2, the output's bias that is left out
            "Every token has a bias of its own in the head.": 64 * 64 + 64 + 2 * 64,
            # likely: it is small beside the kernel
            "The LayerNorm is missing: a scale and a shift for each feature.": 64 * 64 + 64 + 1000,
            # likely: the kernel alone comes to mind
            "The linear layer has a bias, too.": 64 * 64 + 2 * 64 + 1000,
        },
        hints=[
            "What does the head own? Look at its steps.",
            "A linear layer from 64 to 64 features, a LayerNorm, and one number for each token.",
            "A linear layer has a kernel and a bias, a LayerNorm a scale and a shift.",
        ],
    ),
}
