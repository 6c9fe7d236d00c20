"""Chapter 08: the encoder."""

import numpy as np

from shared.exercises import Exercise


def _post_norm(x, attend, feed_forward, norm):
    for sublayer in (attend, feed_forward):
        x = norm(x + sublayer(x))
    return x


def _pre_norm(x, attend, feed_forward, norm):
    h = x + attend(norm(x))
    return h + feed_forward(norm(h))


def _normed(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def _random_block(rng):
    """Two positions mixed by a matrix, and a network of two kernels; functions that work on any number of sequences."""
    batch, length, d_model = 2, 3, 5
    weights, kernel = rng.normal(size=(length, length)), rng.normal(size=(d_model, d_model))
    expand, contract = rng.normal(size=(d_model, 8)), rng.normal(size=(8, d_model))
    return (
        rng.normal(1.0, 2.0, size=(batch, length, d_model)),
        lambda h: weights @ h @ kernel,
        lambda h: np.maximum(h @ expand, 0) @ contract,
        _normed,
    )


def _adds_to_x(x, attend, feed_forward, norm):
    return norm(x + feed_forward(norm(x + attend(x))))


def _reads_x(x, attend, feed_forward, norm):
    return norm(norm(x + attend(x)) + feed_forward(x))


def _norm_before_the_sum(x, attend, feed_forward, norm):
    h = x + norm(attend(x))
    return h + norm(feed_forward(h))


def _max_pool(y, tokens):
    return np.where((tokens != 0)[..., None], y, -np.inf).max(axis=1)


def _random_pool(rng):
    """Real values below zero in some features, and large ones where the padding is."""
    batch, length, d_model = (int(size) for size in rng.permutation([3, 4, 5]))
    lengths = rng.integers(1, length, size=batch)  # at least one position of padding in each
    real = np.arange(length) < lengths[:, None]
    y = rng.normal(-1.5, 1.0, size=(batch, length, d_model))
    y[~real] += 1
    return y, np.where(real, rng.integers(1, 5, size=real.shape), 0)


def _parallel_backward(grad_output, norm_backward, attention_backward, feed_forward_backward):
    through = sum(attention_backward(grad_output)) + feed_forward_backward(grad_output)
    return grad_output + norm_backward(through)


def _random_backward(rng):
    norm, query, key, value, network = rng.normal(size=(5, 4, 4))
    return (
        rng.normal(size=(2, 3, 4)),
        lambda g: g @ norm,
        lambda g: (g @ query, g @ key, g @ value),
        lambda g: g @ network,
    )


class _Part:
    """A sub-layer or a norm that is a product with a matrix, so that its backward pass needs nothing from forward."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, x):
        return x @ self.kernel

    forward = __call__

    def backward(self, grad_output):
        return grad_output @ self.kernel.T


class _Attention:
    """Three such products, added up: of the query, the key and the value."""

    def __init__(self, kernels):
        self.kernels = kernels

    def __call__(self, query, key, value):
        return sum(x @ kernel for x, kernel in zip((query, key, value), self.kernels))

    forward = __call__

    def backward(self, grad_output):
        return tuple(grad_output @ kernel.T for kernel in self.kernels)


def _parts(kernels):
    norm_1, query, key, value, norm_2, network = kernels
    return _Part(norm_1), _Attention([query, key, value]), _Part(norm_2), _Part(network)


def _run_block(make, x, grad_output, kernels):
    block = make(*_parts(kernels))
    output = block.forward(x)
    gradient = None if output is None else block.backward(grad_output)
    if gradient is None:
        return {} if output is None else {"forward": output}
    return {"forward": output, "gradient of x": gradient}


def _random_parts(rng):
    x, grad_output = rng.normal(size=(2, 2, 3, 4))
    return x, grad_output, rng.normal(size=(6, 4, 4))


def _block_forward(x, grad_output, kernels):
    norm_1, attention, norm_2, network = _parts(kernels)
    n = norm_1(x)
    h = x + attention(n, n, n)
    return h + network(norm_2(h))


def _block_backward(x, grad_output, kernels):
    norm_1, attention, norm_2, network = _parts(kernels)
    grad_h = grad_output + norm_2.backward(network.backward(grad_output))
    return grad_h + norm_1.backward(sum(attention.backward(grad_h)))


def _block(x, grad_output, kernels):
    return {
        "forward": _block_forward(x, grad_output, kernels),
        "gradient of x": _block_backward(x, grad_output, kernels),
    }


def _forward_of(compute):
    """A block that is wrong in forward: compute gets x and the four parts."""
    return lambda x, grad_output, kernels: {"forward": compute(x, *_parts(kernels))}


def _backward_of(compute):
    """A block that is right in forward, and wrong in backward: compute gets the upstream gradient and the four parts."""

    def run(x, grad_output, kernels):
        wrong = compute(grad_output, *_parts(kernels))
        return {"forward": _block_forward(x, grad_output, kernels), "gradient of x": wrong}

    return run


def _post_norm_parts(x, norm_1, attention, norm_2, network):
    h = norm_1(x + attention(x, x, x))
    return norm_2(h + network(h))


def _network_reads_x(x, norm_1, attention, norm_2, network):
    n = norm_1(x)
    return x + attention(n, n, n) + network(norm_2(x))


def _adds_n(x, norm_1, attention, norm_2, network):
    n = norm_1(x)
    h = n + attention(n, n, n)
    m = norm_2(h)
    return m + network(m)


def _query_alone(g, norm_1, attention, norm_2, network):
    grad_h = g + norm_2.backward(network.backward(g))
    return grad_h + norm_1.backward(attention.backward(grad_h)[0])


def _no_skip_paths(g, norm_1, attention, norm_2, network):
    return norm_1.backward(sum(attention.backward(norm_2.backward(network.backward(g)))))


def _skips_g(g, norm_1, attention, norm_2, network):
    grad_h = g + norm_2.backward(network.backward(g))
    return g + norm_1.backward(sum(attention.backward(grad_h)))


def _both_read_g(g, norm_1, attention, norm_2, network):
    return g + norm_2.backward(network.backward(g)) + norm_1.backward(sum(attention.backward(g)))


def _norms_on_the_sums(g, norm_1, attention, norm_2, network):
    grad_h = norm_2.backward(g + network.backward(g))
    return norm_1.backward(grad_h + sum(attention.backward(grad_h)))


def _one_after_the_other(g, norm_backward, attention_backward, feed_forward_backward):
    g = g + norm_backward(feed_forward_backward(g))
    return g + norm_backward(sum(attention_backward(g)))


def _stream(x, blocks):
    stages = [np.asarray(x)]
    for block in blocks:
        stages.append(block(stages[-1]))
    return np.stack(stages)


def _random_stream(rng):
    """Blocks that work on arrays of any framework."""

    def block(a, b):
        return lambda h: h + a * h * h + b

    shape = tuple(int(size) for size in rng.permutation([2, 3, 4]))
    return rng.uniform(-1, 1, size=shape), [block(*rng.uniform(-0.5, 0.5, size=2)) for _ in range(3)]


def _for_pytorch(mask):
    return np.logical_not(mask.squeeze((1, 2)))


def _random_mask(rng):
    batch, length = int(rng.choice([1, 3])), int(rng.integers(4, 7))
    lengths = rng.integers(1, length, size=batch)
    return ((np.arange(length) < lengths[:, None])[:, None, None, :],)


def _attention_mask(tokens):
    return np.broadcast_to((tokens != 0)[:, None, :], (*tokens.shape, tokens.shape[1]))


def _random_tokens(rng):
    batch, length = int(rng.integers(2, 4)), int(rng.integers(4, 7))
    lengths = rng.integers(1, length, size=batch)
    return (np.where(np.arange(length) < lengths[:, None], rng.integers(1, 5, size=(batch, length)), 0),)


EXERCISES = {
    "08.1": Exercise(
        right=3 / np.sqrt(3.5),
        digits=2,
        praise="LayerNorm of [1, 2, 3, 6], as in chapter 07. The second norm finds nothing left to do.",
        mistakes={
            # seen: By hand's block is pre-norm.
            "That is what a pre-norm block returns: its input. In post-norm order the sums are normalized.": 6.0,
            # likely: a network that returns zeros makes all that follows zero.
            "The sub-layers return zeros, but x is added to them before the norm.": 0.0,
            # likely: a pocket calculator, and PyTorch's std, divide by D - 1.
            "You divide by D - 1 in the variance; LayerNorm divides by D.": 3 / np.sqrt(14 / 3),
        },
        hints=[
            "Zeros plus x is x. What does the first norm make of [1, 2, 3, 6]?",
            "The mean is 3, the variance 14 / 4.",
            "The second norm gets numbers that have mean 0 and variance 1 already.",
        ],
    ),
    "08.2": Exercise(
        right=_post_norm,
        inputs=_random_block,
        shape="that of x",
        praise="These two lines are the encoder block of 2017.",
        mistakes={
            # seen: By hand's block; Annotated Transformer, class SublayerConnection.
            "That is pre-norm: you normalize what a sub-layer reads. In post-norm order each sum is normalized.": _pre_norm,
            # likely: x is the name of the block's input, and stays it.
            "The feed-forward network's output is added to x; add it to what the network read.": _adds_to_x,
            # seen: GPT-J and PaLM, whose two branches read the same input.
            "The feed-forward network reads x; it must read what attention has changed.": _reads_x,
            # likely: "add & norm" is read as adding what has been normed.
            "You normalize what a sub-layer returns, before the sum; normalize the sum.": _norm_before_the_sum,
        },
        hints=[
            "Two lines, one for each sub-layer. They have the same form.",
            "What do you add to the output of a sub-layer, and where does the norm go in the order of 2017?",
            "The second line reads the result of the first, and adds to it.",
        ],
    ),
    "08.3": Exercise(
        right=_max_pool,
        inputs=_random_pool,
        shape="(batch, d_model)",
        praise="Minus infinity loses every comparison, as it did in the softmax.",
        mistakes={
            # likely: 0 is what hides a number in a sum.
            "You set the padding to 0, and 0 is larger than a negative number: hide it with something smaller.": (
                lambda y, tokens: (y * (tokens != 0)[..., None]).max(axis=1)
            ),
            # seen: pitfall 5 of the notebook.
            "The padding takes part: its values are among the largest.": lambda y, tokens: y.max(axis=1),
            # likely: tokens == 0 is what masked_fill wants, and np.where the opposite.
            "The mask is inverted: this is the largest value of the padding.": (
                lambda y, tokens: np.where((tokens == 0)[..., None], y, -np.inf).max(axis=1)
            ),
        },
        hints=[
            "Make the padding lose: which number is smaller than every other?",
            "The mask has two axes and y has three. A new last axis makes them fit.",
            "np.where chooses between two arrays. Which axis of y are the positions?",
        ],
    ),
    "08.4": Exercise(
        right=_parallel_backward,
        inputs=_random_backward,
        shape="that of grad_output",
        praise="n was used four times, and x twice.",
        mistakes={
            # likely: self-attention has one input, so one gradient is expected.
            "One gradient of attention in place of three: n was query, key and value.": (
                lambda g, norm, attention, network: g + norm(attention(g)[0] + network(g))
            ),
            # likely: x by itself is no part that has a backward function.
            "The skip path is missing: x itself is part of y.": (
                lambda g, norm, attention, network: norm(sum(attention(g)) + network(g))
            ),
            # likely: all paths are added up first, and the norm comes last.
            "The skip path doesn't pass the norm: add its gradient after norm_backward.": (
                lambda g, norm, attention, network: norm(g + sum(attention(g)) + network(g))
            ),
            # likely: the ordinary block has one for each sub-layer.
            "There is one skip path here; you count two.": (
                lambda g, norm, attention, network: 2 * g + norm(sum(attention(g)) + network(g))
            ),
            # likely: an array plus a tuple of arrays broadcasts in NumPy.
            "attention_backward returns a tuple of three; add them up before you add anything else.": (
                lambda g, norm, attention, network: g + norm(np.stack(attention(g)) + network(g))
            ),
            # seen: the backward pass of the notebook's block.
            "That is the ordinary block, one sub-layer after the other; here both read the same n.": _one_after_the_other,
        },
        hints=[
            "How many paths lead from x to y? One of them passes neither a norm nor a sub-layer.",
            "n is used by four readers: query, key, value and the network. Add up what comes back from them.",
            "norm_backward turns the gradient of n into a gradient of x. What remains to be added?",
        ],
    ),
    "08.10": Exercise(
        right=_block,
        inputs=_random_parts,
        run=_run_block,
        shape="that of x",
        praise="That is the block of GPT-2, in both directions, from memory.",
        errors={
            "positional argument": "attention is called with query, key and value; its backward with one gradient.",
            "unsupported operand": "attention.backward returns a tuple of three gradients: add them up first.",
        },
        mistakes={
            # seen: the paper of 2017, and exercise 08.2.
            "forward: that is post-norm, a norm on each sum; in pre-norm order a norm is on what a sub-layer reads.": (
                _forward_of(_post_norm_parts)
            ),
            # seen: GPT-J and PaLM, whose two branches read the same input.
            "forward: the feed-forward network must read h, what attention has changed, and not x.": (
                _forward_of(_network_reads_x)
            ),
            # likely: n is what attention got, so n is what its output is added to.
            "forward: you add to the normalized vectors; add to x and to h themselves: nothing in the stream is normalized.": (
                _forward_of(_adds_n)
            ),
            # likely: self-attention has one input, so one gradient is expected.
            "backward: one gradient of attention in place of three: n was query, key and value.": (
                _backward_of(_query_alone)
            ),
            # likely: the chain of layers is remembered, and the sums are not.
            "backward: the skip paths are missing: each sum hands its upstream gradient on as it is, too.": (
                _backward_of(_no_skip_paths)
            ),
            # likely: grad_output is at hand in both lines.
            "backward: the first skip path carries the gradient of h, not that of the block's output.": (
                _backward_of(_skips_g)
            ),
            # seen: the backward pass of the parallel block, 08.4.
            "backward: attention gets the gradient of the block's output; its upstream gradient is that of h.": (
                _backward_of(_both_read_g)
            ),
            # likely: forward was written in pre-norm order, and the diagram of the other order is beside it.
            "backward: you pass the skip path's gradient through the norms; in pre-norm order a norm is inside the branch.": (
                _backward_of(_norms_on_the_sums)
            ),
        },
        hints=[
            "Forward is three lines: n, h and the output. What does each sub-layer read, and what is its output added to?",
            "Backward begins at the last line: the gradient of h is the upstream gradient, plus what comes back through network and norm.",
            "The gradient of n is the sum of three. Send it through the norm, and add the gradient of h.",
        ],
    ),
    "08.6": Exercise(
        track="pytorch",
        right=_stream,
        inputs=_random_stream,
        shape="(blocks + 1, batch, length, d_model)",
        praise="This works with encoder.blocks, as with any nn.ModuleList.",
        mistakes={
            # likely: the loop appends after each block, and begins with an empty list.
            "The input is missing: it is the first stage.": lambda x, blocks: _stream(x, blocks)[1:],
            # likely: the loop appends before each block.
            "The output of the last block is missing.": lambda x, blocks: _stream(x, blocks)[:-1],
            # likely: [block(x) for block in blocks].
            "Every block reads x; each must read the output of the block before.": (
                lambda x, blocks: np.stack([x, *(block(x) for block in blocks)])
            ),
            # likely: torch.cat is the better known of the two.
            "You join the stages along an axis that exists; torch.stack makes a new one.": (
                lambda x, blocks: np.concatenate(list(_stream(x, blocks)))
            ),
            # likely: x = x + block(x), the habit of a residual connection.
            "A block's output holds its input already; you add the input once more.": (
                lambda x, blocks: _stream(x, [lambda h, block=block: h + block(h) for block in blocks])
            ),
        },
        hints=[
            "Start a list with x, and append after each block.",
            "A block reads the last entry of the list.",
            "torch.stack makes one tensor of a list, along a new axis. Which one is the default?",
        ],
    ),
    "08.7": Exercise(
        track="pytorch",
        right=_for_pytorch,
        inputs=_random_mask,
        shape="(batch, length)",
        praise="Two differences in one line: what True means, and the axes.",
        trials=8,
        mistakes={
            # seen: "Pieces beside longer ones" in the notebook.
            "The axes are right, but True must mean padding: nn.TransformerEncoder hides what is True.": (
                lambda mask: mask[:, 0, 0]
            ),
            # likely: squeeze() without arguments is shorter, and right for larger batches.
            "squeeze removes every axis of size 1, the batch of a single sequence too.": lambda mask: ~mask.squeeze(),
            # likely: 1 - mask, for which PyTorch wants numbers.
            "A mask of numbers is added to the scores; return booleans.": (
                lambda mask: _for_pytorch(mask).astype(np.float32)
            ),
        },
        hints=[
            "What does True mean in src_key_padding_mask?",
            "The two axes in the middle are for heads and queries. Both have size 1.",
            "Index the two middle axes, rather than squeeze: a batch may have one sequence.",
        ],
    ),
    "08.8": Exercise(
        track="keras",
        right=_attention_mask,
        inputs=_random_tokens,
        shape="(batch, length, length)",
        praise="In this course one row for each sequence is enough, of shape (batch, 1, 1, length): it is broadcast.",
        mistakes={
            # seen: an implicit mask of Keras does so.
            "You hide the padding's own queries, too; only keys are hidden. (An implicit Keras mask hides both.)": (
                lambda tokens: _attention_mask(tokens) & _attention_mask(tokens).swapaxes(1, 2)
            ),
            # likely: expand_dims with -1 for 1; both fit.
            "The axes are exchanged: queries come before keys, and the keys are what you hide.": (
                lambda tokens: _attention_mask(tokens).swapaxes(1, 2)
            ),
            # seen: nn.MultiheadAttention reads a mask this way.
            "The mask is inverted: True means that a query may attend.": lambda tokens: ~_attention_mask(tokens),
            # seen: the course's own layers take it so.
            "That is padding_mask with its four axes; Keras' layer wants three.": (
                lambda tokens: (tokens != 0)[:, None, None, :]
            ),
            # likely: the layer broadcasts it, so it works in use.
            "The pattern is right, but the axis of queries has size 1; write it out.": (
                lambda tokens: (tokens != 0)[:, None, :]
            ),
        },
        hints=[
            "Every query gets the same row: True for each real key.",
            "Start with the booleans of shape (batch, length). Where does the axis of queries go?",
            "ops.expand_dims makes the axis, ops.repeat or ops.broadcast_to writes it out.",
        ],
    ),
    "08.9": Exercise(
        track="compare",
        right=8544,
        praise="Attention 4224, the feed-forward network 4192, two norms 128.",
        mistakes={
            # likely: the norms are small, and have no kernel.
            "The two norms are missing: a scale and a shift for each feature, twice.": 8416,
            # likely: newer models such as Llama have none.
            "The biases of the linear maps are missing: four in attention, two in the network.": 8320,
            # likely: 4 D² and 2 D × ff_dim.
            "Biases and norms are missing: those are the kernels alone.": 8192,
            # likely: 4 D is the usual width.
            "That would be ff_dim = 4 embed_dim, the formula 12 D² + 13 D. Here ff_dim is 64.": 12704,
            # seen: Keras' own examples, as pitfall 3 of the Keras notebook says.
            "That is key_dim = embed_dim in every head, as in Keras' own examples; a head is embed_dim / num_heads wide.": 21120,
            # likely: query, key and value are counted, and the output isn't.
            "Attention has four projections: query, key, value and output.": 7488,
            # named by an outside reading; likely: ff_dim is in the call, and attention has no size of its own there.
            "That is the feed-forward network alone; add attention and the two norms.": 4192,
        },
        hints=[
            "Attention has four kernels of 32 × 32, each with a bias. The number of heads doesn't matter.",
            "The feed-forward network has kernels of 32 × 64 and 64 × 32, with biases of 64 and 32.",
            "Each of the two norms has a scale and a shift for each of the 32 features.",
        ],
    ),
}
