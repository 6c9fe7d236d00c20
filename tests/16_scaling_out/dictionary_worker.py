"""A worker that runs a column of the dictionary, from the first row to the last: python -m dictionary_worker COLUMN FILE."""

import os
import sys

import numpy as np
from dictionaries import values_of

SAME = {"how many", "add up over all workers"}
ROWS, X = np.ones((8, 4)), np.arange(4.0)


def in_numpy(group):
    from shared.numpy.models import Linear
    from shared.numpy.scaling_out import ParallelFeedForward, ShardedAdam, shard_batch

    rng = np.random.default_rng(0)
    names = {"group": group, "x": X, "rows": ROWS, "model": Linear(4, 4, rng=0), "shard_batch": shard_batch}
    names |= {"expand": rng.normal(size=(4, 8)), "contract": rng.normal(size=(8, 4))}
    return values_of(
        "16_scaling_out",
        1,
        names | {"ShardedAdam": ShardedAdam, "ParallelFeedForward": ParallelFeedForward},
        SAME.__contains__,
    )


def in_pytorch():
    import torch

    from shared.pytorch.scaling_out import join_group

    join_group()
    names = {"torch": torch, "x": torch.tensor(X), "rows": torch.tensor(ROWS), "model": torch.nn.Linear(4, 4).double()}
    values = values_of("16_scaling_out", 2, names, SAME.__contains__)
    torch.distributed.destroy_process_group()
    return values


def in_jax():
    import keras

    values = values_of("16_scaling_out", 3, {"keras": keras, "x": keras.ops.array([X, X])}, SAME.__contains__)
    keras.distribution.set_distribution(None)
    return values


def in_tensorflow():
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    import keras

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    x = strategy.experimental_distribute_values_from_function(lambda _: tf.constant(X))
    names = {"tf": tf, "keras": keras, "strategy": strategy, "x": x, "rows": ROWS}
    return values_of("16_scaling_out", 4, names, SAME.__contains__)


def main():
    import shared.notebook  # noqa: F401 - the libraries in their order

    column, path = sys.argv[1:]
    values = {"2": in_pytorch, "3": in_jax, "4": in_tensorflow}[column]()
    if os.environ.get("RANK", "0") == "0":
        np.savez(path, **values)


if __name__ == "__main__":
    main()
