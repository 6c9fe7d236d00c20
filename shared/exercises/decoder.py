"""Chapter 11: the decoder."""

import numpy as np

from shared.exercises import Exercise


def _decoder_input(target, start_id):
    shifted = np.roll(target, 1, axis=1)
    shifted[:, 0] = start_id
    return shifted


def _random_target(rng):
    batch, length = int(rng.integers(2, 4)), int(rng.integers(5, 8))
    return rng.integers(1, 5, size=(batch, length)), int(rng.integers(5, 9))


def _start_in_place(target, start_id):
    return np.concatenate([np.full_like(target[:, :1], start_id), target[:, 1:]], axis=1)


def _start_at_the_end(target, start_id):
    return np.concatenate([target[:, 1:], np.full_like(target[:, :1], start_id)], axis=1)


def _walk(grad, blocks):
    """What each block says of the memory, from the last to the first, and the gradient of the stack's input."""
    parts = []
    for block in reversed(blocks):
        grad, of_memory = block(grad)
        parts.append(of_memory)
    return parts, grad


def _memory_gradient(grad_output, blocks):
    return sum(_walk(grad_output, blocks)[0])


def _random_blocks(rng):
    """Three backward passes of their own; the memory is longer than the target."""

    def block(inside, weights, outside):
        return lambda g: (g @ inside, weights @ g @ outside)

    blocks = [block(rng.normal(size=(4, 4)), rng.normal(size=(5, 3)), rng.normal(size=(4, 4))) for _ in range(3)]
    return rng.normal(size=(2, 3, 4)), blocks


def _softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e30))
    return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-30)


def _attend(query, keys, values, mask, scale=None):
    scores = query @ keys.T / np.sqrt(scale or query.shape[-1])
    return _softmax(np.where(mask, scores, -np.inf)) @ values


def _ends(query, keys, shift=0):
    """A triangle that ends in the bottom right corner, moved by shift."""
    return np.tri(len(query), len(keys), len(keys) - len(query) + shift, dtype=bool)


def _cached_attention(query, keys, values):
    return _attend(query, keys, values, _ends(query, keys))


def _random_cached(rng):
    new = int(rng.integers(1, 4))
    every, head_dim, value_dim = new + int(rng.choice([0, 2, 3])), 3, 5
    return rng.normal(size=(new, head_dim)) * 2, rng.normal(size=(every, head_dim)), rng.normal(size=(every, value_dim))


def _softmax_over_queries(query, keys, values):
    scores = np.where(_ends(query, keys), query @ keys.T / np.sqrt(query.shape[-1]), -np.inf)
    return _softmax(scores.T).T @ values


def _hidden_pairs(tokens, future=True, padding=True):
    """(batch, length, length), True where a query may not attend to a key."""
    length = tokens.shape[1]
    hidden = np.zeros((len(tokens), length, length), dtype=bool)
    if future:
        hidden |= ~np.tri(length, dtype=bool)
    return hidden | (tokens == 0)[:, None, :] if padding else hidden


def _one_mask(tokens, num_heads):
    return np.repeat(_hidden_pairs(tokens), num_heads, axis=0)


def _random_padded(rng):
    batch, length = 3, int(rng.integers(4, 7))
    lengths = rng.permutation([length, length - 1, 2])  # rows that differ
    real = np.arange(length) < lengths[:, None]
    return np.where(real, rng.integers(1, 5, size=(batch, length)), 0), 2


def _behind_cache(tokens, new, shift=0):
    """(batch, new, all): the last queries, the padding hidden; the triangle may be moved."""
    every = tokens.shape[1]
    return np.tri(new, every, every - new + shift, dtype=bool) & (tokens != 0)[:, None, :]


def _random_cache(rng):
    """Padding in front, so that the new tokens are real."""
    every, new = int(rng.integers(6, 9)), int(rng.integers(2, 4))
    starts = rng.permutation([0, 1, 3])
    real = np.arange(every) >= starts[:, None]
    return np.where(real, rng.integers(1, 5, size=(3, every)), 0), new


