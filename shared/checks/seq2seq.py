"""Checks of arguments that chapter 12 needs alike in its three tracks."""

from typing import Any

from shared.checks import check_32_bits, check_choice, check_positive
from shared.checks.text import check_texts


def check_vocabularies(source_vocab_size: int, target_vocab_size: int, pad_id: int, shared_embeddings: bool) -> None:
    """Raise unless the sizes of two vocabularies are positive, padding is in both, and a table for both sides can be one."""
    check_positive(source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
    check_choice(range(min(source_vocab_size, target_vocab_size)), pad_id=pad_id)
    if shared_embeddings and source_vocab_size != target_vocab_size:
        raise ValueError(
            f"shared_embeddings=True with source_vocab_size={source_vocab_size} and target_vocab_size={target_vocab_size}:"
            " expected vocabularies of one size"
        )


def check_pair(inputs: Any) -> None:
    """Raise unless inputs has a source and a target, and nothing else, with as many rows.

    Raises:
        TypeError: if their numbers of rows differ.
        ValueError: if one is missing, or there is another.
    """
    if set(inputs) != {"source", "target"}:
        raise ValueError(f"inputs has {', '.join(map(repr, inputs)) or 'nothing'}: expected 'source' and 'target'")
    source, target = (tuple(getattr(inputs[name], "shape", ())) for name in ("source", "target"))
    if None not in (*source[:1], *target[:1]) and source[:1] != target[:1]:
        raise TypeError(f"source has shape {source} beside target {target}: expected as many rows")


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
    check_32_bits(source=source)
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


def check_translation(model: Any, text: Any, source_tokenizer: Any, target_tokenizer: Any) -> list[str]:
    """The text, or the texts, as a list, after a check that model and tokenizers belong together.

    Raises:
        TypeError: if a text is not a string, or a tokenizer lacks `encode`, `decode` or `vocabulary`.
        ValueError: if there is no text, a text is empty, the model has other vocabularies or pads otherwise, or <start> or <end> isn't in the target's.
    """
    sides = {"source": source_tokenizer, "target": target_tokenizer}
    for side, tokenizer in sides.items():
        if missing := [name for name in ("encode", "decode", "vocabulary") if not hasattr(tokenizer, name)]:
            raise TypeError(
                f"{side}_tokenizer is a {type(tokenizer).__name__} without {', '.join(missing)}: expected a SimpleTokenizer or its like"
            )
        size = getattr(model, f"{side}_vocab_size")
        if len(tokenizer.vocabulary) != size:
            raise ValueError(
                f"{side}_tokenizer knows {len(tokenizer.vocabulary)} tokens: expected the {size} of model.{side}_vocab_size"
            )
    for token in ("<start>", "<end>"):
        if token not in target_tokenizer.vocabulary:
            raise ValueError(f"target_tokenizer doesn't know {token}, which each target was trained with")
    if model.pad_id != 0:
        raise ValueError(f"model has pad_id={model.pad_id}: expected 0, with which texts are padded")
    texts = check_texts(text=[text] if isinstance(text, str) else text)
    for index, each in enumerate(texts):
        if not each.strip():
            raise ValueError(f"text[{index}] is {each!r}: expected at least one token")
    return texts
