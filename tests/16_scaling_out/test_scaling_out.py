"""Chapter 16: what the notebooks do not show. Their cells prove each engine equal to one process."""

import contextlib
import copy
import os
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from dictionaries import assert_same
from torch import nn

import shared.numpy.scaling_out as in_numpy
import shared.pytorch.scaling_out as in_pytorch
from shared.frameworks.weights import get_weights
from shared.numpy.gpt import GPTModel
from shared.numpy.training import cross_entropy, cross_entropy_backward

TRACKS = {"numpy": (in_numpy, np.asarray), "pytorch": (in_pytorch, torch.tensor)}


@pytest.mark.parametrize(("rows", "workers"), [(8, 3), (5, 4), (6, 4), (7, 1), (3, 3)])
@pytest.mark.parametrize("track", TRACKS)
def test_every_row_is_some_workers_row(track, rows, workers):
    module, array = TRACKS[track]
    given = np.arange(2 * rows).reshape(rows, 2)
    parts = [np.asarray(module.shard_batch(array(given), rank, workers)) for rank in range(workers)]
    for part, expected in zip(parts, np.array_split(given, workers), strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("track", TRACKS)
def test_more_workers_than_rows_are_refused(track):
    module, array = TRACKS[track]
    with pytest.raises(ValueError, match="workers"):
        module.shard_batch(array(np.zeros((2, 4))), 0, 3)


def test_the_ring_takes_turns(rng):
    """Several exchanges in a row, of different lengths: nobody reads what is left of the one before."""
    vectors = [rng.normal(size=(3, length)) for length in (7, 2, 11, 1, 11)]

    def work(group):
        return [group.all_reduce(each[group.rank]) for each in vectors]

    for found in in_numpy.in_threads(work, 3, 11):
        for sums, each in zip(found, vectors):
            np.testing.assert_allclose(sums, each.sum(axis=0), rtol=0, atol=1e-13)


def test_reduce_scatter_gives_each_worker_its_own_part(rng):
    vectors = rng.normal(size=(4, 10))
    parts = in_numpy.in_threads(lambda group: group.reduce_scatter(vectors[group.rank]), 4, 10)
    for part, expected in zip(parts, np.array_split(vectors.sum(axis=0), 4)):
        np.testing.assert_allclose(part, expected, rtol=0, atol=1e-13)


def test_a_vector_that_is_too_long_is_refused_and_nobody_waits():
    with pytest.raises(ValueError, match="12 numbers"):
        in_numpy.in_threads(lambda group: group.all_reduce(np.ones(12 if group.rank else 10)), 2, 10)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("sharded", [False, True])
def test_a_step_is_that_of_the_whole_batch(workers, sharded):
    """One step on rows with very different numbers of tokens, against the gradient of the whole batch."""
    inputs, targets = in_numpy.grammar.batch_at(23, 8, 16)
    model = GPTModel(**in_numpy.CONFIG, rng=1)
    start = {name: array.copy() for name, array in model.parameters().items()}
    logits = model(inputs)
    model.backward(cross_entropy_backward(logits, targets, ignore_index=0))
    adam = in_numpy.AdamW(model, 1e-2)
    adam.step()

    def work(group):
        mine = GPTModel(**in_numpy.CONFIG, rng=1)
        kind = in_numpy.ShardedAdam if sharded else None
        optimizer = kind(mine, group, 1e-2) if kind else in_numpy.AdamW(mine, 1e-2)
        batch = [in_numpy.shard_batch(rows, group.rank, workers) for rows in (inputs, targets)]
        loss = in_numpy.parallel_step(mine, optimizer, *batch, group, ignore_index=0)
        return loss, optimizer.part.weights.value.size if sharded else 0, mine.parameters()

    size = sum(array.size for array in start.values())
    results = in_numpy.in_threads(work, workers, size)
    for loss, held, weights in results:
        assert loss == pytest.approx(cross_entropy(logits, targets, ignore_index=0), abs=1e-13)
        assert held in ((size // workers, -(-size // workers)) if sharded else (0,))
        for name, array in model.parameters().items():
            np.testing.assert_allclose(weights[name], array, rtol=0, atol=1e-12, err_msg=name)
    assert np.abs(model.parameters()["norm.gamma"] - start["norm.gamma"]).max() > 1e-3


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("sharded", [False, True])
def test_a_worker_without_a_target_that_counts_takes_part(workers, sharded):
    inputs, targets = in_numpy.grammar.batch_at(23, 6, 16)
    targets[6 // workers : 2 * 6 // workers] = 0  # all of worker 1
    whole = GPTModel(**in_numpy.CONFIG, rng=1)
    expected = in_numpy.parallel_step(whole, in_numpy.AdamW(whole, 1e-2), inputs, targets, None, ignore_index=0)

    def work(group):
        mine = GPTModel(**in_numpy.CONFIG, rng=1)
        optimizer = in_numpy.ShardedAdam(mine, group, 1e-2) if sharded else in_numpy.AdamW(mine, 1e-2)
        batch = [in_numpy.shard_batch(rows, group.rank, workers) for rows in (inputs, targets)]
        return in_numpy.parallel_step(mine, optimizer, *batch, group, ignore_index=0), mine.parameters()

    size = sum(array.size for array in whole.parameters().values())
    for loss, weights in in_numpy.in_threads(work, workers, size):
        assert loss == pytest.approx(expected, abs=1e-13)
        for name, array in whole.parameters().items():
            np.testing.assert_allclose(weights[name], array, rtol=0, atol=1e-12, err_msg=name)


def test_numpy_refuses_a_batch_in_which_no_target_of_any_worker_counts():
    inputs, targets = in_numpy.grammar.batch_at(23, 6, 16)

    def work(group):
        model = GPTModel(**in_numpy.CONFIG, rng=1)
        rows = slice(None) if group is None else slice(group.rank, group.rank + 1)
        in_numpy.parallel_step(model, in_numpy.AdamW(model), inputs[rows], 0 * targets[rows], group, ignore_index=0)

    with pytest.raises(ValueError, match="targets"):
        work(None)
    with pytest.raises(ValueError, match="targets"):
        in_numpy.in_threads(work, 2, 100_000)


def pytorch_steps(group):
    """`parallel_step` and `accumulated_step` on a batch in two halves."""
    yield lambda model, adam, x, y: in_pytorch.parallel_step(model, adam, x, y, None, ignore_index=0)
    yield lambda model, adam, x, y: in_pytorch.accumulated_step(
        in_pytorch.DistributedDataParallel(model), adam, list(zip(x.split(3), y.split(3))), group, ignore_index=0
    )


def test_pytorch_refuses_a_batch_in_which_no_target_counts(group_of_one):
    inputs, targets = map(torch.tensor, in_numpy.grammar.batch_at(23, 6, 16))
    for step in pytorch_steps(group_of_one):
        model = in_pytorch.make_model(None)
        adam, before = torch.optim.AdamW(model.parameters()), get_weights(model)
        with pytest.raises(ValueError, match="targets"):
            step(model, adam, inputs, 0 * targets)
        assert not adam.state
        for name, array in get_weights(model).items():
            np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_part_in_which_no_target_counts_takes_part_in_pytorch(group_of_one):
    inputs, targets = map(torch.tensor, in_numpy.grammar.batch_at(23, 6, 16))
    targets[:3] = 0
    whole, accumulated = (
        step(in_pytorch.make_model(None), torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]), inputs, targets)
        for step in pytorch_steps(group_of_one)
    )
    assert accumulated == pytest.approx(whole, abs=1e-13) and np.isfinite(whole)


class Others:
    """A replica context in which the other workers have added up a loss and a count."""

    def __init__(self, *sums):
        self.sums = sums

    def all_reduce(self, operation, values):
        assert operation == "SUM"
        return values + self.sums


@pytest.fixture
def keras_step():
    """`parallel_step` of Keras on a small model of its own: loss, weights before and after; the optimizer is a function's."""
    import keras

    import shared.keras.scaling_out as in_keras

    def step(targets, group=None, make=lambda: keras.optimizers.SGD(1.0), wrapped=lambda function: function):
        keras.utils.set_random_seed(0)
        model = in_keras.GPTModel(d_model=8, num_heads=2, d_ff=16, vocab_size=11, max_length=8)
        optimizer = make()
        optimizer.build(model.trainable_variables)
        inputs = keras.ops.convert_to_tensor(np.arange(1, 9).reshape(2, 4))
        run = wrapped(lambda x, y: in_keras.parallel_step(model, optimizer, x, y, group))
        before, error, loss = get_weights(model), None, None
        try:
            loss = float(run(inputs, keras.ops.convert_to_tensor(targets)))
        except Exception as each:  # noqa: BLE001 - the tests ask which it is
            error = each
        return loss, before, get_weights(model), error

    return step


@pytest.mark.tensorflow
@pytest.mark.keras
def test_a_keras_worker_without_a_target_that_counts_takes_part(keras_step):
    import tensorflow as tf

    for wrapped in (lambda function: function, lambda function: tf.function(function, autograph=False)):
        loss, before, after, error = keras_step(np.full((2, 4), -100), Others(6.0, 4.0), wrapped=wrapped)
        assert error is None and loss == pytest.approx(1.5)
        for name, array in before.items():
            np.testing.assert_array_equal(after[name], array, err_msg=name)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_refuses_a_batch_in_which_no_target_of_any_worker_counts(keras_step):
    import tensorflow as tf

    nothing = np.full((2, 4), -100)
    for group in (None, Others(0.0, 0.0)):
        found = {
            ValueError: keras_step(nothing, group),
            tf.errors.InvalidArgumentError: keras_step(nothing, group, wrapped=tf.function),
        }
        for kind, (_, before, after, error) in found.items():
            assert isinstance(error, kind) and "targets" in str(error)
            for name, array in before.items():
                np.testing.assert_array_equal(after[name], array, err_msg=name)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_step_refuses_a_target_that_is_no_class(keras_step):
    _, _, _, error = keras_step(np.arange(11, 19).reshape(2, 4))
    assert isinstance(error, ValueError) and "target 11" in str(error)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_a_keras_optimizer_that_scales_the_loss_takes_the_same_step(keras_step):
    import keras

    targets = np.arange(2, 10).reshape(2, 4)
    loss, _, expected, _ = keras_step(targets)
    for make in (
        lambda: keras.optimizers.SGD(1.0, loss_scale_factor=1024.0),
        lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0)),
    ):
        scaled, _, after, error = keras_step(targets, make=make)
        assert error is None and scaled == pytest.approx(loss, abs=1e-6)
        for name, array in expected.items():
            np.testing.assert_allclose(after[name], array, atol=1e-6, err_msg=name)


