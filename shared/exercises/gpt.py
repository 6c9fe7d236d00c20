"""Chapter 14: GPT."""

import numpy as np

from shared.exercises import Exercise


def _softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _sampled(weights, uniforms):
    sums = weights.cumsum(axis=-1)
    return (sums / sums[:, -1:] <= uniforms[:, None]).sum(axis=-1)


def _random_weights(rng):
    batch, words = int(rng.integers(5, 8)), int(rng.integers(4, 7))
    weights = rng.uniform(0.2, 2, size=(batch, words))
    weights[:, 1] = 0
    uniforms = rng.permutation(np.linspace(0.03, 0.97, batch))
    weights[0, 0] = uniforms[0] = 0  # a number of 0 must pass over a word of weight 0
    return weights, uniforms


def _keep(probs, kept):
    probs = np.where(kept, probs, 0)
    return probs / probs.sum()


def _before(probs):
    """What all more likely words add up to, for each word."""
    return np.array([probs[probs > prob].sum() for prob in probs])


def _nucleus(probs, p):
    return _keep(probs, _before(probs) < p)


def _up_from_the_least(probs, p):
    below = np.array([probs[probs < prob].sum() for prob in probs])
    return _keep(probs, below < p)


def _one_more(probs, p):
    kept = (_before(probs) < p).sum() + 1
    return _keep(probs, np.argsort(np.argsort(-probs)) < kept)


def _random_nucleus(rng):
    if rng.random() < 0.5:  # p is reached exactly; such sums have no rounding
        return rng.permutation([0.5, 0.25, 0.15625, 0.09375]), 0.75
    words = int(rng.integers(6, 9))
    probs = rng.dirichlet(np.full(words, 1.5))
    before = np.sort(_before(probs))
    p = (before[2] + before[3]) / 2  # three words are left, clear of any rounding
    return probs, float(p)


def _attend(query, key, value, keys, values, scale=None):
    keys, values = np.vstack([keys, key]), np.vstack([values, value])
    scale = np.sqrt(len(query)) if scale is None else scale
    return _softmax(keys @ query / scale) @ values


def _without_itself(query, key, value, keys, values):
    return _softmax(keys @ query / np.sqrt(len(query))) @ values


def _random_attend(rng):
    cached, d = int(rng.integers(3, 7)), int(rng.integers(3, 6))
    query, key, value = rng.normal(size=(3, d))
    keys, values = rng.normal(size=(2, cached, d))
    return 2 * query, key, value, keys, values


def _costs(logits, tokens):
    """Minus the logarithm of the chance of each next token, (batch, length - 1)."""
    probs = _softmax(logits[:, :-1])
    return -np.log(np.take_along_axis(probs, tokens[:, 1:, None], axis=-1)[..., 0])


def _not_shifted(logits, tokens):
    return np.exp(-np.log(np.take_along_axis(_softmax(logits), tokens[..., None], axis=-1)).mean())


def _shifted_back(logits, tokens):
    probs = _softmax(logits[:, 1:])
    return np.exp(-np.log(np.take_along_axis(probs, tokens[:, :-1, None], axis=-1)).mean())


def _random_texts(rng):
    batch, length, words = 3, int(rng.integers(5, 8)), 6
    return rng.normal(scale=2, size=(batch, length, words)), rng.integers(0, words, size=(batch, length))


def _min_p(logits, p):
    probs = _softmax(logits)
    return _rows(np.where(probs >= p * probs.max(axis=-1, keepdims=True), probs, 0))


def _rows(probs):
    return probs / probs.sum(axis=-1, keepdims=True)


def _of_the_logits(logits, p):
    return _softmax(np.where(logits >= p * logits.max(axis=-1, keepdims=True), logits, -np.inf))


def _random_min_p(rng):
    batch, words = 4, int(rng.integers(6, 9))
    logits = rng.normal(scale=1.5, size=(batch, words))
    logits[0] += 0.5 - logits[0].max()  # so that a share of the highest logit is a threshold of its own
    return logits, float(rng.uniform(0.15, 0.3))


