"""Chapter 15: the shipped model, measuring, looking inside, adapters and pretraining, in each track and across the three."""

import io
from contextlib import redirect_stdout
from pathlib import Path

import keras
import nbformat
import numpy as np
import pytest
import torch
from dictionaries import assert_same, drawn, values_of
from keras import ops

import shared.keras.real_text as keras_track
import shared.numpy.real_text as numpy_track
import shared.pytorch.real_text as pytorch_track
from shared import parity, text
from shared.arrays import as_numpy
from shared.data import corpus
from shared.frameworks import pretrained
from shared.frameworks.history import History, model_card, read_history
from shared.frameworks.weights import get_weights, set_weights
from shared.keras.gpt import GPTModel as KerasGPT
from shared.numpy.attention import MultiHeadAttention
from shared.numpy.gpt import GPTModel as NumpyGPT
from shared.numpy.models import Linear
from shared.numpy.training import AdamW, cross_entropy
from shared.pytorch.gpt import GPTModel as PyTorchGPT
from shared.pytorch.gpt import generate
from shared.pytorch.training import train

ROOT = Path(__file__).resolve().parents[2]
MODELS = {"numpy": NumpyGPT, "pytorch": PyTorchGPT, "keras": KerasGPT}
TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
SMALL = {"d_model": 8, "num_heads": 2, "d_ff": 12, "vocab_size": 30, "max_length": 12, "num_layers": 2}
every_track = pytest.mark.parametrize("track", TRACKS)
TOKENS = np.random.default_rng(0).integers(0, 30, size=55)


def small(track: str):
    """A model of random weights that matter, the same in every track."""
    model = MODELS[track](**SMALL)
    rng = np.random.default_rng(7)
    given = sorted(get_weights(model).items())
    weights = {name: rng.normal(scale=0.4, size=value.shape) + name.endswith("gamma") for name, value in given}
    set_weights(model, weights)
    return model.eval() if track == "pytorch" else model


def given(track: str, row: np.ndarray):
    return torch.tensor(row) if track == "pytorch" else row


# The shipped model


@pytest.fixture(scope="module")
def shipped():
    return PyTorchGPT.from_pretrained(pretrained.shipped()).double()


def test_the_folder_is_small_and_whole():
    files = {path.name: path.stat().st_size for path in pretrained.shipped().iterdir()}
    assert set(files) >= {"config.json", "model.safetensors", "tokenizer.json", "README.md", "history.json"}
    assert "checkpoint.safetensors" not in files and sum(files.values()) <= 10e6


def test_it_is_one_model_in_the_three_tracks_and_in_transformers(shipped):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(pretrained.shipped(), dtype=torch.float64)
    words = transformers.AutoTokenizer.from_pretrained(pretrained.shipped())
    tokenizer = pretrained.read_tokenizer(pretrained.shipped())
    sentence = "This function returns the number of rows, and the number of columns."
    for each in (sentence, "a <end> in a text, and <pad>"):
        assert words(each).input_ids == tokenizer.encode(each).ids
        assert tokenizer.decode(tokenizer.encode(each).ids) == f" {each}"
    ids = np.array([tokenizer.encode(sentence).ids[:-1]])
    in_numpy = NumpyGPT.from_pretrained(pretrained.shipped()).astype(np.float64)
    with torch.no_grad():
        expected = theirs(torch.tensor(ids)).logits.numpy()
        found = {"pytorch": shipped(torch.tensor(ids)).numpy(), "numpy": in_numpy(ids)}
    for logits in found.values():
        np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    in_keras = as_numpy(KerasGPT.from_pretrained(pretrained.shipped())(ids))
    np.testing.assert_allclose(in_keras, expected, rtol=0, atol=1e-4 * np.abs(expected).max())

    prompt = ids[:, :4]
    written = generate(shipped, prompt, 30, temperature=0, end_id=corpus.END_ID)[0]
    length = len(written) - 4
    greedy = theirs.generate(torch.tensor(prompt), max_new_tokens=length, do_sample=False, pad_token_id=1)[0].numpy()
    with torch.no_grad():
        best = np.sort(shipped(torch.tensor(written[None]))[0].numpy(), axis=-1)[3:-1]
    sure = best[:, -1] - best[:, -2] > 1e-6
    same = np.cumprod(sure).astype(bool)  # what comes after a tie may differ
    assert (greedy[4:][same[: len(greedy) - 4]] == written[4:][same][: len(greedy) - 4]).all() and same[:3].all()