EXERCISES = {
    "11.1": Exercise(
        right=24,
        praise="7, 8 and 9: each new position sees the six cached ones, and the new ones up to itself.",
        mistakes={
            # seen: is_causal in PyTorch and use_causal_mask in Keras (pitfall 2)
            "That is a triangle from the top left, which shows the new positions the oldest keys: 1, 2 and 3.": 6,
            # likely: one new position needs no mask, and three are taken for three times one
            "Nothing is hidden in yours; a new position may not see the new ones after it.": 27,
            # likely: "earlier" is read as "before itself"
            "Each new position sees itself too.": 21,
            # likely: the mask of training has a row for every position
            "That is the mask of all nine positions; only the three new ones are queries.": 45,
            # likely: True means hidden in the masks of PyTorch's nn
            "You count what is hidden.": 3,
        },
        hints=[
            "The mask has a row for each new position. How many columns has it?",
            "The first new position is at place seven of nine. How many keys may it see?",
            "The triangle ends in the bottom right corner.",
        ],
    ),
    "11.2": Exercise(
        right=_decoder_input,
        inputs=_random_target,
        shape="(batch, length)",
        praise="The last token of the target is never read: nothing comes after it.",
        mistakes={
            # seen: pitfall 3
            "That is the target itself, so each position reads its own answer.": lambda target, start_id: target,
            # likely: np.roll is the shortest way to shift
            "np.roll brings the last token to the front, where the first position reads it; put start_id there.": (
                lambda target, start_id: np.roll(target, 1, axis=1)
            ),
            # likely: the targets of a language model are its inputs shifted to the left
            "You shifted in the other direction: each position reads the token after its answer.": _start_at_the_end,
            # likely: the first entry is assigned, and the shift forgotten
            "The start token has replaced the first token, and nothing is shifted.": _start_in_place,
            # likely: putting a column in front makes the array longer
            "The last token is still there, so the input is one token longer than the target.": (
                lambda target, start_id: np.concatenate([np.full_like(target[:, :1], start_id), target], axis=1)
            ),
            # seen: Annotated Transformer, class Batch: tgt[:, :-1], of targets that begin with the start
            "The start token is missing, so the input is one token shorter than the target.": (
                lambda target, start_id: target[:, :-1]
            ),
        },
        hints=[
            "What does the first position read, before anything is written?",
            "The second position reads the first token of the target. Which token does no position read?",
            "np.full makes a column of start tokens; np.concatenate takes an axis.",
        ],
    ),
    "11.3": Exercise(
        right=_memory_gradient,
        inputs=_random_blocks,
        shape="that of memory",
        praise="In training an encoder gets this sum.",
        mistakes={
            # likely: = in place of +=, or a memory that is thought to be used once
            "That is what one block says alone; every block used the memory.": (
                lambda g, blocks: _walk(g, blocks)[0][-1],
                lambda g, blocks: _walk(g, blocks)[0][0],
            ),
            # likely: reversed is forgotten, and no shape complains
            "You walk from the first block to the last; the backward pass begins at the last.": (
                lambda g, blocks: _memory_gradient(g, blocks[::-1])
            ),
            # likely: all blocks read the same memory, so they seem to get the same gradient
            "Every block gets grad_output in yours; each must get the gradient that came out of the block after it.": (
                lambda g, blocks: sum(block(g)[1] for block in blocks)
            ),
            # likely: it is what the backward pass of a stack usually returns
            "That is the gradient of the stack's input, x.": lambda g, blocks: _walk(g, blocks)[1],
        },
        hints=[
            "Which block's output is the output of the stack?",
            "Each function returns two gradients. One goes to the next function, and the other into a sum.",
            "reversed(blocks) walks from the last to the first.",
        ],
    ),
    "11.4": Exercise(
        right=_cached_attention,
        inputs=_random_cached,
        trials=10,
        shape="(new, value_dim)",
        praise="With all positions new it is the causal attention of training, with one new it needs no mask.",
        mistakes={
            # seen: pitfall 2; np.tri(new, all) begins there
            "Your triangle begins at the top left, so new positions see the oldest keys only.": (
                lambda q, k, v: _attend(q, k, v, np.tri(len(q), len(k), dtype=bool))
            ),
            # likely: with one new position it is right
            "There is no mask: with several new positions, each sees the new ones after it.": (
                lambda q, k, v: _attend(q, k, v, np.ones((len(q), len(k)), bool))
            ),
            # likely: off by one, from all - new and from < in place of <=
            "Your triangle is off by one: a new position sees itself, and none after it.": (
                lambda q, k, v: _attend(q, k, v, _ends(q, k, -1)),
                lambda q, k, v: _attend(q, k, v, _ends(q, k, 1)),
            ),
            # likely: True means hidden in the masks of PyTorch's nn
            "The mask is inverted: each position sees only those after it.": (
                lambda q, k, v: _attend(q, k, v, ~_ends(q, k))
            ),
            # likely: forgotten, or without the root; the number of keys was an outside reader's trial answer
            "The scores are not divided by the root of head_dim.": (
                lambda q, k, v: _attend(q, k, v, _ends(q, k), scale=1),
                lambda q, k, v: _attend(q, k, v, _ends(q, k), scale=q.shape[-1] ** 2),
                lambda q, k, v: _attend(q, k, v, _ends(q, k), scale=len(k)),
            ),
            # likely: axis=0, along which each column of the weights sums to 1
            "Softmax went over the queries; each query's weights must sum to 1 over the keys.": _softmax_over_queries,
            # likely: a mask of zeros and ones invites a product with the weights
            "You hide after the softmax, so the weights no longer sum to 1; hide the scores before it.": (
                lambda q, k, v: (_softmax(q @ k.T / np.sqrt(q.shape[-1])) * _ends(q, k)) @ v
            ),
            # likely: 0 looks like nothing
            "Hidden scores are 0 in yours, and exp(0) is 1; they must be minus infinity.": (
                lambda q, k, v: _softmax(np.where(_ends(q, k), q @ k.T / np.sqrt(q.shape[-1]), 0)) @ v
            ),
        },
        hints=[
            "Attention as in chapter 06, with a mask of shape (new, all).",
            "Query number i is at position (all - new) + i. Up to which key may it see?",
            "np.tri takes a third argument, which moves its diagonal.",
        ],
    ),
    "11.6": Exercise(
        track="pytorch",
        right=_one_mask,
        inputs=_random_padded,
        shape="(batch * num_heads, length, length)",
        praise="PyTorch unfolds the first axis as (batch, num_heads), so the copies of a sequence are neighbors.",
        mistakes={
            # seen: Keras' and the course's masks, where True means visible
            "The mask is inverted: in tgt_mask, True means hidden.": lambda tokens, heads: ~_one_mask(tokens, heads),
            # likely: Tensor.repeat, which is np.tile
            "The heads are in the wrong order: all copies of one sequence must be neighbors.": (
                lambda tokens, heads: np.tile(_hidden_pairs(tokens), (heads, 1, 1))
            ),
            # likely: a causal mask is what tgt_mask usually holds
            "Only the future is hidden; the padding must be hidden too.": (
                lambda tokens, heads: np.repeat(_hidden_pairs(tokens, padding=False), heads, axis=0)
            ),
            # likely: & is right where True means visible
            "You hide what is future and padding at once; hide what is one of the two.": (
                lambda tokens, heads: np.repeat(
                    _hidden_pairs(tokens, padding=False) & _hidden_pairs(tokens, future=False), heads, axis=0
                )
            ),
            # likely: torch.triu keeps the diagonal by default
            "A position must see itself; your triangle hides the diagonal.": (
                lambda tokens, heads: _one_mask(tokens, heads) | np.eye(tokens.shape[1], dtype=bool)
            ),
            # likely: tril is right where True means visible
            "Your triangle hides the past in place of the future.": (
                lambda tokens, heads: np.repeat(
                    _hidden_pairs(tokens, future=False) | np.tri(tokens.shape[1], k=-1, dtype=bool), heads, axis=0
                )
            ),
            # likely: [:, :, None] in place of [:, None, :]
            "You hide the padding's queries; hide its keys, on the last axis.": (
                lambda tokens, heads: np.repeat(
                    _hidden_pairs(tokens, padding=False) | (tokens == 0)[:, :, None], heads, axis=0
                )
            ),
        },
        hints=[
            "What does True mean in tgt_mask? And which two things are to be hidden?",
            "tokens == 0 has shape (batch, length), and its last axis is that of the keys. Where must the axis of the queries go?",
            "Tensor.repeat_interleave repeats each sequence, one copy after the other; Tensor.repeat repeats the batch.",
        ],
    ),
    "11.7": Exercise(
        track="keras",
        right=_behind_cache,
        inputs=_random_cache,
        shape="(batch, new, all)",
        praise="Beside a cache, this is what use_causal_mask can't give you.",
        mistakes={
            # seen: pitfall 1 of the Keras notebook
            "Your triangle begins at the top left, as use_causal_mask does: the queries are the last positions.": (
                lambda tokens, new: np.tri(new, tokens.shape[1], dtype=bool) & (tokens != 0)[:, None, :]
            ),
            # likely: the triangle is the hard half, and the other is forgotten
            "The padding is still visible.": (
                lambda tokens, new: np.broadcast_to(
                    np.tri(new, tokens.shape[1], tokens.shape[1] - new, dtype=bool),
                    (len(tokens), new, tokens.shape[1]),
                )
            ),
            # likely: with one new token it is right
            "Nothing of the future is hidden: with several new positions, each sees those after it.": (
                lambda tokens, new: np.repeat((tokens != 0)[:, None, :], new, axis=1)
            ),
            # likely: True means hidden in the masks of PyTorch's nn
            "The mask is inverted: True means that a query may attend.": lambda tokens, new: (
                ~_behind_cache(tokens, new)
            ),
            # likely: | is right where True means hidden
            "You show a key that meets one of the two conditions; it must meet both.": (
                lambda tokens, new: (
                    np.tri(new, tokens.shape[1], tokens.shape[1] - new, dtype=bool) | (tokens != 0)[:, None, :]
                )
            ),
            # likely: off by one, from all - new and from < in place of <=
            "Your triangle is off by one: a new position sees itself, and none after it.": (
                lambda tokens, new: _behind_cache(tokens, new, -1),
                lambda tokens, new: _behind_cache(tokens, new, 1),
            ),
        },
        hints=[
            "Two conditions: the key is real, and it isn't after the query.",
            "The new queries are at positions all - new to all - 1. ops.arange makes them.",
            "Compare a column of query positions with a row of key positions.",
        ],
    ),
    "11.8": Exercise(
        track="compare",
        right=12832,
        praise="Two attentions of 4224, the feed-forward network 4192, three norms of 64.",
        mistakes={
            # seen: exercise 08.9, the block of an encoder
            "That is a block without a memory: there is a second attention, and a third norm.": 8544,
            # likely: the encoder's block has two
            "The third norm is missing: one for each of the three sub-layers.": 12768,
            # likely: they are small beside the kernels
            "The norms are missing: three, each with a scale and a shift.": 12640,
            # likely: forgotten, or taken for bias-free as in later models
            "The biases are missing: eight in the attentions, two in the network.": 12480,
            # likely: only the products are counted
            "Biases and norms are missing: those are the kernels alone.": 12288,
            # seen: the formula in compare; d_ff = 4 d_model is the original's
            "That would be d_ff = 4 d_model, the formula 16 D² + 19 D. Here d_ff is 64.": 16992,
        },
        hints=[
            "An attention has four kernels of 32 × 32, each with a bias. How many attentions are there?",
            "The feed-forward network has kernels of 32 × 64 and 64 × 32, with biases of 64 and 32.",
            "Each sub-layer has a norm, with a scale and a shift for each of the 32 features.",
        ],
    ),
}