@pytest.mark.tensorflow
@pytest.mark.keras
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_keras_step_in_16_bits_adds_up_and_counts_in_float32(policy):
    """Enough tokens for a sum of losses that float16 can't hold."""
    import keras

    import shared.keras.scaling_out as in_keras

    keras.config.set_dtype_policy(policy)
    try:
        keras.utils.set_random_seed(0)
        model = in_keras.GPTModel(d_model=8, num_heads=2, d_ff=16, vocab_size=90, max_length=16)
        inputs = keras.ops.convert_to_tensor(np.random.default_rng(0).integers(1, 90, (1200, 16)))
        loss = float(in_keras.parallel_step(model, keras.optimizers.SGD(0.0), inputs, inputs, None))
    finally:
        keras.config.set_dtype_policy("float32")
    assert loss == pytest.approx(np.log(90), rel=0.05)


def test_a_step_in_pytorch_alone_is_that_of_numpy():
    inputs, targets = in_numpy.grammar.batch_at(23, 8, 16)
    ours = GPTModel(**in_numpy.CONFIG, rng=1)
    theirs = in_pytorch.GPTModel(**in_pytorch.CONFIG).double()
    in_pytorch.set_weights(theirs, get_weights(ours))
    optimizer = torch.optim.AdamW(theirs.parameters(), 1e-3, weight_decay=0.0)
    batch = torch.tensor(inputs), torch.tensor(targets)
    loss = in_pytorch.parallel_step(theirs, optimizer, *batch, None, ignore_index=0)
    assert loss == pytest.approx(
        in_numpy.parallel_step(ours, in_numpy.AdamW(ours, 1e-3), inputs, targets, None, ignore_index=0), abs=1e-13
    )
    for name, array in get_weights(theirs).items():
        np.testing.assert_allclose(array, get_weights(ours)[name], rtol=0, atol=1e-12, err_msg=name)


