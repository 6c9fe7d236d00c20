"""Import the frameworks in every order after `import shared.notebook`, and compute with all of them: `make test-orders`.

Each import happens in a process of its own, which goes on from that of the imports before it, because a crash of one order
must not end the others, and because starting every order from nothing would take an hour.
"""

import shared.notebook  # isort: skip - what is tested here: it makes every order of the others safe

import importlib
import importlib.util
import os
import sys
import traceback
import warnings

MODULES = ("tensorflow", "keras", "torch", "torch._dynamo", "triton", "jax")


def compute() -> None:
    """Use each framework once; with PyTorch's first optimizer comes triton, where it is installed."""
    import jax.numpy
    import keras
    import tensorflow
    import torch

    assert keras.layers.Dense(2)(tensorflow.ones((1, 3))).shape == (1, 2)
    weight = torch.ones(3, requires_grad=True)
    weight.sum().backward()
    torch.optim.Adam([weight]).step()
    assert float(tensorflow.reduce_sum(tensorflow.ones(3))) == float(jax.numpy.ones(3).sum()) == weight.grad.sum() == 3
    assert str(shared.best_device()) == "cpu" or torch.accelerator.is_available()


def walk(order: tuple[str, ...] = ()) -> bool:
    """Go on from the imports in `order` in every way, and say whether all went well.

    A module that another one has brought along is left out: to import it again does nothing. Keras, which is Python and
    brings TensorFlow along, has an order of its own where it comes first.
    """
    left = [name for name in MODULES if name not in sys.modules and importlib.util.find_spec(name.partition(".")[0])]
    left = [name for name in left if name != "keras" or not order]
    if not left:
        compute()
        print(" ".join(order), flush=True)
    children = {}
    well = True
    for name in left:
        children[name] = os.fork()
        if children[name] == 0:
            try:
                importlib.import_module(name)
                well = walk((*order, name))
            except Exception:  # noqa: BLE001 - whatever it is, this order failed
                traceback.print_exc()
                well = False
            os._exit(0 if well else 1)
        if order:  # the first imports run side by side, the later ones one after the other
            well = ended_well(order, name, children.pop(name)) and well
    return all(ended_well(order, name, child) for name, child in children.items()) and well


def ended_well(order: tuple[str, ...], name: str, child: int) -> bool:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        print("FAILED:", *order, name, f"(exit status {status})", flush=True)
    return status == 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "os.fork")  # JAX says so at every fork; nothing has been computed by then
    warnings.filterwarnings("error", category=UserWarning, append=True)  # a reader should not meet any
    sys.exit(0 if walk() else 1)