class _Reader:
    """A model of 7 words whose logits depend on all that was read, and on its order."""

    def __init__(self, rng):
        self.table = rng.normal(scale=2, size=(7, 7))
        self.turn = rng.normal(scale=2, size=(7, 7))

    def make_cache(self):
        return []

    def __call__(self, tokens, cache):
        rows = []
        for token in np.asarray(tokens).astype(int).ravel().tolist():
            cache.append(token)
            weights = 0.5 ** np.arange(len(cache))[::-1]
            seen = (self.table[cache] * weights[:, None]).sum(axis=0)
            rows.append(np.sin(3 * seen) + self.turn[cache[-1]] + np.cos(len(cache) * self.turn[0]))
        return np.array(rows)


def _continued(model, prompt, num_new, first=None, again=lambda text, new: [new], row=-1, fresh=False):
    """The right loop, and with one thing changed the wrong ones."""
    text, cache = list(prompt), model.make_cache()
    read = list(prompt) if first is None else first(prompt)
    for _ in range(num_new):
        if fresh:
            cache = model.make_cache()
        new = int(np.argmax(model(read, cache)[row]))
        text.append(new)
        read = again(text, new)
    return np.array(text)


def _random_reader(rng):
    prompt = rng.integers(0, 7, size=int(rng.integers(3, 6)))
    return _Reader(rng), prompt, int(rng.integers(6, 9))