def test_the_card_is_that_of_the_history():
    content = read_history(pretrained.shipped())
    history = History(pretrained.shipped(), content["run"])
    card = (pretrained.shipped() / "README.md").read_text()
    assert model_card(history) == card
    assert [each["package"] for each in history.packages] == content["run"]["source"]
    assert content["curve"][-1]["steps"] == content["run"]["num_steps"]
    weights = NumpyGPT.from_pretrained(pretrained.shipped()).parameters()
    assert sum(each.size for each in weights.values()) == content["run"]["weights"]


# Measuring


@every_track
@pytest.mark.keras
def test_keras_and_the_others_average_over_all_tokens(track):
    model, single = small(track), small("numpy")
    losses, counts = [], []
    for start in range(0, 54, 12):
        row = TOKENS[start : min(start + 13, 55)]
        losses.append(cross_entropy(single(row[None, :-1]), row[None, 1:]))
        counts.append(len(row) - 1)
    assert sum(counts) == 54
    expected = np.average(losses, weights=counts)
    for batch_size in (1, 2, 32):
        assert TRACKS[track].nats_per_token(model, TOKENS, batch_size) == pytest.approx(expected, rel=1e-5)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_hand_out_the_weights_of_the_model(track):
    transformers = pytest.importorskip("transformers")
    sizes = {"n_embd": 8, "n_head": 2, "n_layer": 3, "n_positions": 20, "vocab_size": 30, "initializer_range": 0.4}
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**sizes, bos_token_id=None, eos_token_id=None, attn_implementation="eager")
    ).eval()
    arrays = {name: value.numpy() for name, value in theirs.state_dict().items()}
    arguments, weights = pretrained.gpt2_weights(theirs.config.to_dict(), arrays)
    model = MODELS[track](**arguments)
    set_weights(model, weights)
    row = TOKENS[:9]
    with torch.no_grad():
        expected = torch.cat(theirs(torch.tensor(row[None]), output_attentions=True).attentions).numpy()
    found = as_numpy(TRACKS[track].attention_weights(model.eval() if track == "pytorch" else model, given(track, row)))
    assert found.shape == (3, 2, 9, 9)
    np.testing.assert_allclose(found, expected, atol=1e-5)


# The baseline


def by_dictionary(training: list, tokens: list, order: int, vocab_size: int, strength: float) -> list[float]:
    """The same probabilities, one at a time."""

    def prob(token, context):
        n = len(context)
        seen = [training[i + n] for i in range(len(training) - n) if tuple(training[i : i + n]) == context]
        shorter = prob(token, context[1:]) if n else 1 / vocab_size
        return (seen.count(token) + strength * shorter) / (len(seen) + strength)

    return [prob(tokens[i], tuple(tokens[max(0, i - order + 1) : i])) for i in range(1, len(tokens))]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("strength", [0.5, 7])
def test_ngram_probabilities_are_those_of_counting(order, strength):
    rng = np.random.default_rng(order)
    training, tokens = rng.integers(0, 4, size=60), rng.integers(0, 5, size=25)
    found = numpy_track.ngram_probabilities(training, tokens, order, 5, strength)
    np.testing.assert_allclose(found, by_dictionary(training.tolist(), tokens.tolist(), order, 5, strength), rtol=1e-12)


@pytest.mark.parametrize("order", [1, 3])
def test_the_chances_after_a_context_add_up_to_one(order):
    training = np.random.default_rng(0).integers(0, 5, size=80)
    for context in ([0, 1], [4, 4], [2, 3]):
        rows = [np.array([*context, last]) for last in range(5)]
        rows = [np.concatenate([[0], row]) for row in rows]  # longer than the order
        total = sum(numpy_track.ngram_probabilities(training, row, order, 5)[-1] for row in rows)
        assert total == pytest.approx(1, abs=1e-14)


# LoRA


