"""Checks of arguments, the same in the three tracks: each names the argument, the value that came and what was expected."""

import math
import numbers
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def check_positive(**sizes: int) -> None:
    """Raise unless every size is a whole number from 1 to the largest that an array's axis can have.

    Raises:
        TypeError: if a size is not a whole number.
        ValueError: if a size is below 1, or above 2**63 - 1.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, numbers.Integral):
            raise TypeError(f"{name}={size!r}: expected a whole number, got {type(size).__name__}")
        if size < 1:
            raise ValueError(f"{name}={size}: expected at least 1")
        if size >= 2**63:
            raise ValueError(f"{name}={size}: expected at most 2**63 - 1")


def check_rate(**rates: float) -> None:
    """Raise unless every rate is a number from 0 up to, not including, 1.

    Raises:
        TypeError: if a rate is not a number.
        ValueError: if a rate is outside [0, 1).
    """
    for name, rate in rates.items():
        if isinstance(rate, bool) or not isinstance(rate, numbers.Real):
            raise TypeError(f"{name}={rate!r}: expected a number, got {type(rate).__name__}")
        if not 0 <= rate < 1:
            raise ValueError(f"{name}={rate}: expected a rate in [0, 1)")


def check_number(low: float, above: bool = False, **values: float) -> None:
    """Raise unless every value is a finite number of at least low, or above low.

    Raises:
        TypeError: if a value is not a number.
        ValueError: if a value is too small or not finite.
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{name}={value!r}: expected a number, got {type(value).__name__}")
        if not (low <= value < math.inf) or (above and value == low):
            raise ValueError(f"{name}={value}: expected a finite number {'above' if above else 'of at least'} {low}")


def check_choice(choices, **values) -> None:
    """Raise ValueError unless every value is one of the choices."""
    for name, value in values.items():
        if value not in choices:
            raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")


def check_heads(d_model: int, num_heads: int) -> None:
    """Raise unless num_heads heads share d_model features evenly.

    Raises:
        TypeError: if one of them is not a whole number.
        ValueError: if one is below 1, or num_heads does not divide d_model.
    """
    check_positive(d_model=d_model, num_heads=num_heads)
    if d_model % num_heads:
        raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}")


def check_array(**arrays: Any) -> None:
    """Raise TypeError unless every value is an array or a tensor of some framework."""
    for name, array in arrays.items():
        if not hasattr(array, "shape"):
            raise TypeError(f"{name} is a {type(array).__name__}: expected an array")


def check_shape(shape: tuple[int, ...], **arrays: Any) -> None:
    """Raise unless every array, of any framework, has exactly that shape.

    Raises:
        TypeError: if one is no array.
        ValueError: if one has another shape.
    """
    check_array(**arrays)
    for name, array in arrays.items():
        if tuple(array.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(array.shape)}: expected {tuple(shape)}")


def check_entries(names: tuple[str, ...], **mappings: Any) -> None:
    """Raise ValueError unless every mapping has an entry for each of the names."""
    for argument, mapping in mappings.items():
        missing = [name for name in names if name not in mapping]
        if missing:
            raise ValueError(f"{argument} lacks {', '.join(missing)}: expected {', '.join(names)}")


def check_features(features: int, /, **arrays: Any) -> None:
    """Raise unless the last axis of every array, of any framework, has that many features.

    Raises:
        TypeError: if one is no array.
        ValueError: if one has another number of features.
    """
    check_array(**arrays)
    for name, array in arrays.items():
        shape = tuple(array.shape)
        if not shape or shape[-1] != features:
            raise ValueError(f"{name} has shape {shape}: expected {features} features on its last axis")


def known_values(x: Any) -> np.ndarray | None:
    """The values of an array of any framework; None where there are none yet (a traced tensor) or they are on a GPU."""
    try:
        return np.asarray(x)
    except Exception:  # noqa: BLE001 - each framework refuses in its own way
        return None


