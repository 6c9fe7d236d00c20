"""Chapter 03: einops."""

import numpy as np
from einops import rearrange, reduce

from shared.exercises import Exercise


def _scores(query, key, num_heads, split="b n (h d) -> b h n d"):
    q, k = (rearrange(each, split, h=num_heads) for each in (query, key))
    return q @ k.swapaxes(2, 3)


def _scores_of_dealt(query, key, num_heads):
    return _scores(query, key, num_heads, "b n (d h) -> b h n d")


def _scores_of_reshaped(query, key, num_heads):
    q, k = (each.reshape(len(each), num_heads, each.shape[1], -1) for each in (query, key))
    return q @ k.swapaxes(2, 3)


def _weights(query, key, num_heads):
    exponentials = np.exp(_scores(query, key, num_heads))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _random_queries(rng):
    """As many queries as keys, so that what is transposed wrongly fits, and is named."""
    length, heads, head_dim = (int(size) for size in rng.permutation([2, 3, 4]))
    query, key = rng.normal(size=(2, 2, length, heads * head_dim))
    return query, key, heads


def _images(sequence, size, height):
    return rearrange(sequence, "b (h w) (p q c) -> b (h p) (w q) c", h=height // size, p=size, q=size)


def _random_sequence(rng):
    size = int(rng.choice([2, 4]))
    rows, columns = (int(count) for count in rng.permutation([2, 3, 5])[:2])
    return rng.normal(size=(2, rows * columns, size * size * 3)), size, rows * size


def _right_shape(sequence, size, height):
    width = sequence.size // (len(sequence) * height * 3)
    return len(sequence), height, width, 3


def _sum_of_copies(copies, grad_output):
    return reduce(grad_output, "b (n copies) d -> b n d", "sum", copies=copies)


def _random_repetition(rng):
    length, copies, features = (int(size) for size in rng.permutation([2, 3, 4]))
    return copies, rng.normal(size=(2, length * copies, features))


def _shuffle_pixels(x):
    batch, channels, height, width = x.shape
    blocks = x.reshape(batch, channels // 4, 2, 2, height, width).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(batch, channels // 4, 2 * height, 2 * width)


def _random_pixels(rng):
    height, width, channels = (int(size) for size in rng.permutation([2, 3, 5]))
    return (rng.normal(size=(2, 4 * channels, height, width)),)


def _mean_of_real(x, mask):
    return (x * mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None]


def _mean_of_booleans(x, mask):
    """What TensorFlow makes of x * mask if the mask is bool: both become bool, x by dropping its decimals."""
    return (np.trunc(x).astype(bool) & mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None]


def _random_sentences(rng):
    """Sentences of different lengths; what is at their padding is large, so that it shows in a mean."""
    lengths = rng.permutation([2, 3, 5])
    mask = np.arange(6) < lengths[:, None]
    return rng.normal(size=(3, 6, 4)) + 5 * ~mask[..., None], mask


EXERCISES = {
    "03.1": Exercise(
        right=9,
        mistakes={
            # likely: counting from 1 on the right path, or leaving all where it was.
            "That is index 5 of (h w), or index 4 of (w h). In (w h) h moves fastest, and the first number is at index 0.": 5,
            # likely: the index is split rightly into 1 and 2, and row and column are exchanged.
            "That is the pixel in row 1 and column 2. Index 5 is 1 * 3 + 2, because h has 3 steps: w is 1 and h is 2.": 6,
            # likely: counting from 1, and leaving all where it was.
            "That is the fifth number of the memory as it was. In (w h) h moves fastest, and the first number is at index 0.": 4,
        },
        hints=(
            "In (w h) the last name moves fastest: hold w at 0 and run through all of h.",
            "The first three numbers of the result are the first column: 0, 4, 8.",
            "Index 5 is the last number of the second column.",
        ),
        praise="Index 5 = 1 * 3 + 2, so w is 1 and h is 2: the number 2 * 4 + 1.",
    ),
    "03.2": Exercise(
        right=_images,
        inputs=_random_sequence,
        mistakes={
            # seen: pitfall 1 of the notebook.
            "A reshape alone gives the right shape and scatters the pixels of every patch. They must be reordered.": lambda sequence, size, height: (
                sequence.reshape(_right_shape(sequence, size, height))
            ),
            # seen: F.unfold of PyTorch cuts patches in this order.
            "The channels are the last, fastest part of a patch's vector: (p q c). You read (c p q).": lambda sequence, size, height: (
                rearrange(sequence, "b (h w) (c p q) -> b (h p) (w q) c", h=height // size, p=size, q=size)
            ),
            # likely: which name moves fastest is forgotten on the right.
            "On the right, (p h) interleaves the patches. A patch is a block of neighboring pixels: (h p) and (w q).": lambda sequence, size, height: (
                rearrange(sequence, "b (h w) (p q c) -> b (p h) (q w) c", h=height // size, p=size, q=size)
            ),
        },
        hints=(
            "Read the pattern of `patches` from right to left.",
            "Three sizes must be given: h, p and q. How many rows of patches does an image of this height have?",
            "In the pattern, h counts rows of patches; p and q are the rows and columns of pixels in one patch.",
        ),
        errors=dict.fromkeys(
            ("does not fit an axis of size", "can't divide axis"),
            "If you gave h: it counts rows of patches, not rows of pixels.",
        ),
        shape="(batch, height, width, 3)",
        praise="This is how a masked autoencoder shows what it has filled in.",
    ),
    "03.3": Exercise(
        right=_scores,
        inputs=_random_queries,
        mistakes={
            # likely: (d h) is as long as (h d), and nothing complains.
            "You dealt the features out in turn, (d h). Each head gets neighboring features: (h d).": _scores_of_dealt,
            # seen: pitfall 5 of the notebook.
            "A reshape alone mixes positions and features. Split the features first, then move the heads to the front.": (
                _scores_of_reshaped
            ),
            # likely: which of the two is transposed is easily mixed up.
            "Your rows belong to the keys. A row belongs to a query: (batch, heads, length_q, length_k).": (
                lambda query, key, num_heads: _scores(query, key, num_heads).swapaxes(2, 3)
            ),
            # likely: the formula of attention is known, and it divides.
            "You divided by the square root of the features of a head, as attention does. Here the plain dot products are asked for.": (
                lambda query, key, num_heads: _scores(query, key, num_heads) / (query.shape[-1] / num_heads) ** 0.5
            ),
            # likely: a softmax follows in attention.
            "These are weights: the scores after a softmax. Here the scores themselves are asked for.": _weights,
        },
        hints=(
            "Split the features of query and key into heads, each as in split_heads: b n (h d) -> b h n d.",
            "Then an einsum for all heads at once: b h q d, b h k d -> b h q k.",
            "Without einsum: query @ key.swapaxes(2, 3), after both are (batch, heads, length, head_dim).",
        ),
        errors={
            "does not fit": "num_heads says into how many parts the features, the last axis, are split.",
        },
        shape="(batch, heads, length_q, length_k)",
        praise="Chapter 06 divides these by a number and takes a softmax of each row.",
    ),
    "03.4": Exercise(
        right=_sum_of_copies,
        inputs=_random_repetition,
        mistakes={
            # likely: undoing copies seems to need one of them, or their average.
            "You took the mean of the copies. If x grows by 1, each copy grows by 1, so their gradients add up.": lambda copies, grad_output: (
                _sum_of_copies(copies, grad_output) / copies
            ),
            # likely: [:, ::copies] undoes the forward pass.
            "You took the gradient of one copy only. Every copy passes its gradient back, and they add up.": lambda copies, grad_output: (
                grad_output[:, ::copies]
            ),
            # seen: pitfall 3 of the notebook, np.tile for np.repeat.
            "You split into (copies n). In the forward pass the copies of a position are neighbors: (n copies).": lambda copies, grad_output: (
                reduce(grad_output, "b (copies n) d -> b n d", "sum", copies=copies)
            ),
        },
        hints=(
            "The backward pass of a mean was a repetition. What is the backward pass of a repetition?",
            "A number that is used several times collects the gradients of all its uses.",
            'It is a `reduce` with "sum", and its pattern is the forward pattern read backward.',
        ),
        shape="(batch, n, d)",
        praise="Repeat and sum are each other's backward pass.",
    ),
    "03.6": Exercise(
        right=_shuffle_pixels,
        inputs=_random_pixels,
        track="pytorch",
        mistakes={
            # seen: this course's depth_to_space, and TensorFlow's.
            "You split the channels into (p q c), as this course's depth_to_space does. nn.PixelShuffle reads (c p q).": lambda x: (
                rearrange(x, "b (p q c) h w -> b c (h p) (w q)", p=2, q=2)
            ),
            # likely: which name moves fastest is forgotten on the right.
            "On the right, (p h) interleaves blocks. The pixels of a block are neighbors: (h p) and (w q).": lambda x: (
                rearrange(x, "b (c p q) h w -> b c (p h) (q w)", p=2, q=2)
            ),
            # seen: pitfall 1 of the NumPy notebook.
            "A reshape alone gives the right shape and scatters the pixels.": lambda x: x.reshape(
                len(x), x.shape[1] // 4, 2 * x.shape[2], 2 * x.shape[3]
            ),
        },
        hints=(
            "The channels are first here: the input is b, channels, h, w.",
            "Split the channels into three: c, and the place p, q in a block of 2 by 2.",
            "On the right, h and p make the height, and w and q make the width.",
        ),
        shape="(batch, channels / 4, 2 * height, 2 * width)",
        praise="That is nn.PixelShuffle(2), bit for bit.",
    ),
    "03.7": Exercise(
        right=_mean_of_real,
        inputs=_random_sentences,
        track="keras",
        mistakes={
            # likely: the pattern b n d -> b d of the exercise, and of GlobalAveragePooling1D without a mask.
            "The padding is in your mean: this is the mean over all positions.": lambda x, mask: x.mean(axis=1),
            # likely: ops.mean of what has been masked divides by the length.
            "You set the padding to 0 and then divided by all positions. Divide by the number of real ones.": lambda x, mask: (
                (x * mask[..., None]).mean(axis=1)
            ),
            # seen: True means padding in key_padding_mask of PyTorch.
            "You kept the padding and left out the real positions. True means real.": lambda x, mask: _mean_of_real(
                x, ~mask
            ),
            # likely: ops.sum(mask) without an axis.
            "You divided by the number of real positions of the whole batch. Each sentence has its own number.": lambda x, mask: (
                (x * mask[..., None]).sum(axis=1) / mask.sum()
            ),
            # seen: TensorFlow backend, where NumPy and PyTorch make numbers of a bool.
            "The mask is bool, and x times it is bool too in TensorFlow. Make numbers of the mask with ops.cast first.": _mean_of_booleans,
        },
        hints=(
            "A mean is a sum divided by a count. Which positions are summed, and how many are there?",
            "Make numbers of the mask with `ops.cast`: False becomes 0. Give it a third axis of size 1, and multiply.",
            "The count is the sum of the mask over the positions, for each sentence.",
        ),
        errors={
            "must have the same dtype": "The mask is bool: make numbers of it first, of the dtype of x, with ops.cast."
        },
        shape="(batch, d)",
        praise="The vectors of the padding no longer matter.",
    ),
    "03.8": Exercise(
        track="compare",
        right=9,
        mistakes={
            # likely: one channel, one number, in every framework.
            "You took both to have the same order. This course's order is (p q c), and pixel_unshuffle's is (c p q).": 5,
            # likely: the conversion is done in the other direction.
            "You read index 5 as (c p q). The number is given in (p q c): 5 = (0 * 2 + 1) * 3 + 2.": 4,
            # likely: the place in a block is read as x, y: column before row.
            "That is the right pixel and color, with p and q exchanged. Index 5 is p = 0, q = 1, c = 2.": 10,
        },
        hints=(
            "Write index 5 as (p q c), with 2 rows p, 2 columns q and 3 colors c: c moves fastest.",
            "5 = (p * 2 + q) * 3 + c. So p is 0, q is 1, and c is 2.",
            "In (c p q) the index is (c * 2 + p) * 2 + q.",
        ),
        praise="p = 0, q = 1, c = 2: index 5 in (p q c), and (2 * 2 + 0) * 2 + 1 = 9 in (c p q).",
    ),
}
