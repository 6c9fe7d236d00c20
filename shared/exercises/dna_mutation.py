"""Chapter 10: DNA mutation."""

import numpy as np
from scipy.special import xlogy

from shared.exercises import Exercise


def _mean_cost(exact, predicted):
    return -xlogy(exact, predicted).sum() / len(exact)  # xlogy(0, 0) is 0


def _random_probs(rng):
    """Two distributions for each site, zero for the same letters; every site has a letter that never comes, but the first."""
    exact, predicted = rng.dirichlet(np.ones(4), size=(2, int(rng.integers(4, 8)))) + 0.05
    sites = np.arange(1, len(exact))
    for probs in (exact, predicted):
        probs[sites, sites % 4] = 0
        probs /= probs.sum(axis=-1, keepdims=True)
    return exact, predicted


def _find_cpg(tokens):
    following = np.pad(tokens[:, 1:], ((0, 0), (0, 1)))
    return (tokens == 2) & (following == 3)


def _random_sequences(rng):
    """The first row has a CpG, a GpC and padding; two rows, one after the other, begin with G and end in C."""
    tokens = rng.integers(1, 5, size=(4, int(rng.integers(8, 11))))
    tokens[0, :5] = 2, 3, 2, 2, 1
    tokens[0, -2:] = 0
    tokens[1, 0], tokens[1, -1] = 3, 2
    tokens[2, 0], tokens[2, -1] = 3, 2
    return (tokens,)


def _at_the_g(tokens):
    found = np.zeros(tokens.shape, dtype=bool)
    found[:, 1:] = _find_cpg(tokens)[:, :-1]
    return found


def _gpc(tokens):
    found = np.zeros(tokens.shape, dtype=bool)
    found[:, 1:] = (tokens[:, 1:] == 2) & (tokens[:, :-1] == 3)
    return found


def _without_neighbors(tokens, exact):
    predicted = np.zeros_like(exact)
    for token in range(1, 5):
        sites = tokens == token
        if sites.any():
            predicted[sites] = exact[sites].mean(axis=0)
    return predicted


def _random_exact(rng):
    batch, length = 3, int(rng.integers(6, 9))
    tokens = rng.integers(1, 5, size=(batch, length))
    tokens[1, -2:] = 0
    exact = rng.dirichlet(np.ones(4), size=tokens.shape)
    return tokens, exact * (tokens != 0)[..., None]


def _letter_blind(tokens, exact):
    real = tokens != 0
    return exact[real].mean(axis=0) * real[..., None]


def _by_position(tokens, exact):
    real = (tokens != 0)[..., None]
    return exact.sum(axis=0) / real.sum(axis=0) * real


def _over_all_sites(tokens, exact):
    shares = np.zeros_like(exact)
    for token in range(1, 5):
        shares[tokens == token] = exact[tokens == token].sum(axis=0) / (tokens != 0).sum()
    return shares


def _log_softmax(logits):
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def _costs(logits, targets):
    return -np.take_along_axis(_log_softmax(logits), targets[..., None], axis=-1)[..., 0]


def _real_loss(logits, targets):
    return _costs(logits, targets)[targets != 0].mean()


def _random_logits(rng):
    """As many sites as tokens, so that exchanged axes raise no error; a reshape in place of a transpose is the same there."""
    size = int(rng.integers(5, 8))
    lengths = np.array([size, 3, size - 2])
    targets = np.where(np.arange(size) < lengths[:, None], rng.integers(1, size, size=(3, size)), 0)
    return rng.normal(size=(3, size, size)) * 2, targets


def _accuracy(targets, logits):
    right = logits.argmax(axis=-1) == targets
    return right[targets != 0].mean()


def _random_targets(rng):
    """Some right and some wrong, at the padding too; sequences of different length and accuracy."""
    lengths = np.array([12, 4, 7])
    targets = np.where(np.arange(12) < lengths[:, None], rng.integers(1, 5, size=(3, 12)), 0)
    logits = rng.normal(size=(3, 12, 9))
    predicted = np.where(
        rng.random((3, 12)) < np.array([[0.8], [0.3], [0.5]]), targets, rng.integers(0, 9, size=(3, 12))
    )
    predicted[0, 0], predicted[1, 0] = targets[0, 0], 8  # one right and one wrong at least
    predicted[1, 4], predicted[2, 7] = 0, 3  # padding that is told right, and padding that is not
    return targets, logits + 9 * np.eye(9)[predicted]


def _matches(targets, logits):
    return logits.argmax(axis=-1) == targets