def check_tokens(tokens: Any, vocab_size: int, max_length: int | None = None) -> None:
    """Raise unless tokens, of any framework, are whole numbers inside the vocabulary, in sequences that are not too long.

    Args:
        tokens: (..., length) token ids. A framework's traced tensor has no values yet: its length is checked, its ids are not.
        vocab_size: ids go from 0 to vocab_size - 1.
        max_length: the longest sequence allowed; None for no limit.

    Raises:
        TypeError: if tokens is no array of whole numbers.
        ValueError: if an id is outside the vocabulary, or the sequences are longer than max_length.
    """
    check_array(tokens=tokens)
    dtype = getattr(tokens.dtype, "name", str(tokens.dtype)).removeprefix("torch.")
    if "int" not in dtype:
        raise TypeError(f"tokens have dtype {dtype}: expected whole numbers")
    length = tokens.shape[-1] if len(tokens.shape) else None
    if max_length is not None and length is not None and length > max_length:
        raise ValueError(f"length {length} is over max_length={max_length}")
    values = known_values(tokens)
    if values is None or not values.size:
        return
    for value in (values.min(), values.max()):
        if not 0 <= value < vocab_size:
            raise ValueError(f"token id {value} is outside the vocabulary of {vocab_size}")


def check_mask(mask: Any, *shape: int, name: str = "mask") -> None:
    """Raise unless mask is None, or boolean and broadcastable to shape.

    Raises:
        TypeError: if the mask is not boolean: a mask of 0 and 1, or of 0 and -inf, means other things in other libraries.
        ValueError: if it does not broadcast to shape.
    """
    if mask is None:
        return
    check_array(**{name: mask})
    if "bool" not in str(mask.dtype):
        raise TypeError(f"{name} has dtype {mask.dtype}: expected booleans, True where a query may attend to a key")
    given = tuple(mask.shape)
    fits = len(given) <= len(shape) and all(
        m in (1, None) or s is None or m == s for m, s in zip(given[::-1], shape[::-1])
    )
    if not fits:
        raise ValueError(f"{name} has shape {given}: expected one that broadcasts to {tuple(shape)}")


def check_vectors(d_model: int, **arrays: Any) -> None:
    """Raise unless every array, of any framework, is (batch, length, d_model), all with the same batch; lengths may differ.

    Raises:
        TypeError: if one is no array of floating-point numbers.
        ValueError: if a shape does not fit, or a Keras tensor carries an implicit mask.
    """
    check_array(**arrays)
    first = next(iter(arrays))
    for name, array in arrays.items():
        if "float" not in str(array.dtype):
            raise TypeError(f"{name} has dtype {array.dtype}: expected floating-point numbers")
        shape, batch = tuple(array.shape), arrays[first].shape[0]
        if len(shape) != 3:
            raise ValueError(f"{name} has shape {shape}: expected 3 axes, (batch, length, {d_model})")
        if shape[-1] != d_model:
            raise ValueError(f"{name} has shape {shape}: expected {d_model} features on its last axis")
        if None not in (shape[0], batch) and shape[0] != batch:
            raise ValueError(f"{name} has shape {shape}: expected a batch of {batch}, as that of {first}")
        if getattr(array, "_keras_mask", None) is not None:
            raise ValueError(
                f"{name} carries an implicit Keras mask, as from mask_zero=True: expected none; give the call a mask instead"
            )