def adapters() -> tuple[numpy_track.LoRA, pytorch_track.LoRA]:
    """The same adapter around the same layer, in NumPy and PyTorch."""
    rng = np.random.default_rng(0)
    ours = numpy_track.LoRA(Linear(5, 4), 2, 3.0)
    theirs = pytorch_track.LoRA(torch.nn.Linear(5, 4).double(), r=2, lora_alpha=3.0)
    for name, parameter in ours.named_parameters():
        parameter.value[:] = rng.normal(size=parameter.value.shape)
        other = {"base.kernel": "base_layer.weight", "base.bias": "base_layer.bias"}
        other |= {"a": "lora_A.weight", "b": "lora_B.weight"}
        theirs.get_parameter(other[name]).data = torch.tensor(parameter.value.T.copy())
    return ours, theirs


def test_the_adapter_is_the_same_in_numpy_and_pytorch():
    rng = np.random.default_rng(1)
    ours, theirs = adapters()
    x, upstream = rng.normal(size=(3, 7, 5)), rng.normal(size=(3, 7, 4))
    given = torch.tensor(x, requires_grad=True)
    result = theirs(given)
    result.backward(torch.tensor(upstream))
    np.testing.assert_allclose(ours(x), result.detach().numpy(), rtol=1e-12)
    kernel = ours.base.kernel.value + 1.5 * ours.a.value @ ours.b.value
    np.testing.assert_allclose(ours(x), x @ kernel + ours.base.bias.value, rtol=1e-12)
    np.testing.assert_allclose(ours.backward(upstream), given.grad.numpy(), rtol=1e-12)
    np.testing.assert_allclose(ours.a.grad, theirs.lora_A.weight.grad.numpy().T, rtol=1e-12)
    np.testing.assert_allclose(ours.b.grad, theirs.lora_B.weight.grad.numpy().T, rtol=1e-12)
    assert theirs.base_layer.weight.grad is None
    ours.backward(upstream)
    np.testing.assert_allclose(ours.b.grad, 2 * theirs.lora_B.weight.grad.numpy().T, rtol=1e-12)


