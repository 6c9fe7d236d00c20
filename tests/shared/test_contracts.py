"""A broken contract is told in one short line; a kept one is not noticed, under any framework."""

from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from numpy import ndarray

from shared.contracts import Any, Bool, Float, Integer, checked


@checked
def attend(
    query: Float[ndarray, "*batch length_q head_dim"],
    key: Float[ndarray, "*batch length_k head_dim"],
    mask: Bool[ndarray, "*#batch #length_q #length_k"] | None = None,
) -> Float[ndarray, "*batch length_q length_k"]:
    return query @ key.swapaxes(-1, -2)


class Layer(keras.layers.Layer):
    @checked
    def call(
        self,
        query: Float[Any, "batch length_q 16"],
        key: Float[Any, "batch length_k 16"],
        mask: Bool[Any, "#batch #4 #length_q #length_k"] | None = None,
    ) -> Float[Any, "batch length_q length_k"]:
        return keras.ops.matmul(query, keras.ops.swapaxes(key, -1, -2))


Q, K = np.ones((2, 4, 5, 8)), np.ones((2, 4, 7, 8))
BROKEN = {
    "features": ((Q, K[..., :4]), r"^attend: key .*\(2, 4, 7, 4\), float64; .*Float.*head_dim.*query \(2, 4, 5, 8\)"),
    "leading axes": ((Q, K[:1]), "key has shape .*beside query"),
    "dtype": ((Q.astype(int), K), "query has shape .*int64; .*Float"),
    "too few axes": ((Q[0, 0, 0], K), r"query has shape \(8,\)"),
    "a float mask": ((Q, K, np.ones((5, 7))), r"mask has shape .*Bool.* \| None"),
    "a mask that does not fit": ((Q, K, np.ones((4, 7), bool)), "mask has shape .*query .*, key "),
    "a mask of more sequences": ((Q, K, np.ones((3, 1, 5, 7), bool)), "mask has shape"),
    "a mask of one axis": ((Q, K, np.ones(7, bool)), "mask has shape"),
    "a list": (([[1.0]], K), "query is a list"),
    "another framework": ((Q, torch.ones(2, 4, 7, 8)), "key has shape .*float32 of torch"),
    "no array": ((Q, K, True), "mask is True"),
    "nothing": ((Q,), "'key'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_contract_is_told_in_a_line(name):
    arguments, message = BROKEN[name]
    with pytest.raises(TypeError, match=message) as caught:
        attend(*arguments)
    assert len(str(caught.value)) < 170 and "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(5, 7), (4, 5, 7), (2, 1, 1, 7), (1, 1, 1, 1)])
def test_a_type_whose_axes_broadcast_may_lack_axes(shape):
    attend(Q, K, np.ones(shape, bool))


def test_the_result_is_checked_too():
    @checked
    def wrong(x: Float[ndarray, "length"]) -> Float[ndarray, "length"]:
        return x[1:]

    with pytest.raises(TypeError, match="wrong: the result is not Float"):
        wrong(np.ones(3))


def test_numbers_and_attributes():
    class Table:
        width = 3

        @checked
        def row(self, x: Float[ndarray, "{self.width}"], index: int, rate: float = 0) -> None: ...

    Table().row(np.ones(3), np.int64(1), rate=1)
    Table().row(np.ones(3), 1, rate=np.float32(0.5))
    with pytest.raises(TypeError, match="Table.row: x has shape .*'3'"):
        Table().row(np.ones(4), 1)
    for index in (2.5, True, "1", None):
        with pytest.raises(TypeError, match=f"index is {index!r}"):
            Table().row(np.ones(3), index)
    for rate in (True, "0.1"):
        with pytest.raises(TypeError, match=f"rate is {rate!r}"):
            Table().row(np.ones(3), 1, rate)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_and_tensorflow(capfd):
    layer = Layer()
    model_inputs = [keras.Input((None, 16)), keras.Input((7, 16))]
    model = keras.Model(model_inputs, layer(*model_inputs))
    model.compile("sgd", "mse")
    given = [np.ones((2, 5, 16), np.float32), np.ones((2, 7, 16), np.float32)]
    model.fit(given, np.ones((2, 5, 7)), verbose=0)

    @tf.function(input_signature=[tf.TensorSpec([None, None, 16]), tf.TensorSpec([None, 7, 16])])
    def traced(query, key):
        return layer(query, key, tf.ones((1, 1, 1, 7), tf.bool))

    assert traced(*given).shape == (2, 5, 7)
    with pytest.raises(TypeError, match="^Layer.call: key has shape") as caught:
        layer(given[0], given[1][..., :8])
    assert "\n" not in str(caught.value)
    with pytest.raises(Exception, match="key has shape"):  # while TensorFlow traces
        tf.function(lambda x: layer(x, x[..., :8]))(given[0])
    assert capfd.readouterr().err == ""


def test_torch_compile_and_integers():
    @checked
    def embed(tokens: Integer[torch.Tensor, "batch length"]) -> Float[torch.Tensor, "batch length"]:
        return tokens.float()

    assert embed(torch.ones(2, 3, dtype=torch.int64)).shape == (2, 3)
    assert embed(torch.ones(2, 3, dtype=torch.uint8)).shape == (2, 3)
    with pytest.raises(TypeError, match="tokens has shape .*Integer"):
        embed(torch.ones(2, 3))


def test_torch_compile_sees_no_checks():
    @checked
    def double(x: Float[torch.Tensor, "length"]) -> Float[torch.Tensor, "length"]:
        return 2 * x

    x = torch.ones(3)
    assert torch.equal(torch.compile(double, backend="eager", fullgraph=True)(x), 2 * x)


def test_torch_compile_counts_each_function_alone():
    """PyTorch gives up at the ninth compilation of one code object."""
    torch._dynamo.reset()
    limit = torch._dynamo.config.recompile_limit

    def doubling(number):
        @checked
        def double(x: Float[torch.Tensor, "length"]) -> Float[torch.Tensor, "length"]:
            return 2 * x + number

        return double

    x = torch.ones(3)
    for number in range(limit + 3):
        compiled = torch.compile(doubling(number), backend="eager", fullgraph=True)
        assert torch.equal(compiled(x), 2 * x + number)


@checked
def total(*arrays: Float[ndarray, "..."], **named: Float[ndarray, "..."]):
    return sum(map(np.sum, (*arrays, *named.values())))


def test_of_many_arguments_the_one_that_does_not_fit_is_told():
    assert total(np.ones(2), np.ones((2, 3)), x=np.ones(())) == 9
    with pytest.raises(TypeError, match=r"^total: arrays\[1\] has shape"):
        total(np.ones(2), np.arange(3), x=np.ones(2))
    with pytest.raises(TypeError, match=r"^total: y is 2\.0"):
        total(x=np.ones(2), y=2.0)


@checked
def outer(query: Float[ndarray, "*batch length_q head_dim"], call):
    return call(query)


def test_a_call_from_inside_a_checked_function_is_checked_as_well():
    """A reader's function may be handed in, or the course's own may call it wrongly."""
    assert outer(Q, lambda query: attend(query, K)).shape == (2, 4, 5, 7)
    with pytest.raises(TypeError, match="attend: query has shape"):
        outer(Q, lambda query: attend(query.astype(int), K))
    with pytest.raises(ZeroDivisionError):
        outer(Q, lambda query: 1 / 0)


def test_each_call_has_axes_of_its_own():
    assert outer(Q, lambda query: attend(query[..., :2, :4], K[..., :4])).shape == (2, 4, 2, 7)


def test_another_thread_is_checked_all_the_same():
    with ThreadPoolExecutor() as pool:
        elsewhere = outer(Q, lambda query: pool.submit(attend, query.astype(int), K).exception())
    assert isinstance(elsewhere, TypeError)


@pytest.mark.tensorflow
@pytest.mark.keras
@pytest.mark.parametrize(
    ("query", "key", "mask", "name"),
    [
        ((None, None, 16), (None, 7, 8), None, "key"),
        ((None, 16), (None, 7, 16), None, "query"),
        ((None, 5, 16, 1), (None, 7, 16), None, "query"),
        ((None, 5, 16), (None, 7, 16), (None, 2, 5, 7), "mask"),
        ((None, 5, 16), (None, 7, 16), (5, 7), "mask"),
    ],
)
def test_of_a_symbolic_call_the_axes_and_the_known_sizes_are_checked(query, key, mask, name):
    tensors = [keras.KerasTensor(shape) for shape in (query, key)]
    if mask is not None:
        tensors.append(keras.KerasTensor(mask, dtype="bool"))
    with pytest.raises(TypeError, match=rf"Layer.call: {name} has shape"):  # Keras writes a sentence before it
        Layer()(*tensors)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_axes_of_any_number_are_left_open_in_a_symbolic_call():
    @checked
    def features(x: Float[Any, "*batch 8"]):
        return x

    for shape in [(8,), (None, 8), (None, None, None)]:
        features(keras.KerasTensor(shape))
    for shape in [(), (None, 7)]:
        with pytest.raises(TypeError, match="x has shape"):
            features(keras.KerasTensor(shape))
    with pytest.raises(TypeError, match="x has shape"):
        tf.function(features)(tf.ones((2, 7)))


@pytest.mark.tensorflow
@pytest.mark.keras
def test_not_even_the_number_of_axes_need_be_known():
    @checked
    def first(tokens: Integer[Any, "batch length"]):
        return tokens

    for dtype, error in (("int32", None), ("float32", r"tokens has shape None, float32")):
        traced = tf.function(first, input_signature=[tf.TensorSpec(None, dtype)])
        if error is None:
            traced.get_concrete_function()
        else:
            with pytest.raises(TypeError, match=error):
                traced.get_concrete_function()


class Scaled:
    def __init__(self, features: int):
        self.features = features

    @checked
    def __call__(self, x: Float[ndarray, "length {self.features}"], names: list[str] | None = None):
        return x


def test_what_fitted_once_is_no_excuse_for_what_does_not_fit():
    """Calls that look alike are checked once: shape, dtype, kind and the sizes that attributes say are what they look like."""
    for _ in range(2):
        assert attend(Q, K).shape == (2, 4, 5, 7)
    for wrong in ((Q, K[..., :4]), (Q.astype(int), K), (Q, torch.ones(2, 4, 7, 8)), (Q, list(K))):
        with pytest.raises(TypeError, match="attend: "):
            attend(*wrong)
    scaled = Scaled(8)
    scaled(np.ones((3, 8)))
    scaled.features = 9
    with pytest.raises(TypeError, match="x has shape"):
        scaled(np.ones((3, 8)))
    scaled(np.ones((3, 9)), ["a"])
    with pytest.raises(TypeError, match="names is a list"):
        scaled(np.ones((3, 9)), [1])


def test_a_result_that_fitted_once_is_no_excuse_either():
    results = iter([np.ones(3), np.ones(3), np.ones(4)])

    @checked
    def same(x: Float[ndarray, "length"]) -> Float[ndarray, "length"]:
        return next(results)

    same(np.ones(3))
    same(np.ones(3))
    with pytest.raises(TypeError, match="the result is not"):
        same(np.ones(3))


def test_true_is_no_number_though_one_was():
    @checked
    def first(x: Float[ndarray, "length"], count: int) -> Float[ndarray, "{count}"]:
        return x[:count]

    first(np.ones(3), 1)
    with pytest.raises(TypeError, match="count is True"):
        first(np.ones(3), True)
    assert first(np.ones(3), np.int64(2)).shape == first(np.ones(3), 2).shape == (2,)
    with pytest.raises(TypeError, match="the result is not"):
        first(np.ones(3), np.int64(4))


def test_what_is_remembered_stays_small():
    attended = checked(attend.__wrapped__)
    known = next(cell.cell_contents for cell in attended.__closure__ if isinstance(cell.cell_contents, set))
    for length in range(1, 5000):
        attended(np.ones((length, 1)), np.ones((1, 1)))
    assert 0 < len(known) <= 4096