def check_text(**texts: Any) -> None:
    """Raise TypeError unless every value is text."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name}={text!r}: expected text, got {type(text).__name__}")


def check_axes(names: tuple[str, ...], **arrays: Any) -> None:
    """Raise unless every array, of any framework, has as many axes as there are names.

    Raises:
        TypeError: if one is no array.
        ValueError: if one has another number of axes.
    """
    check_array(**arrays)
    for argument, array in arrays.items():
        if len(array.shape) != len(names):
            raise ValueError(
                f"{argument} has shape {tuple(array.shape)}: expected {len(names)} axes, ({', '.join(names)})"
            )


def check_divides(what: dict[str, int], **sizes: int | None) -> None:
    """Raise unless a positive whole number, given as {name: number}, divides every size that is known.

    Raises:
        TypeError: if it is not a whole number.
        ValueError: if it is below 1, or does not divide one of the sizes.
    """
    check_positive(**what)
    for name, number in what.items():
        for axis, size in sizes.items():
            if size is not None and size % number:
                raise ValueError(f"{name}={number} does not divide the {axis} of x, {size}")


def check_pictures(x: Any, floats: bool = False, **block: int) -> None:
    """Raise unless x, of any framework, is (batch, height, width, channels), and the block, if given, divides height and width.

    Raises:
        TypeError: if x is no array, or not of floating-point numbers where floats are wanted, or the block is no whole number.
        ValueError: if x has another number of axes, or the block does not divide height and width.
    """
    check_axes(("batch", "height", "width", "channels"), x=x)
    if floats and "float" not in str(x.dtype):
        raise TypeError(f"x has dtype {x.dtype}: expected floating-point numbers")
    check_divides(block, height=x.shape[1], width=x.shape[2])


def check_picture_size(size: tuple[int | None, int | None, int], **arrays: Any) -> None:
    """Raise unless every array, of any framework, holds floating-point pictures (batch, height, width, channels) of that size, None for any.

    Raises:
        TypeError: if one is no array of floating-point numbers.
        ValueError: if one has another shape.
    """
    check_array(**arrays)
    for name, array in arrays.items():
        shape = tuple(array.shape)
        if len(shape) != 4 or any(
            None not in (given, wanted) and given != wanted for given, wanted in zip(shape[1:], size)
        ):
            names = [str(wanted or axis) for wanted, axis in zip(size, ("height", "width", "channels"))]
            raise ValueError(f"{name} has shape {shape}: expected (batch, {', '.join(names)})")
        if "float" not in str(array.dtype):
            raise TypeError(f"{name} has dtype {array.dtype}: expected floating-point numbers")


def check_lenet(height: int, width: int, channels: int, num_classes: int, features: Any) -> None:
    """Raise unless the arguments make a `LeNet`: positive whole numbers, two halvings of height and width, four widths.

    Raises:
        TypeError: if a number is no whole number, or features is no tuple or list.
        ValueError: if a number is below 1, 4 does not divide height and width, or features has other than four numbers.
    """
    check_positive(height=height, width=width, channels=channels, num_classes=num_classes)
    for name, size in (("height", height), ("width", width)):
        if size % 4:
            raise ValueError(f"{name}={size}: expected a multiple of 4, because it is halved twice")
    if not isinstance(features, tuple | list):
        raise TypeError(f"features={features!r}: expected a tuple of 4 whole numbers, got {type(features).__name__}")
    if len(features) != 4:
        raise ValueError(f"features={features!r}: expected 4 whole numbers, of two convolutions and two linear layers")
    check_positive(**{f"features[{index}]": size for index, size in enumerate(features)})


def check_callable(**functions: Any) -> None:
    """Raise TypeError unless every value can be called: a function, a module or a layer."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(
                f"{name} is a {type(function).__name__}: expected a function to call, such as a layer, not its result"
            )


def check_targets(targets: np.ndarray, classes: int, ignore_index: int) -> None:
    """Raise ValueError unless every target is a class or ignore_index, and at least one is a class."""
    kept = targets[targets != ignore_index]
    wrong = kept[(kept < 0) | (kept >= classes)]
    if wrong.size:
        raise ValueError(f"target {wrong[0]} is outside the {classes} classes, and is not ignore_index={ignore_index}")
    if not kept.size:
        raise ValueError(
            f"all {targets.size} targets are ignore_index={ignore_index}: expected at least one that counts"
        )


