"""Subword tokenizers as BERT and GPT-2 have them, trained on any text by the library `tokenizers`."""

from collections.abc import Iterable

import numpy as np
import tokenizers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from shared.checks import check_choice, check_positive
from shared.checks.text import check_texts, check_width
from shared.data.vocabularies import GPT_SPECIALS, PAD_ID

BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # ids 0 to 4


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
    tokenizer.encode_special_tokens = (
        True  # "<end>" in a text is text; no file keeps this, so `read_tokenizer` sets it again
    )
    return tokenizer


def train_tokenizer(sentences: Iterable[str], kind: str, vocab_size: int) -> Tokenizer:
    """Learn a vocabulary of words and parts of words from sentences.

    Args:
        sentences: strings, such as `shared.grammar.sample` or `shared.grammar.read_corpus` give.
        kind: "wordpiece" as BERT has it, lower case, each sentence encoded as [CLS] ... [SEP], special tokens BERT_SPECIALS, also where a sentence spells
            one: "[MASK]" is how a gap is written; or "bpe", byte-level byte pairs as GPT-2 has them, each sentence encoded as <end> ... <end>, special
            tokens GPT_SPECIALS, and "<end>" in a sentence is text.
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


def check_reads_text(tokenizer: Tokenizer) -> None:
    """Raise unless the names of special tokens in a text are text, as they are in any tokenizer but BERT's.

    Raises:
        TypeError: if tokenizer is no Tokenizer.
        ValueError: if a text that spells the end of a text would end there.
    """
    if not isinstance(tokenizer, tokenizers.Tokenizer):
        raise TypeError(f"tokenizer is a {type(tokenizer).__name__}: expected a tokenizers.Tokenizer")
    if not tokenizer.encode_special_tokens and not isinstance(tokenizer.model, models.WordPiece):
        raise ValueError(
            "tokenizer.encode_special_tokens is False, so <end> in a text would end it: expected True, "
            "as `train_tokenizer` and `read_tokenizer` set it (a copy or a file of a tokenizer has lost it)"
        )


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
        ValueError: if there is no sentence, one has more tokens than max_length, or the tokenizer takes "<end>" in a sentence for its end.
    """
    check_reads_text(tokenizer)
    rows = [encoding.ids for encoding in tokenizer.encode_batch(check_texts(sentences=sentences))]
    result = np.full((len(rows), check_width([len(row) for row in rows], max_length)), PAD_ID, np.int64)
    for tokens, row in zip(result, rows):
        tokens[: len(row)] = row
    return result