def test_pytorch_merges_an_adapter_into_its_layer():
    _, adapter = adapters()
    model = torch.nn.ModuleDict({"inner": torch.nn.ModuleDict({"query": adapter})})
    x = torch.randn(3, 5, dtype=torch.float64)
    expected, layer = adapter(x), adapter.base_layer
    assert pytorch_track.merge_lora(model) is model
    assert model["inner"]["query"] is layer
    torch.testing.assert_close(layer(x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_an_adapter_begins_with_no_change_and_is_drawn_in_one_factor(track):
    if track == "numpy":
        adapter = numpy_track.LoRA(Linear(60, 5).astype(np.float32), 30, 6.0)
        a, b = adapter.a.value, adapter.b.value
    else:
        adapter = pytorch_track.LoRA(torch.nn.Linear(60, 5), 30, 6.0)
        a, b = (as_numpy(each.weight) for each in (adapter.lora_A, adapter.lora_B))
    assert a.dtype == b.dtype == np.float32 and not b.any()
    assert a.std() == pytest.approx(60**-0.5, rel=0.1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_pytorch_adapters_are_in_float32_at_least(dtype):
    adapter = pytorch_track.LoRA(torch.nn.Linear(4, 3).to(dtype), 2, 4.0)
    assert adapter.lora_A.weight.dtype == torch.promote_types(dtype, torch.float32)
    optimizer = torch.optim.AdamW(adapter.lora_B.parameters(), lr=0.1)
    y = adapter(torch.ones(2, 4, dtype=dtype))
    y.square().sum().backward()
    optimizer.step()
    assert y.dtype == dtype and adapter(torch.ones(2, 4, dtype=dtype)).isfinite().all()


def test_pytorch_merged_twice_adds_once():
    _, adapter = adapters()
    once = adapter.merge().weight.clone()
    torch.testing.assert_close(adapter.merge().weight, once, rtol=0, atol=0)
    x = torch.randn(2, 5, dtype=torch.float64)
    torch.testing.assert_close(adapter(x), adapter.base_layer(x), rtol=0, atol=0)


@pytest.mark.parametrize("wrong", [["output"], ["query", "querry"], [], "query"])
def test_what_pytorch_cannot_adapt_is_refused_before_anything_is_frozen(wrong):
    model = small("pytorch")  # its output is tied to its table
    refused(lambda: pytorch_track.add_lora(model, 2, 4.0, wrong), ValueError, "target_modules")
    assert all(each.requires_grad for each in model.parameters())


def test_pytorch_trains_the_adapters_and_nothing_else():
    model = small("pytorch")
    before = {name: value.copy() for name, value in get_weights(small("pytorch")).items()}
    tokens = torch.tensor(TOKENS[None, :10])
    expected = model(tokens)
    assert pytorch_track.add_lora(model, r=2, lora_alpha=4.0) is model
    torch.testing.assert_close(model(tokens), expected, rtol=0, atol=0)
    trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
    assert sum(each.numel() for each in trained.values()) == 2 * 2 * (8 * 2 + 2 * 8)  # blocks, projections, A and B
    assert {name.split(".")[3] for name in trained} == {"query", "value"}

    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.0)
    batch = (TOKENS[None, :10], TOKENS[None, 1:11])
    losses = train(model, optimizer, lambda step: batch, 20)
    assert losses[-1] < losses[0] - 0.05
    after = get_weights(pytorch_track.merge_lora(model))
    moved = {name for name in before if np.abs(after[name] - before[name]).max() > 1e-6}
    assert after.keys() == before.keys()
    assert moved == {f"blocks.{i}.attention.{part}.kernel" for i in (0, 1) for part in ("query", "value")}


def test_pytorch_adapts_the_layers_that_are_named():
    model = pytorch_track.add_lora(small("pytorch"), 2, 4.0, target_modules=["expand"])
    adapted = [name for name, each in model.named_modules() if isinstance(each, pytorch_track.LoRA)]
    assert adapted == ["blocks.0.feed_forward.expand", "blocks.1.feed_forward.expand"]


@pytest.mark.keras
def test_keras_trains_the_adapters_and_nothing_else():
    model = small("keras")
    before = {weight.path: as_numpy(weight).copy() for weight in model.weights}
    expected = as_numpy(model(TOKENS[None, :10]))
    assert keras_track.add_lora(model, rank=2, lora_alpha=4.0) is model
    np.testing.assert_array_equal(as_numpy(model(TOKENS[None, :10])), expected)
    trained = model.trainable_weights
    assert sum(int(np.prod(each.shape)) for each in trained) == 2 * 2 * (8 * 2 + 2 * 8)
    assert {each.name for each in trained} == {"lora_kernel_a", "lora_kernel_b"}
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-100)
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build(trained)
    in_jax = keras.backend.backend() == "jax"  # which is slower without, and TensorFlow with
    model.compile(optimizer, loss, jit_compile=in_jax)
    losses = model.fit(TOKENS[None, :10], TOKENS[None, 1:11], epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] - 0.05
    after = {weight.path: as_numpy(weight) for weight in model.weights}
    assert all((after[path] == before[path]).all() for path in before)


@pytest.mark.keras
def test_keras_loss_counts_the_targets_that_are_there():
    """What the notebook trains with is chapter 09's cross-entropy."""
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(3, 5, 7)).astype("float32"), rng.integers(0, 7, size=(3, 5))
    targets[0, 1:] = targets[2] = -100
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-100)
    assert float(loss(targets, ops.array(logits))) == pytest.approx(cross_entropy(logits, targets), rel=1e-6)


# The folder


def arguments_of(model: NumpyGPT) -> dict:
    return SMALL | {"eps": 1e-5}


@pytest.fixture(scope="module")
def tokenizer():
    return text.train_tokenizer(["a small text of words"], "bpe", 300)


@pytest.fixture
def folder(tmp_path, tokenizer):
    model = NumpyGPT(**SMALL | {"vocab_size": tokenizer.get_vocab_size()}, rng=0)
    arguments = arguments_of(model) | {"vocab_size": tokenizer.get_vocab_size()}
    pretrained.write_gpt2(tmp_path / "gpt", arguments, get_weights(model), tokenizer)
    return tmp_path / "gpt", model, arguments


