"""Sub-word tokenizers for English text, trained here with the `tokenizers` library: WordPiece as BERT's, byte-level byte pairs as GPT-2's.

Padding is always token 0 and stands at the end.
"""

from collections.abc import Iterable

import numpy as np
import tokenizers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from shared.checks import check_choice, check_positive, check_texts, check_width

PAD_ID = 0
BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # ids 0 to 4
GPT_SPECIALS = ("<pad>", "<end>")  # ids 0 and 1
WORD_SPECIALS = BERT_SPECIALS[:2]  # of a vocabulary of whole words
# Byte -> the letter that byte-level tokenizers write it as, in the order of the letters: printable bytes as they are, the others above them.
_PRINTABLE = [byte for byte in range(256) if 33 <= byte <= 126 or (161 <= byte and byte != 173)]
BYTE_LETTERS = {byte: chr(byte) for byte in _PRINTABLE}
BYTE_LETTERS |= {
    byte: chr(256 + place) for place, byte in enumerate(byte for byte in range(256) if byte not in BYTE_LETTERS)
}


def _wordpiece(sentences: list[str], vocab_size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # The trainer numbers the inner letters as it meets them, in an order that changes from run to run, unless they are there before.
    letters = sorted(set("".join(map(tokenizer.normalizer.normalize_str, sentences))) - set(" "))
    known = [*BERT_SPECIALS, *(f"##{letter}" for letter in letters)]
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=known, show_progress=False)
    tokenizer.train_from_iterator(sentences, trainer)
    # Of those, the model knows as special what is so.
    vocabulary = tokenizer.get_vocab()
    result = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    result.add_special_tokens(list(BERT_SPECIALS))
    result.normalizer, result.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    result.decoder = decoders.WordPiece()
    result.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return result


