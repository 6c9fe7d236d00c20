"""Pretraining on real text: a run that is stopped goes on, writes what everyone reads, and keeps its best weights."""

import numpy as np
import pretrain
import pytest
import torch

from shared import text
from shared.data import corpus
from shared.frameworks.history import History
from shared.frameworks.pretrained import read_tokenizer
from shared.numpy.gpt import GPTModel
from shared.numpy.real_text import nats_per_token

TINY = {"packages": ("networkx",), "vocab_size": 400, "d_model": 16, "num_heads": 2, "d_ff": 32, "max_length": 16}
TINY |= {"num_layers": 1, "num_steps": 12, "every": 4, "precision": "float32"}


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "straight"
    return folder, pretrain.pretrain(folder, **TINY)


def test_a_run_writes_a_folder_that_everyone_reads(straight):
    transformers = pytest.importorskip("transformers")
    folder, history = straight
    model = GPTModel.from_pretrained(folder)
    tokenizer = read_tokenizer(folder)
    assert tokenizer.get_vocab_size() == 400 == model.vocab_size
    ids = np.array([tokenizer.encode("The graph is a tree.").ids[:16]])
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        np.testing.assert_allclose(model(ids), theirs(torch.tensor(ids)).logits.numpy(), atol=1e-4)
    data = corpus.prepare(text.docstrings(TINY["packages"]), vocab_size=400)
    for part, result in history.result.items():
        nats = nats_per_token(model, getattr(data, part))
        assert result["nats_per_token"] == pytest.approx(nats, rel=1e-4)
        per_byte = corpus.bits_per_byte(nats, getattr(data, part), data.bytes[part])
        assert result["bits_per_byte"] == pytest.approx(per_byte, rel=1e-4)
    assert [each["steps"] for each in history.curve] == [4, 8, 12]
    assert history.curve[-1]["validation"] < history.curve[0]["validation"]
    assert all(sample.startswith(prompt) for sample, prompt in zip(history.curve[0]["samples"], pretrain.PROMPTS))
    assert "12 steps of 32 windows" in (folder / "README.md").read_text()