def check_adam(
    learning_rate: Any, beta_1: float, beta_2: float, epsilon: float, weight_decay: float, clip_norm: float | None
) -> None:
    """Raise unless the numbers that an Adam is made with are in range."""
    if not callable(learning_rate):
        check_number(0, learning_rate=learning_rate)
    check_rate(beta_1=beta_1, beta_2=beta_2)
    check_number(0, above=True, epsilon=epsilon)
    check_number(0, weight_decay=weight_decay)
    if clip_norm is not None:
        check_number(0, above=True, clip_norm=clip_norm)


def check_run(
    steps: int,
    batch_at: Any,
    num_steps: int,
    label_smoothing: float,
    ignore_index: int,
    progress: bool,
    checkpoint: str | os.PathLike | None,
    checkpoint_every: int,
    validate: Any,
    validate_every: int,
) -> None:
    """Raise unless the arguments of `train` make sense together, before anything is computed that could be lost.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if a value is out of range, steps are past num_steps, or the checkpoint's folder does not exist.
    """
    if not callable(batch_at):
        raise TypeError(f"batch_at={batch_at!r}: expected a function of the step that returns (inputs, targets)")
    if validate is not None and not callable(validate):
        raise TypeError(f"validate={validate!r}: expected a function of the number of steps")
    check_positive(num_steps=num_steps, checkpoint_every=checkpoint_every, validate_every=validate_every)
    if steps > num_steps:
        raise ValueError(f"num_steps={num_steps}: the optimizer has already taken {steps} steps")
    check_rate(label_smoothing=label_smoothing)
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, numbers.Integral):
        raise TypeError(f"ignore_index={ignore_index!r}: expected a whole number, got {type(ignore_index).__name__}")
    if not isinstance(progress, bool):
        raise TypeError(f"progress={progress!r}: expected True or False, got {type(progress).__name__}")
    if checkpoint is not None and not Path(checkpoint).parent.is_dir():
        raise ValueError(f"checkpoint={os.fspath(checkpoint)!r}: its folder does not exist")


def check_batch(batch: Any, step: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """A batch as (inputs, targets), the inputs as a tuple even of one; raise TypeError if the batch is anything else."""
    pair = isinstance(batch, tuple) and len(batch) == 2
    inputs, targets = batch if pair else ((), None)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    if not inputs or not all(isinstance(array, np.ndarray) for array in (*inputs, targets)):
        raise TypeError(
            f"batch_at({step}) returned a {type(batch).__name__}: expected (inputs, targets), NumPy arrays; inputs may be a tuple of arrays"
        )
    return inputs, targets


def check_segments(segments: Any, num_segments: int) -> None:
    """Raise ValueError if a segment, of an array of any framework, is not from 0 to num_segments - 1."""
    values = known_values(segments)
    for value in () if values is None or not values.size else (values.min(), values.max()):
        if not 0 <= value < num_segments:
            raise ValueError(f"segment {value} is outside the {num_segments} segments")


def check_masking(mask_id: int, vocab_size: int, special_ids: Collection, rate: float, seed: int) -> None:
    """Raise unless the whole numbers that `mask_tokens` gets, of any framework, make sense together.

    Raises:
        TypeError: if special_ids hold something else than whole numbers.
        ValueError: if an id is outside the vocabulary, mask_id is not special, no token is ordinary, or a number is out of range.
    """
    check_rate(rate=rate)
    for value in special_ids:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"special_ids={special_ids!r}: expected whole numbers")
    for name, value in (("mask_id", mask_id), *(("special_ids", each) for each in special_ids)):
        if not 0 <= value < vocab_size:
            raise ValueError(f"{name}={value}: expected an id of the vocabulary of {vocab_size}")
    if mask_id not in special_ids:
        raise ValueError(f"mask_id={mask_id} must be among special_ids={list(special_ids)}")
    if len(set(special_ids)) == vocab_size:
        raise ValueError(f"special_ids={list(special_ids)}: expected at least one ordinary token beside them")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed={seed}: expected a whole number from 0 to 2**32 - 1")