def _byte_pairs(sentences: list[str], vocab_size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    # A space before the first word, too: so a word is the same tokens wherever it stands.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(single="<end> $A <end>", special_tokens=[("<end>", 1)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(GPT_SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),  # all 256 bytes, so that no text is unknown
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return tokenizer


def train_tokenizer(sentences: Iterable[str], kind: str, vocab_size: int) -> Tokenizer:
    """Learn a vocabulary of words and parts of words from sentences.

    Args:
        sentences: strings, such as `shared.grammar.sample` or `read_corpus` give.
        kind: "wordpiece" as BERT has it, lower case, each sentence encoded as [CLS] ... [SEP], special tokens BERT_SPECIALS; or "bpe", byte-level byte
            pairs as GPT-2 has them, each sentence encoded as <end> ... <end>, special tokens GPT_SPECIALS.
        vocab_size: the most tokens that the vocabulary may have, special ones and single characters (or 256 bytes) included.

    Returns:
        a tokenizer: `encode(text).ids`, `decode(ids)`, `token_to_id`, `get_vocab_size()`.

    Raises:
        TypeError: if sentences is a single string or holds something else than strings, or vocab_size is not a whole number.
        ValueError: if there is no sentence, kind is unknown, or vocab_size has no room for the special tokens and the single characters.

    Source: Wu et al. 2016, section 4.1 (WordPiece); Sennrich et al. 2016, section 3.2, on bytes as in Radford et al. 2019, section 2.2 (byte pairs).
    """
    sentences = check_texts(sentences=sentences)
    check_choice(("wordpiece", "bpe"), kind=kind)
    check_positive(vocab_size=vocab_size)
    tokenizer = (_wordpiece if kind == "wordpiece" else _byte_pairs)(sentences, vocab_size)
    if tokenizer.get_vocab_size() > vocab_size:
        needed = f"{tokenizer.get_vocab_size()}, for the special tokens and single characters"
        raise ValueError(f"vocab_size={vocab_size}: expected at least {needed}")
    return tokenizer


def encode_batch(tokenizer: Tokenizer, sentences: Iterable[str], max_length: int | None = None) -> np.ndarray:
    """Turn sentences into token ids, special tokens around each, padded at the end.

    Args:
        tokenizer: from `train_tokenizer`.
        sentences: strings.
        max_length: width of the result; None for the longest sentence's length.

    Returns:
        (n, length) int64.

    Raises:
        TypeError: if tokenizer is no Tokenizer, sentences is a single string or holds something else than strings, or max_length is not a whole number.
        ValueError: if there is no sentence, or one has more tokens than max_length.
    """
    if not isinstance(tokenizer, tokenizers.Tokenizer):
        raise TypeError(f"tokenizer is a {type(tokenizer).__name__}: expected a tokenizers.Tokenizer")
    rows = [encoding.ids for encoding in tokenizer.encode_batch(check_texts(sentences=sentences))]
    result = np.full((len(rows), check_width([len(row) for row in rows], max_length)), PAD_ID, np.int64)
    for tokens, row in zip(result, rows):
        tokens[: len(row)] = row
    return result


def to_letters(token: bytes) -> str:
    """A token of bytes as byte-level tokenizers write it, a letter a byte: b" robot" becomes "Ġrobot"."""
    return "".join(BYTE_LETTERS[byte] for byte in token)


def from_letters(token: str) -> bytes:
    """The bytes of a token that is written a letter a byte, as `to_letters` writes it.

    Raises:
        ValueError: if a letter stands for no byte.
    """
    bytes_of = {letter: byte for byte, letter in BYTE_LETTERS.items()}
    for letter in token:
        if letter not in bytes_of:
            raise ValueError(f"token={token!r}: {letter!r} stands for no byte")
    return bytes(bytes_of[letter] for letter in token)


def check_vocabulary(vocabulary: Iterable[str], unit: str) -> list[str]:
    """The vocabulary of a `SimpleTokenizer` as a list, after a check that it is one.

    Raises:
        TypeError: if it is a single string or holds something else than strings.
        ValueError: if it does not begin with WORD_SPECIALS, holds no word, a word twice, or what is not a single unit.
    """
    vocabulary = check_texts(vocabulary=vocabulary)
    check_choice(("word", "letter"), unit=unit)
    if tuple(vocabulary[:2]) != WORD_SPECIALS or len(vocabulary) < 3:
        raise ValueError(
            f"vocabulary begins with {vocabulary[:2]}: expected {', '.join(WORD_SPECIALS)}, then at least one word"
        )
    seen = set()
    for place, token in enumerate(vocabulary):
        if token in seen:
            raise ValueError(f"vocabulary holds {token!r} twice: expected each {unit} once")
        seen.add(token)
        if place > 1 and (
            "\0" in token or (len(token) != 1 if unit == "letter" else token.encode().split() != [token.encode()])
        ):
            raise ValueError(f"vocabulary[{place}]={token!r}: expected one {unit}")
    return vocabulary


def check_word_training(sentences: Iterable[str], unit: str, vocab_size: int | None) -> list[str]:
    """The sentences that a `SimpleTokenizer` learns from as a list, after a check of its three arguments."""
    sentences = check_texts(sentences=sentences)
    check_choice(("word", "letter"), unit=unit)
    if vocab_size is not None:
        check_positive(vocab_size=vocab_size)
        if vocab_size < 3:
            raise ValueError(f"vocab_size={vocab_size}: expected at least 3, for {', '.join(WORD_SPECIALS)} and a word")
    if not any(sentence.encode().strip() for sentence in sentences):
        raise ValueError("sentences hold nothing but white space: expected at least one word")
    return sentences


def byte_pair_vocabulary(merges: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """The tokens of a byte-pair tokenizer by id: the special ones, the 256 bytes, and what the merges made, in order and each once."""
    made = dict.fromkeys(left + right for left, right in merges)
    return [*(token.encode() for token in GPT_SPECIALS), *(bytes([byte]) for byte in BYTE_LETTERS), *made]


def check_byte_pair_size(vocab_size: int) -> None:
    """Raise unless vocab_size, of a vocabulary of byte pairs, is a whole number with room for the special tokens and all bytes."""
    check_positive(vocab_size=vocab_size)
    least = len(GPT_SPECIALS) + len(BYTE_LETTERS)
    if vocab_size < least:
        raise ValueError(
            f"vocab_size={vocab_size}: expected at least {least}, for {', '.join(GPT_SPECIALS)} and the 256 bytes"
        )


def check_merges(merges: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The merges of a byte-pair tokenizer as a list, after a check that each joins two tokens that are known by then.

    Raises:
        TypeError: if merges is no list, or holds something else than pairs of bytes.
        ValueError: if a part of a pair is no token yet, or a pair comes twice.
    """
    if isinstance(merges, str | bytes) or not isinstance(merges, Iterable):
        raise TypeError(f"merges={merges!r}: expected a list of pairs of bytes, got {type(merges).__name__}")
    known, found = {bytes([byte]) for byte in range(256)}, {}
    for place, pair in enumerate(merges):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, bytes) for part in pair)):
            raise TypeError(f"merges[{place}]={pair!r}: expected a pair of bytes")
        for part in pair:
            if part not in known:
                raise ValueError(
                    f"merges[{place}]={pair!r}: {part!r} is no token yet: expected a byte or a merge before"
                )
        if tuple(pair) in found:
            raise ValueError(
                f"merges[{place}]={pair!r}: expected each pair once, and merges[{found[tuple(pair)]}] is it"
            )
        found[tuple(pair)] = place
        known.add(pair[0] + pair[1])
    return list(found)


def encode_texts(tokenizer: object, texts: Iterable[str], max_length: int | None) -> list[list[int]]:
    """Encode texts with a tokenizer of chapter 04, after the checks that padding them needs.

    Args:
        tokenizer: an object with `encode(text)`, which returns a list of ids.
        texts: strings.
        max_length: the most tokens that a text may have; None for any number.

    Returns:
        A list of ids for each text.

    Raises:
        TypeError: if tokenizer has no such encode, texts is a single string or holds something else, or max_length is no whole number.
        ValueError: if there is no text, a text has more than max_length tokens, or holds half of a surrogate pair.
    """
    texts = check_texts(texts=texts)
    if max_length is not None:
        check_positive(max_length=max_length)
    encodes = callable(getattr(tokenizer, "encode", None)) and not isinstance(
        tokenizer, str
    )  # a str has another encode
    rows = [tokenizer.encode(text) if encodes else None for text in texts]
    if not isinstance(rows[0], list):
        raise TypeError(
            f"tokenizer is a {type(tokenizer).__name__}: expected one whose encode(text) returns a list of ids"
        )
    for index, row in enumerate(rows):
        if max_length is not None and len(row) > max_length:
            raise ValueError(f"length {len(row)} of texts[{index}] is over max_length={max_length}")
    return rows