@pytest.mark.parametrize("stop", [4, 8, 12])
def test_a_run_that_was_stopped_ends_where_it_would_have_ended(straight, stop, tmp_path, monkeypatch):
    folder, history = straight
    measure = pretrain.Recorder.__call__

    def power_cut(recorder, steps):
        found = measure(recorder, steps)
        if steps == stop:  # measured and written, and the checkpoint of this step is not
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(pretrain.Recorder, "__call__", power_cut)
    with pytest.raises(KeyboardInterrupt):
        pretrain.pretrain(tmp_path, **TINY)
    monkeypatch.setattr(pretrain.Recorder, "__call__", measure)
    resumed = pretrain.pretrain(tmp_path, **TINY)
    assert (tmp_path / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    for key in ("steps", "training", "validation", "samples"):
        assert [each[key] for each in resumed.curve] == [each[key] for each in history.curve]
    assert resumed.result == history.result


def test_a_run_that_is_done_is_not_done_again(straight):
    folder, history = straight
    before = (folder / "model.safetensors").read_bytes()
    again = pretrain.pretrain(folder, **TINY)
    assert again.curve == history.curve and (folder / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "name"),
    [({"num_steps": 13}, "num_steps"), ({"dropout": 0.2}, "dropout"), ({"packages": ("numpy",)}, "source")],
)
def test_another_run_in_the_folder_is_refused(straight, change, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        pretrain.pretrain(straight[0], **TINY | change)


def test_the_best_weights_are_kept(tmp_path, monkeypatch):
    losses = iter([3.0, 2.0, 2.5, 2.2, 2.2])  # at steps 4, 8 and 12, then the two parts at the end
    monkeypatch.setattr(pretrain, "nats_per_token", lambda *_: next(losses))
    written = []
    write = pretrain.write_gpt2
    monkeypatch.setattr(pretrain, "write_gpt2", lambda *of: written.append(of) or write(*of))
    pretrain.pretrain(tmp_path, **TINY)
    assert len(written) == 2 and "The weights are those of step 8" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("faster", [True, False])
def test_bfloat16_is_used_where_it_is_faster(tmp_path, monkeypatch, faster):
    monkeypatch.setattr(pretrain, "bfloat16_is_faster", lambda _: faster)
    seen = set()

    class Spy(pretrain.GPTModel):
        def forward(self, *given, **named):
            result = super().forward(*given, **named)
            seen.update({result.dtype} if self.training else ())
            return result

    monkeypatch.setattr(pretrain, "GPTModel", Spy)
    history = pretrain.pretrain(tmp_path, **TINY | {"num_steps": 2, "every": 2, "precision": None})
    assert seen == {torch.bfloat16 if faster else torch.float32}
    assert history.run["precision"] == ("bfloat16" if faster else "float32")
    monkeypatch.setattr(pretrain, "bfloat16_is_faster", lambda _: not faster)
    again = pretrain.pretrain(tmp_path, **TINY | {"num_steps": 2, "every": 2, "precision": None})
    assert again.run == history.run, "a run keeps the precision that it began with"


@pytest.mark.parametrize("low, faster", [(0.6, True), (0.8, False), (3.0, False)])
def test_bfloat16_is_faster_where_it_takes_less_than_seven_tenths(monkeypatch, low, faster):
    ends = [moment for _ in range(10) for moment in (0.0, low, 0.0, 1.0)]  # of bfloat16, then of float32, ten times
    monkeypatch.setattr(pretrain.time, "perf_counter", iter(ends).__next__)
    assert pretrain.bfloat16_is_faster(torch.device("cpu")) is faster


def test_autocast_uses_the_weights_of_each_step(tmp_path):
    """With autocast's memory on, every step would use the weights of the first: the loss hardly falls."""
    longer = TINY | {"num_steps": 40, "every": 40}
    low = pretrain.pretrain(tmp_path / "low", **longer | {"precision": "bfloat16"})
    full = pretrain.pretrain(tmp_path / "full", **longer)
    assert low.curve[-1]["validation"] == pytest.approx(full.curve[-1]["validation"], rel=0.02)
    assert low.run["precision"] == "bfloat16"


def test_a_text_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    words = ["the", "owl", "sees", "a", "graph", "tree", "of", "small", "nodes", "and"]
    blocks = [" ".join(rng.choice(words, 9)) + "." for _ in range(200)]
    (tmp_path / "mine.txt").write_text("\n\n".join(blocks))
    given = {name: value for name, value in TINY.items() if name != "packages"} | {"num_steps": 2, "every": 2}
    history = pretrain.pretrain(tmp_path / "out", file=tmp_path / "mine.txt", **given)
    assert history.run["source"] == "mine.txt" and 0 < history.result["test"]["bits_per_byte"] < 8
    assert "The text file mine.txt" in (tmp_path / "out/README.md").read_text()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "file"),
        (b"caf\xe9 and more", "file"),
        (b"One paragraph alone.", "paragraphs"),
        ("\n\n".join(f"Number {i}." for i in range(40)).encode(), "max_length"),
    ],
)
def test_a_bad_text_is_refused_before_anything_is_written(tmp_path, content, name):
    (tmp_path / "mine.txt").write_bytes(content)
    given = {name: value for name, value in TINY.items() if name != "packages"} | {"max_length": 128}
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        pretrain.pretrain(tmp_path / "out", file=tmp_path / "mine.txt", **given)
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path, monkeypatch, capsys):
    called = []
    monkeypatch.setattr(pretrain, "pretrain", lambda *given, **named: called.append((given, named)) or history)
    history = History(tmp_path, {})
    history.result["test"] = {"bits_per_byte": 1.25}
    monkeypatch.setattr("sys.argv", ["-c", "--folder=here", "--steps=7", "--file=my.txt"])
    pretrain.main()
    assert called == [(("here", 7), {"file": "my.txt", "progress": True})]
    assert "test: 1.250 bits per byte" in capsys.readouterr().out

    def stopped(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(pretrain, "pretrain", stopped)
    with pytest.raises(SystemExit, match="The same command goes on"):
        pretrain.main()