def check_vocabularies(source_vocab_size: int, target_vocab_size: int, pad_id: int, shared_embeddings: bool) -> None:
    """Raise unless the sizes of two vocabularies are positive, padding is in both, and a table for both sides can be one."""
    check_positive(source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
    check_choice(range(min(source_vocab_size, target_vocab_size)), pad_id=pad_id)
    if shared_embeddings and source_vocab_size != target_vocab_size:
        raise ValueError(
            f"shared_embeddings=True with source_vocab_size={source_vocab_size} and target_vocab_size={target_vocab_size}:"
            " expected vocabularies of one size"
        )


def check_decoding(model: Any, source: Any, max_length: int, start_id: int, end_id: int) -> None:
    """Raise unless the arguments of a decoding function belong together; their types are those of its signature.

    Raises:
        TypeError: if the model has no `encode`, `decode`, `project` or `pad_id`.
        ValueError: if source is empty, max_length is over the model's, or an id is that of padding or outside the vocabulary.
    """
    missing = [name for name in ("encode", "decode", "project", "pad_id") if not hasattr(model, name)]
    if missing:
        raise TypeError(
            f"model is a {type(model).__name__} without {', '.join(missing)}: expected a Seq2SeqTransformer or its like"
        )
    if 0 in tuple(source.shape):
        raise ValueError(
            f"source has shape {tuple(source.shape)}: expected at least one sequence of at least one token"
        )
    check_positive(max_length=max_length)
    longest = getattr(model, "max_length", max_length)
    if max_length > longest:
        raise ValueError(f"max_length={max_length}: expected at most that of the model, {longest}")
    for name, token in (("start_id", start_id), ("end_id", end_id)):
        if token == model.pad_id:
            raise ValueError(f"{name}={token} is the id of padding: expected another")
        if not 0 <= token < getattr(model, "target_vocab_size", max(token, 0) + 1):
            raise ValueError(f"{name}={token}: expected an id inside the vocabulary of {model.target_vocab_size}")


def check_objective(result: Any, is_tensor: bool) -> None:
    """Raise unless what a function returned can be differentiated: a tensor that holds one floating-point number.

    Raises:
        TypeError: if it is no tensor, as when the function left the framework, or does not hold floating-point numbers.
        ValueError: if its shape is not ().
    """
    if not is_tensor:
        raise TypeError(
            f"function returned a {type(result).__name__}: expected a tensor that operations on its inputs made"
        )
    if tuple(result.shape) != ():
        raise ValueError(
            f"function returned shape {tuple(result.shape)}: expected (), one number, such as a sum or a mean"
        )
    if "float" not in str(result.dtype):
        raise TypeError(f"function returned dtype {result.dtype}: expected floating-point numbers")


def check_unicode(**texts: Any) -> None:
    """Raise unless every value is text that UTF-8 can write.

    Raises:
        TypeError: if one is not a string.
        ValueError: if one holds half of a surrogate pair, which stands for no character.
    """
    check_text(**texts)
    for name, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name}={text!r}: expected text, got half a surrogate pair at place {error.start}"
            ) from error


def check_texts(**lists: Any) -> list[str]:
    """The one value as a list, after a check that it holds strings that UTF-8 can write, at least one.

    Raises:
        TypeError: if it is a single string or no list, or holds something else than strings.
        ValueError: if it is empty, or a string holds half of a surrogate pair.
    """
    ((name, texts),) = lists.items()
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"{name}={texts!r}: expected a list of strings, got {type(texts).__name__}")
    texts = list(texts)
    if not texts:
        raise ValueError(f"{name} is empty: expected at least one string")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{index}]={text!r}: expected a string, got {type(text).__name__}")
        check_unicode(**{f"{name}[{index}]": text})
    return texts