def test_the_three_tracks_train_the_same_model():
    import shared.keras.scaling_out as in_keras

    assert in_numpy.CONFIG == in_pytorch.CONFIG == in_keras.CONFIG
    assert in_numpy.BATCH == in_pytorch.BATCH == in_keras.BATCH and in_numpy.RATE == in_pytorch.RATE == in_keras.RATE


def test_attention_counts_the_heads_that_it_gets():
    """With half of the columns of query, key and value, and of the rows of output: two such layers add up to the whole."""
    torch.manual_seed(0)
    whole = in_pytorch.make_model(None).blocks[0].attention
    x, half = torch.randn(2, 5, whole.d_model, dtype=torch.float64), whole.d_model // 2
    total = -whole.output.bias  # each half adds it
    for columns in (slice(0, half), slice(half, None)):
        part = copy.deepcopy(whole)
        for layer in (part.query, part.key, part.value):
            layer.weight, layer.bias = nn.Parameter(layer.weight[columns]), nn.Parameter(layer.bias[columns])
        part.output.weight = nn.Parameter(part.output.weight[:, columns])
        total = total + part(x)
    torch.testing.assert_close(total, whole(x), rtol=0, atol=1e-14)


def test_the_newest_whole_checkpoint_is_taken(tmp_path):
    assert in_pytorch.newest(tmp_path) is None
    for name in ("step-999999", "step-1000000", "part"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-1000001.bak").mkdir()
    assert in_pytorch.newest(tmp_path).name == "step-1000000"


@pytest.mark.parametrize(
    ("engine", "world_size", "name"), [("ddp", 9, "workers"), ("tensor", 4, "num_heads"), ("horovod", 2, "engine")]
)
def test_bad_input_is_told_before_the_workers_meet(engine, world_size, name, monkeypatch):
    monkeypatch.setattr("sys.argv", ["scaling_out", engine])
    monkeypatch.setenv("WORLD_SIZE", str(world_size))
    monkeypatch.setattr(in_pytorch, "join_group", lambda timeout: pytest.fail("the workers met"))
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        in_pytorch.main()


@pytest.mark.parametrize(("gpus", "backend"), [(0, "gloo"), (1, "gloo"), (2, "cpu:gloo,cuda:nccl")])
def test_nccl_is_chosen_where_each_worker_has_a_gpu(gpus, backend, monkeypatch):
    for name, value in {"RANK": 3, "WORLD_SIZE": 4, "LOCAL_RANK": 0 if gpus == 1 else 1, "LOCAL_WORLD_SIZE": 2}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv(in_pytorch.STORE, raising=False)
    used, joined = [], {}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.setattr(
        in_pytorch.dist, "init_process_group", lambda name, **options: joined.update(options, name=name)
    )
    with pytest.warns(UserWarning, match="2 workers and 1 GPUs") if gpus == 1 else contextlib.nullcontext():
        device = in_pytorch.join_group()
    assert joined["name"] == backend and joined["rank"] == 3 and joined["world_size"] == 4
    assert device == (torch.device("cuda", 1) if gpus == 2 else torch.device("cpu"))
    assert used == ([device] if gpus == 2 else []) and joined.get("device_id") == (device if gpus == 2 else None)


def test_the_ring_costs_what_the_formula_says():
    assert in_numpy.ring_bytes(1000, 1) == 0 and in_numpy.ring_bytes(1000, 4) == 12_000
    assert in_numpy.ring_seconds(1e9, 1, 1e-4, 1e10) == 0
    assert in_numpy.ring_seconds(1e9, 2, 0.0, 1e10) == pytest.approx(0.1)
    assert in_numpy.ring_seconds(0.0, 1024, 1e-4, 1e10) == pytest.approx(0.2046)


def test_grammar_gives_the_same_batch_for_the_same_step():
    inputs, targets = in_numpy.grammar.batch_at(3, batch_size=5, length=4)
    again, _ = in_numpy.grammar.batch_at(3, batch_size=5, length=4)
    other, _ = in_numpy.grammar.batch_at(4, batch_size=5, length=4)
    assert inputs.shape == targets.shape == (5, 4)
    assert (inputs == again).all() and (inputs != other).any()
    np.testing.assert_array_equal(inputs[:, 1:], targets[:, :-1])
    assert inputs.min() >= 0 and inputs.max() <= len(in_numpy.grammar.WORDS)
    sentence = in_numpy.grammar.sample(5, seed=(0, 3))[0].split()
    assert [in_numpy.grammar.WORDS[token - 1] for token in inputs[0]] == sentence[:4]


@pytest.fixture
def group_of_one(tmp_path):
    """A process group of this process alone."""
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield torch.distributed.group.WORLD
    torch.distributed.destroy_process_group()


def test_accumulated_parts_are_exchanged_once_and_make_the_step_of_the_batch(group_of_one):
    inputs, targets = (torch.tensor(rows) for rows in in_numpy.grammar.batch_at(23, 8, 16))
    whole, exchanges = in_pytorch.make_model(None), []
    adam = torch.optim.AdamW(whole.parameters(), 1e-3)
    expected = in_pytorch.parallel_step(whole, adam, inputs, targets, None, ignore_index=0)

    def count(_, bucket):
        exchanges.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    model = in_pytorch.DistributedDataParallel(in_pytorch.make_model(None))
    model.register_comm_hook(None, count)
    adam = torch.optim.AdamW(model.parameters(), 1e-3)
    parts = list(zip(inputs.tensor_split(3), targets.tensor_split(3)))
    loss = in_pytorch.accumulated_step(model, adam, parts, group_of_one, ignore_index=0)
    assert loss == pytest.approx(expected, abs=1e-13) and len(exchanges) == 1
    for name, weight in model.module.named_parameters():
        torch.testing.assert_close(weight, whole.get_parameter(name), rtol=0, atol=1e-12)


def test_losses_and_counts_are_added_up_exactly_in_a_model_of_bfloat16(group_of_one):
    """257 tokens: bfloat16 has no such number, and rounds a sum of losses in its third digit."""
    inputs = torch.ones(257, 1, dtype=torch.int64)
    model = in_pytorch.GPTModel(**in_pytorch.CONFIG).bfloat16()
    logits = model(inputs).flatten(0, 1).double()
    expected = torch.nn.functional.cross_entropy(logits, inputs.flatten()).item()
    sgd = torch.optim.SGD(model.parameters(), 0.0)
    assert in_pytorch.parallel_step(model, sgd, inputs, inputs, None) == pytest.approx(expected, rel=1e-6)
    parts = list(zip(inputs.split(128), inputs.split(128)))
    ddp = in_pytorch.DistributedDataParallel(model)
    assert in_pytorch.accumulated_step(ddp, sgd, parts, group_of_one) == pytest.approx(expected, rel=1e-6)


TWO_VIEWS = """
    import sys
    from pathlib import Path

    import torch.distributed as dist

    import shared.pytorch.scaling_out as scaling_out

    def main():
        folder = Path(sys.argv[1])
        device = scaling_out.join_group()
        scaling_out.train("fsdp", device, steps=2, folder=folder, save_every=1)
        if dist.get_rank() == 1:  # a file system that hasn't heard of the last checkpoint
            scaling_out.newest = lambda folder: folder / "step-000001"
        losses, _, _ = scaling_out.train("fsdp", device, steps=4, folder=folder)
        both = [None, None]
        dist.all_gather_object(both, len(losses))
        if dist.get_rank() == 0:
            alone, _, _ = scaling_out.train("one", device, steps=4, begin=folder / "step-000002")
            print("steps", *both, "and alone", len(alone), flush=True)
        dist.barrier()
        dist.destroy_process_group()

    if __name__ == "__main__":
        main()
"""


def test_all_workers_go_on_from_the_same_step_and_one_can_read_alone(tmp_path, monkeypatch):
    from shared.frameworks import processes

    (tmp_path / "two_views.py").write_text(textwrap.dedent(TWO_VIEWS))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    written = processes.torchrun("two_views", tmp_path / "run", workers=2)
    assert written.splitlines()[-1] == "steps 2 2 and alone 2"


def test_a_run_that_was_done_keeps_what_it_wrote(tmp_path):
    from shared.frameworks import processes

    given = ["ddp", "--steps", 2, "--out", tmp_path / "results", "--checkpoints", tmp_path / "saved"]
    for _ in range(2):
        processes.torchrun("shared.pytorch.scaling_out", *given, workers=2)
    found, _ = in_pytorch.load_arrays(tmp_path / "results" / "ddp.safetensors")
    assert len(found["losses"]) == 2


def test_a_checkpoint_that_is_written_again_is_never_half_there(group_of_one, tmp_path, monkeypatch):
    """A run that is killed while it deletes the old one must not leave a folder with a step in its name."""
    model = in_pytorch.make_model()
    adam = torch.optim.AdamW(model.parameters())
    deleted, rmtree = [], in_pytorch.shutil.rmtree
    monkeypatch.setattr(
        in_pytorch.shutil, "rmtree", lambda path, **rest: (deleted.append(path.name), rmtree(path, **rest))
    )
    for _ in range(2):
        in_pytorch.save_sharded(tmp_path / "saved", model, adam, 3)
    assert [path.name for path in (tmp_path / "saved").iterdir()] == ["step-000003"]
    assert deleted and not any(name.startswith("step-") for name in deleted)
    assert in_pytorch.load_sharded(tmp_path / "saved" / "step-000003", model, adam) == 3


def test_a_checkpoint_of_another_model_is_refused_before_anything_is_changed(group_of_one, tmp_path):
    model = in_pytorch.make_model()
    in_pytorch.save_sharded(tmp_path, model, torch.optim.AdamW(model.parameters()), 1)
    other = in_pytorch.GPTModel(**{**in_pytorch.CONFIG, "d_ff": 48}).double()
    adam, before = torch.optim.AdamW(other.parameters()), get_weights(other)
    with pytest.raises(ValueError, match="another model"):
        in_pytorch.load_sharded(tmp_path / "step-000001", other, adam)
    assert not adam.state
    for name, array in get_weights(other).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_step_moves_by_the_clipped_gradient():
    """The notebook clips with two workers, and compares with one process; here the length of what is left is asked for."""
    inputs, targets = map(torch.tensor, in_numpy.grammar.batch_at(23, 6, 16))
    model = in_pytorch.make_model()
    adam = torch.optim.SGD(model.parameters(), 0.1)
    in_pytorch.parallel_step(model, adam, inputs, targets, None, ignore_index=0, max_norm=0.2)
    norm = torch.nn.utils.get_total_norm([each.grad for each in model.parameters()])
    assert norm.item() == pytest.approx(0.2, rel=1e-4)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_replicas_of_one_process_train_different_rows_and_can_be_clipped():
    """As with several GPUs on a worker: two devices in place of one train the model of one."""
    from shared.frameworks import processes

    [written] = processes.run([[sys.executable, "-c", textwrap.dedent(TWO_DEVICES)]], [{"KERAS_BACKEND": "tensorflow"}])
    assert written.splitlines()[-2:] == ["2 replicas, equal: True", "clipped, equal: True"]


TWO_DEVICES = """
    import shared.notebook
    import numpy as np
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    import shared.keras.scaling_out as scaling_out

    scaling_out.compute_in_float64()
    mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    scaling_out.multi_worker = lambda: mirrored
    runs = [scaling_out.train_tensorflow(engine, steps=4) for engine in ("one", "workers")]
    weights = [scaling_out.get_weights(run["model"]) for run in runs]
    same = all(np.abs(weights[0][name] - weights[1][name]).max() < 1e-12 for name in weights[0])
    losses = np.abs(np.subtract(runs[0]["losses"], runs[1]["losses"])).max() < 1e-12
    print(runs[1]["metadata"]["workers"], "replicas, equal:", bool(same and losses))

    def clipped(strategy):
        # three steps: the sum of the gradients, clipped, and each replica's share of it
        batches = [scaling_out.grammar.batch_at(step, 8, 16) for step in range(3)]
        rows = tuple(np.concatenate(arrays) for arrays in zip(*batches))
        with strategy.scope():
            model, optimizer = scaling_out.make_model(), scaling_out.make_optimizer()
            optimizer.build(model.trainable_variables)

        class AddsUpFirst:
            scale_loss = staticmethod(lambda loss: loss)

            @staticmethod
            def apply(gradients, weights):
                group = tf.distribute.get_replica_context()
                gradients = group.all_reduce("SUM", [tf.convert_to_tensor(each) for each in gradients])
                gradients, _ = tf.clip_by_global_norm(gradients, 0.2)
                optimizer.apply([each / group.num_replicas_in_sync for each in gradients], weights)

        @tf.function(autograph=False)
        def step_of_all(inputs, targets):
            def step(inputs, targets):
                group = tf.distribute.get_replica_context()
                return scaling_out.parallel_step(model, AddsUpFirst, inputs, targets, group, ignore_index=0)

            strategy.run(step, (inputs, targets))

        dataset = tf.data.Dataset.from_tensor_slices(rows).batch(8)
        for batch in strategy.experimental_distribute_dataset(dataset):
            step_of_all(*batch)
        return scaling_out.get_weights(model)

    one, two = clipped(tf.distribute.get_strategy()), clipped(mirrored)
    print("clipped, equal:", all(np.abs(one[name] - two[name]).max() < 1e-12 for name in one))
"""


def test_a_run_that_is_done_has_nothing_left_to_do(group_of_one, tmp_path, monkeypatch):
    """As after a restart: the last step was saved, also where save_every doesn't divide the steps."""
    device = torch.device("cpu")
    losses, weights, _ = in_pytorch.train("ddp", device, steps=3, folder=tmp_path, save_every=2)
    assert len(losses) == 3 and in_pytorch.newest(tmp_path).name == "step-000003"
    again, same, metadata = in_pytorch.train("ddp", device, steps=3, folder=tmp_path, save_every=2)
    assert again == [] and metadata["bytes"] > 0
    for name, value in weights.items():
        np.testing.assert_array_equal(same[name], value)


@pytest.mark.keras
@pytest.mark.tensorflow
def test_every_call_of_the_dictionary_runs_as_typed_with_two_workers(tmp_path, monkeypatch):
    from shared.frameworks import processes

    here = Path(__file__).resolve().parent
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(here), str(here.parent))))
    import dictionary_worker

    processes.torchrun("dictionary_worker", "2", tmp_path / "2.npz", workers=2)
    processes.virtual_devices("dictionary_worker", "3", tmp_path / "3.npz", workers=2)
    command = [sys.executable, "-m", "dictionary_worker", "4", tmp_path / "4.npz"]
    processes.run([command], [{"KERAS_BACKEND": "tensorflow"}])
    # not in threads: Python 3.11's ast.parse counts its depth for all of them in one place
    columns = in_numpy.in_processes(dictionary_worker.in_numpy, 2, 100)
    columns += [dict(np.load(tmp_path / f"{column}.npz")) for column in (2, 3, 4)]
    assert_same(columns, dictionary_worker.SAME)
    np.testing.assert_array_equal(columns[0]["add up over all workers"], 2 * dictionary_worker.X)