def test_writing_and_reading_is_the_same_model_in_float16(folder, tokenizer):
    path, model, arguments = folder
    found, weights = pretrained.gpt2_weights(*pretrained.read_pretrained(path, "gpt2"))
    assert found == arguments
    for name, value in get_weights(model).items():
        np.testing.assert_array_equal(weights[name], value.astype(np.float16).astype(np.float32))
    assert pretrained.read_tokenizer(path).to_str() == tokenizer.to_str()
    spelled = "<end> of a <pad>"
    assert pretrained.read_tokenizer(path).encode(spelled).ids == tokenizer.encode(spelled).ids
    transformers = pytest.importorskip("transformers")
    assert transformers.AutoTokenizer.from_pretrained(path)(spelled).input_ids == tokenizer.encode(spelled).ids
    assert not list(path.glob("*.part"))


def test_what_is_written_drops_nothing_out_in_transformers(folder):
    transformers = pytest.importorskip("transformers")
    for path in (folder[0], pretrained.shipped()):
        model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).train()
        tokens = torch.arange(1, 9)[None]
        torch.testing.assert_close(model(tokens).logits, model(tokens).logits, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda a, w: a.pop("eps"), "eps"),
        (lambda a, w: a.update(vocab_size=7), "vocab_size"),
        (lambda a, w: w.pop("norm.beta"), "norm.beta"),
        (lambda a, w: w.update({"norm.beta": np.full(8, 1e6)}), "norm.beta"),
        (lambda a, w: w.update({"norm.beta": np.full(8, np.nan)}), "norm.beta"),
    ],
)
def test_what_cannot_be_written_leaves_the_folder_as_it_was(folder, tokenizer, change, name):
    path, model, arguments = folder
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    arguments, weights = dict(arguments), dict(get_weights(model))
    change(arguments, weights)
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        pretrained.write_gpt2(path, arguments, weights, tokenizer)
    assert {each.name: each.read_bytes() for each in path.iterdir()} == before


@pytest.mark.parametrize("content", [b"{", b"{}", None])
def test_a_tokenizer_that_is_damaged_or_missing_is_named(content, folder):
    file = folder[0] / "tokenizer.json"
    file.unlink() if content is None else file.write_bytes(content)
    error = FileNotFoundError if content is None else ValueError
    with pytest.raises(error, match=r"\btokenizer\.json\b"):
        pretrained.read_tokenizer(folder[0])


# The cells for real models, with directories of random weights


def cell(track: str, name: str) -> str:
    notebook = nbformat.read(ROOT / f"notebooks/15_real_text/{track}.ipynb", as_version=4)
    return next(each.source for each in notebook.cells if each.id == name)


@pytest.fixture
def real_directories(tmp_path, tokenizer, monkeypatch):
    transformers = pytest.importorskip("transformers")
    config = {"n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 64, "vocab_size": tokenizer.get_vocab_size()}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**config)).save_pretrained(tmp_path / "gpt2")
    tokenizer.save(str(tmp_path / "gpt2/tokenizer.json"))
    words = text.train_tokenizer(["this function returns the sum of two numbers."], "wordpiece", 120)
    config = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 12}
    config |= {"vocab_size": words.get_vocab_size(), "max_position_embeddings": 64}
    transformers.BertForMaskedLM(transformers.BertConfig(**config)).save_pretrained(tmp_path / "bert")
    words.save(str(tmp_path / "bert/tokenizer.json"))
    monkeypatch.setenv("GPT2_DIRECTORY", str(tmp_path / "gpt2"))
    monkeypatch.setenv("BERT_DIRECTORY", str(tmp_path / "bert"))


def test_the_cell_of_pytorch_writes_with_gpt2_and_fills_a_gap_with_bert(real_directories):
    names = {"pretrained": pretrained, "torch": torch, "GPTModel": PyTorchGPT, "generate": generate}
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(cell("pytorch", "use-real-code"), names)  # noqa: S102 - the notebook's own
    gpt2, bert = printed.getvalue().splitlines()[0], printed.getvalue().splitlines()[-1]
    assert gpt2.startswith("GPT-2: ")
    assert bert.startswith("BERT: This function [") and bert.count("'") + bert.count('"') >= 10


def test_the_cell_of_numpy_measures_gpt2(real_directories):
    from shared.numpy.gpt import generate as numpy_generate

    parts = corpus.Split([], [], text.docstrings(("numpy",))[:200])
    names = {"pretrained": pretrained, "np": np, "corpus": corpus, "parts": parts, "GPTModel": NumpyGPT}
    names |= {"generate": numpy_generate, "nats_per_token": numpy_track.nats_per_token}
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(cell("numpy", "use-real-code"), names)  # noqa: S102 - the notebook's own
    per_byte = float(printed.getvalue().split("GPT-2:")[1].split()[0])
    assert 5 < per_byte < 12, "random weights know nothing: log2 of the vocabulary, for tokens of about a byte"