EXERCISES = {
    "10.1": Exercise(
        right=-(0.9 * np.log(0.9) + 0.1 * np.log(0.1)),
        digits=2,
        praise="More mutations, and a lower cost: what counts is how certain the outcome is.",
        mistakes={
            # likely: the best prediction gives T 0.9, and the other letter is forgotten
            "That is what T costs when it comes. C comes too, one time in ten; take the average.": -np.log(0.9),
            # seen: information theory, whose entropy has base 2
            "That is in bits: you took the logarithm to base 2.": -(0.9 * np.log2(0.9) + 0.1 * np.log2(0.1)),
            # likely: two letters can come, so it is taken for a toss; the row is in By hand
            "That is the cost of a coin, which is right for c = 0.5.": np.log(2),
        },
        hints=[
            "Two letters can come, C and T. What are their probabilities, and what does each cost?",
            "The best prediction gives the exact probabilities, so T costs -ln 0.9.",
            "Average the two costs with the probabilities 0.1 and 0.9.",
        ],
    ),
    "10.2": Exercise(
        right=_mean_cost,
        inputs=_random_probs,
        shape="one number",
        praise="That is what dna.score computes, at all sites that aren't padding.",
        mistakes={
            # likely: which of the two the logarithm belongs to is easy to forget, and libraries differ in their order
            "The two are exchanged: the exact probabilities weigh, and the logarithm is that of the prediction.": (
                lambda exact, predicted: _mean_cost(predicted, exact)
            ),
            # likely: .mean() without an axis
            "You average over the letters too; a site's cost is a sum over its letters.": (
                lambda exact, predicted: _mean_cost(exact, predicted) / exact.shape[-1]
            ),
            # likely: the minus of the formula is forgotten
            "The sign is wrong: a logarithm of a probability is negative, and a cost is not.": (
                lambda exact, predicted: -_mean_cost(exact, predicted)
            ),
            # seen: scipy.stats.entropy(exact, predicted)
            "That is the Kullback-Leibler divergence: you subtracted the entropy.": (
                lambda exact, predicted: _mean_cost(exact, predicted) - _mean_cost(exact, exact)
            ),
            # likely: the formula as it is written, with NumPy's log of 0
            "0 times the logarithm of 0 is NaN; a letter that never comes should cost nothing.": (
                lambda exact, predicted: -(exact * np.log(predicted)).sum(axis=-1).mean()
            ),
            # seen: chapter 09, whose targets are single classes
            "You count the likeliest letter alone; all that can come have their share.": (
                lambda exact, predicted: -np.log(predicted[np.arange(len(exact)), exact.argmax(axis=-1)]).mean()
            ),
        },
        hints=[
            "What does each letter cost when it comes? How often does it come?",
            "Weigh the costs of a site's letters by the exact probabilities, add them, then average over the sites.",
            "np.where can put a harmless number, such as 1, in the place of a 0 before the logarithm.",
        ],
    ),
    "10.3": Exercise(
        right=_find_cpg,
        inputs=_random_sequences,
        shape="(batch, length)",
        praise="The last site of a sequence never begins a CpG: nothing follows it.",
        mistakes={
            # likely: two slices one apart, and the result written to the wrong one
            "You mark the G; the C is asked for.": _at_the_g,
            # likely: the two slices exchanged
            "That is C after G; in a CpG the C comes first.": _gpc,
            # likely: np.roll is the shortest way to shift a row
            "A C at the end of a row is marked because the same row begins with G: np.roll goes round.": (
                lambda tokens: (tokens == 2) & (np.roll(tokens, -1, axis=1) == 3)
            ),
            # likely: comparing neighbors gives one column less
            "The last column is missing: return as many columns as tokens has.": (
                lambda tokens: _find_cpg(tokens)[:, :-1]
            ),
        },
        hints=[
            "Compare the columns from the first to the last but one with those from the second on.",
            "Two conditions at once: this token is C, and the one to its right is G.",
            "The result has as many columns as tokens. What is true of the last one?",
        ],
    ),
    "10.4": Exercise(
        right=_without_neighbors,
        inputs=_random_exact,
        shape="(batch, length, 4)",
        praise="Its cost is half a percent above the upper line in the figures, which also knows which letter is the last.",
        mistakes={
            # likely: "can't look around" is read as "sees nothing"
            "You average over all letters together; the model sees whether the site holds an A or a C.": _letter_blind,
            # seen: the chapter's own per_site_optimum, whose name invites it
            "You average at each position; the model's letter is what tells the sites apart.": _by_position,
            # likely: a share of all sites, as in a table of frequencies
            "Those are sums over a letter's sites, divided by all sites: divide by the number of the letter's own.": (
                _over_all_sites
            ),
            # seen: an outside reader's trial answer (the likeliest letter), and the model of Use it that copies its input
            "You give all of the probability to one letter; each letter that can come has its share.": (
                lambda tokens, exact: (
                    np.eye(4)[_without_neighbors(tokens, exact).argmax(axis=-1)] * (tokens != 0)[..., None]
                ),
                lambda tokens, exact: np.eye(5)[tokens][..., 1:],
            ),
        },
        hints=[
            "All sites with the same letter look the same to this model, so they get the same prediction.",
            "In By hand, the best probabilities for any C were an average of the two rows. Which average is it here?",
            "A loop over the four tokens: select the sites of a token, average their exact probabilities, write the result back.",
        ],
    ),
    "10.6": Exercise(
        track="pytorch",
        right=_real_loss,
        inputs=_random_logits,
        shape="one number",
        praise="The classes are on axis 1, and ignore_index leaves the padding out of the sum and of the division.",
        mistakes={
            # seen: pitfall 2 of the PyTorch notebook; the second form is a call with nothing but the two arrays
            "The axes are exchanged: F.cross_entropy takes axis 1 for the classes, so transpose (a reshape mixes the "
            "numbers). With as many sites as tokens nothing is raised.": (
                lambda logits, targets: _real_loss(logits.swapaxes(1, 2), targets),
                lambda logits, targets: _costs(logits.swapaxes(1, 2), targets).mean(),
            ),
            # seen: pitfall 1 of the PyTorch notebook; ignore_index is -100 by default
            "Padding counts in your mean.": lambda logits, targets: _costs(logits, targets).mean(),
            # likely: reduction="none" times a mask, then .mean()
            "Padding costs nothing now, but you still divide by the number of all targets.": (
                lambda logits, targets: (_costs(logits, targets) * (targets != 0)).mean()
            ),
            # seen: chapter 09, pitfall 2 of the PyTorch notebook
            "F.cross_entropy takes logits; you give it what a softmax has made of them.": (
                lambda logits, targets: _real_loss(np.exp(_log_softmax(logits)), targets)
            ),
        },
        hints=[
            "Where does F.cross_entropy expect the classes, if the input has three axes?",
            "transpose exchanges two axes. Or make it two axes: all sites in one, the classes in the other.",
            "One of its arguments names a target that doesn't count, neither in the sum nor in the division.",
        ],
    ),
    "10.7": Exercise(
        track="keras",
        right=_accuracy,
        inputs=_random_targets,
        shape="one number",
        praise="It runs in a compiled step, too. As a metric, compile would take one value for each position, and average them with the mask.",
        errors={"int32": "ops.argmax gives int32: compare with ops.equal, or cast the targets."},
        mistakes={
            # seen: Keras' "accuracy", where no mask is attached
            "Padding counts in your mean.": lambda targets, logits: _matches(targets, logits).mean(),
            # likely: a product with the mask, then ops.mean
            "Padding is never right now, but you still divide by the number of all targets.": (
                lambda targets, logits: (_matches(targets, logits) & (targets != 0)).mean()
            ),
            # likely: tokens count letters from 1, and the simulator from 0
            "You compare with the argmax plus one: here the position of a logit is the token itself.": (
                lambda targets, logits: (logits.argmax(axis=-1) + 1 == targets)[targets != 0].mean()
            ),
        },
        hints=[
            "ops.argmax gives the likeliest token of each site, as int32: compare with ops.equal, or cast the targets.",
            "Make two arrays of 0 and 1 with ops.cast: right or not, and real or not.",
            "Sum what is both right and real. What do you divide by?",
        ],
    ),
    "10.8": Exercise(
        track="compare",
        right=np.log(9),
        digits=2,
        praise="Nine tokens with a probability of 1/9 each. NumPy's model starts near it.",
        mistakes={
            # likely: four letters are what the chapter speaks of
            "Four letters would be right if the model knew that only they come; it has nine tokens.": np.log(4),
            # likely: the loss leaves padding out
            "Padding is never a target that counts, but the model gives it a probability too: nine tokens.": np.log(8),
            # likely: a 0 looks like no cost
            "A logit of 0 isn't a probability of 0, nor is it certainty: a softmax follows.": 0.0,
        },
        hints=[
            "What does a softmax make of nine zeros?",
            "The cost of a letter is minus the logarithm of its probability, whichever letter comes.",
            "All nine probabilities are equal and sum to one.",
        ],
    ),
}