EXERCISES = {
    "14.1": Exercise(
        right=4 + 5 + 6 + 7 + 8 + 9,
        praise="With a cache it would be 4 + 5 = 9.",
        mistakes={
            # likely: the chapter writes with a cache
            "That is the number with a cache; without one, each call reads the whole text.": 9,
            # likely: one call for each of the text's lengths, the final one among them
            "The last token is drawn, and then nothing is left to do: it is never read.": 49,
            # likely: off by one, from the text after each draw
            "The first call reads the prompt alone, before any token is drawn; and the last token is never read.": 45,
            # likely: every token is read, and counted once
            "That is the length of the final text; add up what each call reads.": 10,
        },
        hints=[
            "Six tokens are drawn, so the model is called six times.",
            "How long is the text at the first call? And at the last one?",
            "The first call reads 4 positions, the second 5.",
        ],
    ),
    "14.2": Exercise(
        right=_sampled,
        inputs=_random_weights,
        shape="(batch,)",
        praise="A word of weight 0 has a stretch of length 0, and is never drawn.",
        mistakes={
            # seen: pitfall 3
            "The weights don't add up to 1: stretch the running sums, or divide the weights first.": (
                lambda weights, uniforms: (weights.cumsum(axis=-1) <= uniforms[:, None]).sum(axis=-1)
            ),
            # seen: np.searchsorted, whose side is "left" by default
            "The number 0 draws a word of weight 0 in yours: count the sums that are not above the number, equal ones too.": (
                lambda weights, uniforms: (
                    weights.cumsum(axis=-1) / weights.sum(axis=-1, keepdims=True) < uniforms[:, None]
                ).sum(axis=-1)
            ),
            # likely: greedy decoding was there first
            "You take the most likely word; the random numbers must decide.": (
                lambda weights, uniforms: weights.argmax(axis=-1)
            ),
            # likely: elsewhere in the chapter a row holds logits
            "The weights are no logits: they need no softmax.": (
                lambda weights, uniforms: _sampled(np.exp(weights), uniforms)
            ),
        },
        hints=[
            "np.cumsum with axis=-1 adds up each row from the left.",
            "What is the last running sum of a row? It should be 1.",
            "uniforms[:, None] has a column, so it is compared with every sum of its row.",
        ],
    ),
    "14.3": Exercise(
        right=_nucleus,
        inputs=_random_nucleus,
        shape="(words,)",
        praise="token_probabilities does the same for a batch, and keeps ties.",
        trials=8,
        mistakes={
            # seen: an outside reader's trial answer; cumsum <= p is the first comparison to try
            "The word that passes p is missing: what is left must add up to at least p.": (
                lambda probs, p: _keep(probs, _before(probs) + probs <= p),
                lambda probs, p: _keep(probs, _before(probs) + probs < p),
            ),
            # seen: pitfall 3
            "What is left must add up to 1: divide by its sum.": (
                lambda probs, p: np.where(_before(probs) < p, probs, 0)
            ),
            # likely: the sorted array is cut and returned
            "Right, but sorted: put the chances back in the order in which they came.": (
                lambda probs, p: -np.sort(-_nucleus(probs, p))
            ),
            # likely: np.sort and np.argsort sort upward
            "You add up from the least likely word; begin with the most likely.": _up_from_the_least,
            # likely: np.cumsum of the array as it came
            "You add up in the given order; begin with the most likely word.": (
                lambda probs, p: _keep(probs, probs.cumsum() - probs < p)
            ),
            # likely: the index of the word that passes p, plus 1 and plus 1 again, or <= in place of <
            "One word too many: stop as soon as p is reached.": (
                _one_more,
                lambda probs, p: _keep(probs, _before(probs) <= p),
            ),
            # seen: an outside reader's trial answer
            "You compare each chance with p; p is for their sum.": lambda probs, p: _keep(probs, probs >= p),
        },
        hints=[
            "Sort from high to low, and add up. Which words are needed to reach p?",
            "A word is needed if everything before it adds up to less than p.",
            "np.argsort(-probs) gives the order; with it you can write the kept ones to their old places.",
        ],
    ),
    "14.4": Exercise(
        right=_attend,
        inputs=_random_attend,
        shape="(d,)",
        praise="This is what decoding does for each head of each text.",
        trials=8,
        mistakes={
            # likely: a cache is taken for the past, which the token is no part of
            "The new token attends to itself, too: append its key and value first.": _without_itself,
            # likely: forgotten, or without the root
            "The scores are not divided by the square root of d.": (
                lambda *given: _attend(*given, scale=1.0),
                lambda *given: _attend(*given, scale=len(given[0])),
            ),
            # seen: pitfall 1 of the PyTorch notebook
            "You attend to the first position alone, as is_causal=True does with one query.": (
                lambda query, key, value, keys, values: values[0]
            ),
        },
        hints=[
            "First the cache: the new key and value go after the others. np.vstack or np.concatenate does it.",
            "One score for each position: the dot product of its key with the query, scaled as in chapter 06.",
            "A softmax over the positions, and the weighted sum of the values. No mask is needed.",
        ],
    ),
    "14.9": Exercise(
        right=_continued,
        inputs=_random_reader,
        shape="(length,)",
        praise="That is the loop of generate, for one text.",
        trials=8,
        mistakes={
            # likely: the loop without a cache, with a cache put in
            "You read the whole text again with a cache that holds it already: read the new token alone.": (
                lambda *given: _continued(*given, again=lambda text, new: list(text))
            ),
            # likely: make_cache() is written as an argument of the call
            "Every call has an empty cache, so the model sees the new token alone: make one cache, before the loop.": (
                lambda *given: _continued(*given, fresh=True)
            ),
            # likely: one token a call, from the first call on
            "Of the prompt you read the last token alone; the cache needs all of it.": (
                lambda *given: _continued(*given, first=lambda prompt: prompt[-1:])
            ),
            # likely: in later calls there is one row, and [0] is right
            "You take the logits of the first position; those of the last one say what comes next.": (
                lambda *given: _continued(*given, row=0)
            ),
            # likely: off by one, from the token that the prompt's call gives
            "num_new tokens come after the prompt; yours are one more or one less.": (
                lambda model, prompt, num_new: _continued(model, prompt, num_new + 1),
                lambda model, prompt, num_new: _continued(model, prompt, num_new - 1),
            ),
            # likely: what was written is collected in a list of its own
            "Return the whole text, with the prompt in front.": (
                lambda model, prompt, num_new: _continued(model, prompt, num_new)[len(prompt) :]
            ),
        },
        hints=[
            "Two things live through the loop: the cache, and what is to be read next.",
            "First the prompt is to be read, and after each step the one token that was chosen.",
            "model(read, cache)[-1].argmax() is the next token.",
        ],
    ),
    "14.6": Exercise(
        track="pytorch",
        right=lambda *given: np.exp(_costs(*given).mean()),
        inputs=_random_texts,
        shape="()",
        praise="This is how language models are compared, on texts with equal tokens.",
        mistakes={
            # likely: logits and tokens have equal lengths, so nothing is raised
            "The logits at a position are for the NEXT token: shift by one.": _not_shifted,
            # likely: the two slices exchanged
            "Shifted the wrong way: the logits at position i are for token i + 1.": _shifted_back,
            # likely: F.cross_entropy is the last line of most such functions
            "That is the loss; the perplexity is its exponential.": lambda *given: _costs(*given).mean(),
            # likely: exp before the mean, as one perplexity for each token
            "You take the mean of each token's exponential; take the mean first.": (
                lambda *given: np.exp(_costs(*given)).mean()
            ),
            # seen: Hugging Face's evaluate, whose perplexity returns mean_perplexity over the texts
            "You take the mean of the texts' perplexities; every token counts the same.": (
                lambda *given: np.exp(_costs(*given).mean(axis=1)).mean()
            ),
            # seen: textbooks, which define it as 2 to the entropy in bits
            "The loss is in nats: take the power of e, not of 2.": lambda *given: 2 ** _costs(*given).mean(),
        },
        hints=[
            "Which logits predict tokens[:, 1:]?",
            "F.cross_entropy takes logits of shape (n, words) and targets of shape (n,): flatten both.",
            "Its result is the mean loss in nats; the perplexity is one function away.",
        ],
    ),
    "14.7": Exercise(
        track="keras",
        right=_min_p,
        inputs=_random_min_p,
        shape="(batch, words)",
        praise="Like top-p, it keeps few words where the model is sure and many where it isn't.",
        trials=8,
        mistakes={
            # likely: forgotten after the cut, as in pitfall 3 of the NumPy notebook
            "What is left must add up to 1: divide by its sum.": (
                lambda logits, p: np.where(
                    _softmax(logits) >= p * _softmax(logits).max(axis=-1, keepdims=True), _softmax(logits), 0
                )
            ),
            # likely: the name says that p is the least chance
            "You compare with p itself; compare with p times the highest chance of the row.": (
                lambda logits, p: _rows(np.where(_softmax(logits) >= p, _softmax(logits), 0))
            ),
            # likely: top-k cuts logits, and the order is the same
            "You compare logits; compare the chances, after the softmax.": _of_the_logits,
            # likely: ops.max without an axis
            "Each row has a highest chance of its own; you take that of the whole batch.": (
                lambda logits, p: _rows(np.where(_softmax(logits) >= p * _softmax(logits).max(), _softmax(logits), 0))
            ),
        },
        hints=[
            "First the chances: ops.softmax.",
            "ops.max with axis=-1 and keepdims=True gives each row its own limit.",
            "ops.where keeps or cuts; then the rows must add up to 1 again.",
        ],
    ),
    "14.8": Exercise(
        track="compare",
        right=96,
        praise="For a batch of 32 texts it is 3 GiB, several times the weights in float16.",
        mistakes={
            # likely: keys are counted, and values forgotten
            "A cache keeps keys and values, and each number has 2 bytes; one of the two factors is missing.": 48,
            # likely: float32 is the default elsewhere in the course
            "A float16 number has 2 bytes, not 4.": 192,
            # seen: compare, whose table is in MB
            "That is in millions of bytes; a MiB has 1024 x 1024 bytes.": 96 * 1.024**2,
            # likely: attention is taught block by block, and the factor of 24 is forgotten
            "That is one block; each of the 24 has its own keys and values.": 4,
            # likely: the question gives heads and features in one breath
            "The heads share the features: 16 heads of 64 are the 1024, and don't come on top.": 1536,
        },
        hints=[
            "How many numbers does one block keep for one position?",
            "A key and a value of 1024 features each, for each of 1024 positions, in each of 24 blocks.",
            "Two bytes a number. A MiB is 1024 x 1024 bytes, so one block keeps 4 MiB.",
        ],
    ),
}