def test_the_tracks_measure_alike():
    found = {}
    for track, module in TRACKS.items():
        model = small(track)
        if track == "pytorch":
            model = model.double()
        weights = as_numpy(module.attention_weights(model, given(track, TOKENS[:12])))
        found[track] = {"weights": weights, "nats": np.array(module.nats_per_token(model, TOKENS))}
    parity.compare(found, tolerance=1e-5)


# Bad input


def refused(call, error, name):
    with pytest.raises(error, match=rf"^[^;]*\b{name}\b"):  # other arrays stand behind a semicolon
        call()


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_every_track_names_what_it_refuses(track):
    module, model = TRACKS[track], small(track)
    refused(lambda: module.nats_per_token(model, TOKENS, 0), ValueError, "batch_size")
    refused(lambda: module.attention_weights(model, given(track, TOKENS[:13])), ValueError, "max_length")
    if track == "numpy":
        refused(lambda: module.LoRA(Linear(3, 4), rank=0, alpha=1.0), ValueError, "rank")
    else:
        refused(lambda: module.add_lora(model, 0, 1.0), ValueError, "r" if track == "pytorch" else "rank")


def ngrams(length=10, order=3, vocab_size=5, **wrong):
    training, tokens = np.arange(5).repeat(5), np.arange(5).repeat(2)[:length]
    return numpy_track.ngram_probabilities(training, tokens, order, vocab_size, **wrong)


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: numpy_track.nats_per_token(small("numpy"), TOKENS[:12]), ValueError, "tokens"),
        (lambda: ngrams(order=0), ValueError, "order"),
        (lambda: ngrams(strength=0.0), ValueError, "strength"),
        (lambda: ngrams(vocab_size=3), ValueError, "token"),
        (lambda: ngrams(length=3), ValueError, "order"),
        (lambda: ngrams(order=6, vocab_size=50257), ValueError, "order"),
    ],
)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)


# The dictionary of compare

SAME = {  # what has one value in the three columns
    "the loss of what is asked",
    "from nats to bits",
    "ask at some positions alone",
    "the logits of some answers",
    "a low-rank addition",
    "merged",
}


def run_column(column: int, transformers) -> dict[str, np.ndarray]:
    """Run a column from its first row to its last, and return the values of the rows in SAME."""
    rng = np.random.default_rng(0)
    arrays = drawn(rng, column, logits=(2, 8, 20), x=(2, 8, 16), kernel=(16, 20), a=(16, 2), b=(2, 20))
    arrays["ids"] = ids = rng.integers(1, 20, size=(2, 8))
    arrays |= {"asked": ids > 12, "targets": np.where(ids > 12, ids, -100), "answers": np.array([3, 5, 7, 11])}
    arrays = {name: torch.tensor(array) if column == 2 else array for name, array in arrays.items()}
    names = {"np": np, "rng": rng, "torch": torch, "transformers": transformers, "keras": keras} | arrays
    of_numpy = {"LoRA": numpy_track.LoRA, "Linear": Linear, "MultiHeadAttention": MultiHeadAttention, "AdamW": AdamW}
    names |= {**of_numpy, "cross_entropy": cross_entropy} if column == 1 else {}
    return values_of("15_real_text", column, names, SAME.__contains__)


@pytest.mark.keras
def test_every_call_of_the_dictionary_runs_as_typed_and_gives_the_same():
    transformers = pytest.importorskip("transformers")
    assert_same([run_column(column, transformers) for column in (1, 2, 3)], SAME)


def test_a_trained_adapter_belongs_to_the_modules_of_the_model():
    """NumPy's adapters hold their layer, so a model with some still has all of its weights."""
    model = small("numpy")
    before = dict(model.parameters())
    for block in model.blocks:
        block.attention.query = numpy_track.LoRA(block.attention.query, 2, 4.0)
    after = model.parameters()
    assert len(after) == len(before) + 4
    assert {id(value) for value in before.values()} < {id(value) for value in after.values()}