def check_width(lengths: Sequence[int], max_length: int | None) -> int:
    """The width of an array that holds rows of these lengths: max_length, or the longest where it is None.

    Raises:
        TypeError: if max_length is not a whole number.
        ValueError: if a row is longer than max_length.
    """
    longest = max(lengths)
    if max_length is None:
        return longest
    check_positive(max_length=max_length)
    if longest > max_length:
        raise ValueError(f"length {longest} is over max_length={max_length}")
    return max_length


def check_range(**ranges: Any) -> tuple[int, int]:
    """The one value as (shortest, longest), after a check that it is such a pair, or a single length for both.

    Raises:
        TypeError: if a length is not a whole number.
        ValueError: if a length is below 1, or the first is above the second.
    """
    ((name, value),) = ranges.items()
    shortest, longest = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    for length in (shortest, longest):
        check_positive(**{name: length})
    if shortest > longest:
        raise ValueError(f"{name}={value!r}: expected (shortest, longest)")
    return shortest, longest


def check_seed(seed: Any) -> None:
    """Raise unless seed is what `numpy.random.default_rng` takes as numbers: one from 0, or a sequence of them.

    Raises:
        TypeError: if it is no whole number and no sequence of them.
        ValueError: if a number is below 0.
    """
    entropy = list(seed) if isinstance(seed, tuple | list | np.ndarray) else [seed]
    if not entropy or not all(isinstance(value, numbers.Integral) and not isinstance(value, bool) for value in entropy):
        raise TypeError(f"seed={seed!r}: expected a whole number or a sequence of them")
    if min(entropy) < 0:
        raise ValueError(f"seed={seed!r}: expected no number below 0")


def check_ids(ids: Any, vocab_size: int) -> list[int]:
    """Token ids of one text as a list of whole numbers, after a check that each is in the vocabulary.

    Raises:
        TypeError: if ids is no list or array, or holds something else than whole numbers.
        ValueError: if it is an array of other than one axis, or an id is outside the vocabulary.
    """
    if hasattr(ids, "shape"):
        if "int" not in str(ids.dtype) and tuple(ids.shape) != (0,):
            raise TypeError(f"ids have dtype {ids.dtype}: expected whole numbers")
        if len(ids.shape) != 1:
            raise ValueError(f"ids have shape {tuple(ids.shape)}: expected (length,), the ids of one text")
        ids = [int(value) for value in ids]
    if not isinstance(ids, list | tuple):
        raise TypeError(f"ids={ids!r}: expected a list of token ids, got {type(ids).__name__}")
    for place, value in enumerate(ids):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"ids[{place}]={value!r}: expected a whole number, got {type(value).__name__}")
        if not 0 <= value < vocab_size:
            raise ValueError(f"token id {value} is outside the vocabulary of {vocab_size}")
    return list(ids)


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Raise unless temperature is at least 0, top_k None or at least 1, and top_p None or in (0, 1]."""
    check_number(0, temperature=temperature)
    if top_k is not None:
        check_positive(top_k=top_k)
    if top_p is not None:
        check_number(0, above=True, top_p=top_p)
        if top_p > 1:
            raise ValueError(f"top_p={top_p}: expected at most 1")


def check_context(length: int | None, cached: int, max_length: int) -> None:
    """Raise ValueError unless the new positions, and those that are cached, are together no more than a model has."""
    if length is not None and cached + length > max_length:
        told = f", {cached} are cached" if cached else ""
        raise ValueError(f"length {cached + length} is over max_length={max_length}{told}")


def check_logits(highest: Any, step: int) -> None:
    """Raise ValueError unless the highest logit of every row is finite: some tokens may have -inf, but none NaN.

    Args:
        highest: (batch,) numbers, NaN for a row that holds NaN.
        step: how many tokens have been added to the prompts.
    """
    if not np.isfinite(highest).all():
        wrong = next(float(value) for value in highest if not np.isfinite(value))
        raise ValueError(
            f"logits of step {step} have the maximum {wrong}: expected a finite number, from finite weights"
        )
