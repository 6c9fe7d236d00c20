"""Every class and function of the course keeps the laws that its row in `subjects` says."""

import importlib
import inspect
from collections.abc import Iterable

import keras
import numpy as np
import pytest
import torch

from shared.arrays import from_numpy
from shared.chapters import all_chapters, ready
from shared.conformance import laws, parity
from shared.conformance.subjects import OTHERS, SIZES, SUBJECTS, TRACKS, Subject
from shared.frameworks.masks import IN_KERAS, in_keras, takes_a_dict
from shared.frameworks.modes import evaluation_mode
from shared.frameworks.weights import get_weights, set_weights
from shared.numpy.models import Module

NUMBERS = {chapter.name: chapter.number for chapter in all_chapters()}
LAYERS = [subject for subject in SUBJECTS if subject.is_layer]
CLOSE = {"numpy": 1e-12, "pytorch": 1e-12, "keras": 2e-5}  # float64, and Keras' float32


def of(track: str):
    """What gives a class or function of a track by its path."""

    def named(path: str):
        module, _, name = path.partition(".")
        return getattr(importlib.import_module(f"shared.{track}.{module}"), name)

    return named


def marks(subject: Subject, is_keras: bool) -> list:
    return [pytest.mark.chapter(NUMBERS[subject.chapter])] + [pytest.mark.keras] * is_keras


def each(subjects: Iterable[Subject], tracks=TRACKS):
    """The subjects in each of their tracks, as cases of their chapters."""
    found = []
    for subject in subjects:
        for track in (track for track in subject.tracks if track in tracks):
            found.append(
                pytest.param(subject, track, marks=marks(subject, track == "keras"), id=f"{subject.name}-{track}")
            )
    return pytest.mark.parametrize(("subject", "track"), found)


def each_variant(subjects: Iterable[Subject], is_keras: bool):
    """The subjects with each set of other arguments."""
    found = []
    for subject in subjects:
        for changed in ({}, *subject.variants):
            name = "-".join(f"{name}={value}" for name, value in changed.items()) or "plain"
            found.append(pytest.param(subject, changed, marks=marks(subject, is_keras), id=f"{subject.name}-{name}"))
    return pytest.mark.parametrize(("subject", "changed"), found)


def made(subject: Subject, track: str, scramble: bool = True, **changed):
    """The layer or function; every weight of a layer is random, so that no mistake hides behind ones and zeros."""
    layer = subject.made(of(track), track, **changed)
    if not subject.is_layer:
        return layer
    if track == "pytorch":
        layer.double()
    if track == "keras" and not layer.built:
        laws.called(layer, **subject.named)(**subject.draw(0, "float32"))
    if scramble:
        rng = np.random.default_rng(7)
        weights = {name: rng.normal(scale=0.4, size=value.shape) for name, value in get_weights(layer).items()}
        set_weights(layer, {name: value + name.endswith("gamma") for name, value in weights.items()})
    return layer


def called(subject: Subject, track: str, layer=None, training: bool = False, **changed):
    """The layer or function as one of NumPy's arrays."""
    layer = made(subject, track, **changed) if layer is None else layer
    given = subject.named if subject.is_layer else subject.arguments
    return laws.called(layer, training, framework=track, **given)


def rate_of(subject: Subject) -> str | None:
    """What the rate of dropout is called; None where nothing is dropped."""
    parameters = inspect.signature(of(subject.tracks[0])(subject.path)).parameters
    return next((name for name in ("dropout", "rate") if subject.is_layer and name in parameters), None)


def inputs_of(subject: Subject, seed: int, masks: bool = True, track: str = "numpy") -> dict[str, np.ndarray]:
    drawn = subject.draw(seed, "float32" if track == "keras" else "float64")
    return {name: array for name, array in drawn.items() if masks or subject.inputs[name].kind != "mask"}


def hold(findings: Iterable[laws.Finding]) -> None:
    """Assert that every one of them holds, and that there is one."""
    findings = list(findings)
    broken = [finding for finding in findings if not finding]
    assert findings, "the law found nothing to ask: where no signature has shapes, the row says has_shapes=False"
    assert not broken, "\n".join(map(str, broken))


DROPPING = [subject for subject in LAYERS if rate_of(subject)]
IN_ALL = [subject for subject in LAYERS if set(subject.tracks) == set(TRACKS)]
WITH_BACKWARD = [subject for subject in LAYERS if "numpy" in subject.tracks and subject.backward]


def candidates(chapter: str) -> set[str]:
    """The paths of a chapter's public layers and models, and of its functions whose signatures have arrays, of all tracks."""
    found = set()
    for track, parent in (("numpy", Module), ("pytorch", torch.nn.Module), ("keras", keras.layers.Layer)):
        module = importlib.import_module(f"shared.{track}.{chapter}")
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__ or value is Module:
                continue
            is_layer = inspect.isclass(value) and issubclass(value, parent)
            if is_layer or (inspect.isfunction(value) and laws.takes_arrays(value)):
                found.add(f"{chapter}.{name}")
    return found


@pytest.mark.parametrize(
    "chapter", [pytest.param(each.name, marks=pytest.mark.chapter(each.number)) for each in ready()]
)
def test_every_layer_and_function_of_arrays_is_a_subject(chapter):
    listed = {subject.path for subject in SUBJECTS} | set(OTHERS)
    missing = candidates(chapter) - listed
    assert not missing, f"{missing}: a row in shared/conformance/subjects.py, or a word in its OTHERS, for each"
    gone = {path for path in OTHERS if path.startswith(f"{chapter}.")} - candidates(chapter)
    assert not gone, f"{gone}: in OTHERS of shared/conformance/subjects.py, and not in the chapter"


# The same function in the tracks


@pytest.mark.tensorflow
@each_variant([subject for subject in IN_ALL if subject.backward and not subject.is_tied], is_keras=True)
def test_keras_and_the_others_are_one_function_with_one_gradient(subject, changed, float64):
    has_gelu = subject.has_gelu or "gelu" in str(changed.get("activation"))
    layers = [made(subject, track, **changed) for track in TRACKS]
    parity.compare_modules(*layers, subject.draw(1), tolerance=1e-7 if has_gelu else 1e-10, **subject.named)


@each([subject for subject in SUBJECTS if len(subject.tracks) > 1 and not subject.is_tied], ("pytorch", "keras"))
def test_a_track_computes_what_the_first_computes(subject, track):
    first, second = (made(subject, name) for name in (subject.tracks[0], track))
    if subject.is_layer:
        set_weights(second, get_weights(first))
    ours, theirs = called(subject, track, second), called(subject, subject.tracks[0], first)
    hold([laws.one_function(ours, theirs, subject.draw(2), CLOSE[track])])


@each_variant(WITH_BACKWARD, is_keras=False)
def test_numpys_gradients_are_those_of_differences_and_of_autograd(subject, changed):
    has_twin = "pytorch" in subject.tracks and not subject.is_tied
    twin = made(subject, "pytorch", **changed) if has_twin else None
    parity.check_backward(made(subject, "numpy", **changed), subject.draw(3), twin, **subject.named)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each(WITH_BACKWARD, ("numpy",))
def test_gradients_add_up_in_the_dtype_of_the_inputs(subject, track, dtype):
    layer, inputs = made(subject, track).astype(dtype), subject.draw(4, dtype)
    output = layer(**inputs)
    assert output.dtype == dtype and output.shape == subject.shape()
    grad_output = np.random.default_rng(5).normal(size=output.shape).astype(dtype)
    hold([laws.adds_up_gradients(layer, inputs, grad_output)])


# A call


@each(SUBJECTS)
def test_a_call_gives_the_same_each_time(subject, track):
    call, inputs = called(subject, track), subject.draw(6)
    assert call(**inputs).shape == subject.shape()
    hold([laws.same_each_time(call, inputs)])


@each(DROPPING)
def test_dropout_acts_in_training_only(subject, track):
    layer, plain = made(subject, track, **{rate_of(subject): 0.5}), made(subject, track)
    set_weights(plain, get_weights(layer))
    training, evaluation = (called(subject, track, layer, training) for training in (True, False))
    hold([laws.drops_in_training_only(training, evaluation, subject.draw(7))])
    hold([laws.one_function(evaluation, called(subject, track, plain), subject.draw(7), 0)])


# Masks


@each([subject for subject in SUBJECTS if subject.hides])
def test_what_a_mask_hides_changes_nothing(subject, track):
    call, inputs, others = called(subject, track), inputs_of(subject, 8, False), inputs_of(subject, 9, False)
    for name, hidden in subject.hides.items():
        axis = inputs[hidden[0]].ndim - 2
        longer = {each: np.concatenate([inputs[each], others[each]], axis) for each in hidden}
        positions = np.arange(longer[hidden[0]].shape[axis]) < inputs[hidden[0]].shape[axis]
        mask = {name: np.tile(positions, (SIZES["batch"], 1, 1, 1))}
        shows = None if subject.future in hidden else inputs | longer  # what comes later needs no mask to be hidden
        hold([laws.hides_padding(call, inputs, inputs | longer | mask, CLOSE[track], shows)])


@each([subject for subject in SUBJECTS if subject.hides])
def test_a_mask_hides_one_position_of_one_sequence(subject, track):
    call, inputs = called(subject, track), inputs_of(subject, 10, False)
    for name, hidden in subject.hides.items():
        length = inputs[hidden[0]].shape[-2]
        mask = np.ones((SIZES["batch"], 1, 1, length), dtype=bool)
        seen = call(**inputs, **{name: mask.copy()})
        np.testing.assert_allclose(seen, call(**inputs), atol=CLOSE[track])
        mask[1, ..., 1] = False
        moved = np.abs(call(**inputs, **{name: mask}) - seen).reshape(SIZES["batch"], -1).max(axis=1)
        assert moved[1] > 1e-3 and max(moved[0], moved[2]) <= CLOSE[track]


@each([subject for subject in SUBJECTS if subject.pads])
def test_padding_changes_nothing(subject, track):
    call, inputs = called(subject, track), subject.draw(11)
    for name in subject.pads:
        length = inputs[name].shape[1]
        together = [other for other in inputs if inputs[other].shape[1] == length]
        padded = {other: np.pad(inputs[other], [(0, 0), (0, 3)]) for other in together}
        hold([laws.hides_padding(call, inputs, inputs | padded, CLOSE[track])])


@each([subject for subject in SUBJECTS if subject.future])
def test_no_output_sees_the_future(subject, track):
    call, inputs, others = called(subject, track), inputs_of(subject, 12, False), inputs_of(subject, 13, False)
    name = subject.future
    if subject.inputs[name].kind == "ids":  # another token at each place
        others[name] = inputs[name] % (subject.inputs[name].below - 1) + 1
    hold([laws.hides_the_future(call, inputs, others, name, CLOSE[track])])


@each([subject for subject in SUBJECTS if subject.cached])
def test_a_cache_changes_nothing(subject, track):
    layer, inputs = made(subject, track), subject.draw(14)
    shape = [SIZES[axis] for axis in ("batch", "heads", "length", "head_dim")]
    dtype = {"numpy": (np.float64,), "pytorch": (torch.float64, "cpu"), "keras": ("float32",)}[track]

    def make_cache():
        if hasattr(layer, "make_cache"):
            return layer.make_cache(SIZES["batch"])
        return of(track)("decoder.LayerCache")(tuple(shape), *dtype)

    call, given = called(subject, track, layer), {subject.future: inputs[subject.future]}
    for pieces in ((1, 1, 1, 1, 1), (3, 2), (2, 1, 1, 1)):
        hold([laws.cache_changes_nothing(call, make_cache, given, subject.future, pieces, CLOSE[track])])


# Weights, modes, devices


@each(LAYERS)
def test_saved_weights_make_the_same_function(subject, track, tmp_path):
    layer, other = made(subject, track), made(subject, track, scramble=False)
    given = inputs_of(subject, 15, track=track) | dict(subject.named)
    if get_weights(layer):
        hold([laws.saving_changes_nothing(layer, other, given, tmp_path / "weights.safetensors")])


@each(DROPPING, ("numpy", "pytorch"))
def test_evaluation_keeps_the_mode_of_each_part(subject, track):
    def use(model):
        with evaluation_mode(model):
            assert not model.training

    hold([laws.keeps_modes(made(subject, track), use)])


def tensors_of(subject: Subject, device: str) -> dict:
    drawn = {name: torch.tensor(array, device=device) for name, array in subject.draw(16, "float32").items()}
    return {name: tensor.requires_grad_(tensor.is_floating_point()) for name, tensor in drawn.items()}


@each(SUBJECTS, ("pytorch",))
def test_tensors_stay_on_the_device_of_the_inputs(subject, track):
    layer, tensors = subject.made(of(track), track), tensors_of(subject, "meta")
    if not subject.is_layer:
        hold([laws.stays_on_its_device(lambda **given: layer(**given, **subject.arguments), tensors)])
        return
    layer.to("meta")
    hold([laws.stays_on_its_device(lambda **given: layer(**given, **subject.named), tensors)])
    gradients = [weight.grad for weight in layer.parameters()]
    assert not gradients or any(gradient is not None for gradient in gradients)
    assert all(gradient is None or gradient.device.type == "meta" for gradient in gradients)


@each([subject for subject in LAYERS if not subject.named], ("pytorch",))
def test_pytorch_compiles_to_one_graph(subject, track):
    for training in (True, False):
        layer = subject.made(of(track), track).train(training)
        hold([laws.compiles_to_one_graph(layer, tensors_of(subject, "cpu"))])


# Keras


@each([subject for subject in LAYERS if not subject.is_tied], ("keras",))
def test_keras_config_has_every_argument(subject, track):
    changed = {} if rate_of(subject) is None else {rate_of(subject): 0.1}
    for other in ({}, *subject.variants):
        hold([laws.config_makes_it_again(subject.made(of(track), track, **changed | dict(other), name="named"))])


def symbols(layer, inputs: dict[str, np.ndarray]) -> dict:
    entries = {name: keras.Input(array.shape[1:], array.shape[0], str(array.dtype)) for name, array in inputs.items()}
    return in_keras(layer.call, entries)


@each(LAYERS, ("keras",))
def test_keras_shapes_are_known_before_the_call(subject, track):
    layer = subject.made(of(track), track)
    output = layer(**symbols(layer, inputs_of(subject, 17, track=track)), **subject.named)
    assert (output[0] if isinstance(output, tuple | list) else output).shape == subject.shape()


@each([subject for subject in LAYERS if not subject.is_tied], ("keras",))
def test_keras_mixed_precision_reaches_every_part(subject, track):
    layer = subject.made(of(track), track, dtype="mixed_bfloat16")
    output = layer(**in_keras(layer.call, inputs_of(subject, 18, track=track)), **subject.named)
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"
    parts = [part for part in layer._flatten_layers() if part.weights and not isinstance(part, keras.Model)]
    assert {part.compute_dtype for part in parts} <= {"bfloat16"}


# What is refused


@each([subject for subject in SUBJECTS if not subject.make])
def test_wrong_sizes_are_refused(subject, track):
    kind = of(track)(subject.path)
    names = subject.keras if track == "keras" else {}
    arguments = {names.get(name, name): value for name, value in subject.arguments.items()}
    if not subject.is_layer:
        arguments |= {name: from_numpy(array, track) for name, array in inputs_of(subject, 25, track=track).items()}
    wrong = list(laws.wrong_sizes(kind.__init__ if subject.is_layer else kind))
    findings = [
        laws.refuses(lambda given=arguments | {name: value}: kind(**given), error, (name,))
        for name, value, error in wrong
        if not (name in subject.allows and error is ValueError)
    ]
    if wrong:
        hold(findings)


@each([subject for subject in LAYERS if "max_length" in subject.arguments])
def test_longer_sequences_than_the_longest_are_refused(subject, track):
    layer = made(subject, track)
    longer = dict.fromkeys(("length", "length_k"), subject.arguments["max_length"] + 1)
    given = subject.draw(26, "float32" if track == "keras" else "float64", **longer)
    name = subject.keras.get("max_length", "max_length") if track == "keras" else "max_length"
    hold([laws.refuses(lambda: called(subject, track, layer)(**given), ValueError, (name, "max_length"))])


def signatures(subject: Subject) -> list:
    """The functions whose signature says what is refused: one for each track, because the three say the same.

    But for one that takes a dict: what it refuses is said by the methods that it hands the entries to.
    """
    kinds = [of(track)(subject.path) for track in subject.tracks]
    functions = [getattr(kind, "call", None) or getattr(kind, "forward", kind) for kind in kinds]
    return [each for each in functions if not takes_a_dict(each)]


def wrong_inputs(subject: Subject, inputs: dict[str, np.ndarray], track: str) -> list:
    found = []
    for function in signatures(subject):
        by_track = in_keras(function, inputs)
        course = dict(zip(by_track, inputs))
        for names, given in laws.wrong_arrays(function, by_track):
            names, given = [course[name] for name in names], {course[name]: value for name, value in given.items()}
            is_float = given[names[0]].dtype.kind == "f" and inputs[names[0]].dtype.kind == "i"
            is_pairs = subject.inputs[names[0]].kind == "mask" and given[names[0]].ndim == 2  # (length_q, length_k)
            if not ((is_float and track in subject.takes_floats) or (is_pairs and track == "keras")):
                found.append((names, given))
    return found


def in_words_of(track: str, names: Iterable[str]) -> tuple[str, ...]:
    """The arguments that an error may name, by what they are called in a track, too."""
    return tuple(names) + tuple(IN_KERAS[name] for name in names if track == "keras" and name in IN_KERAS)


@each([subject for subject in SUBJECTS if subject.has_shapes])
def test_wrong_arrays_are_refused(subject, track):
    """And the layer computes as before."""
    call, inputs = called(subject, track), inputs_of(subject, 19, track=track)
    before, wrong = call(**inputs), wrong_inputs(subject, inputs, track)
    hold(
        laws.refuses(lambda given=given: call(**given), TypeError, in_words_of(track, names)) for names, given in wrong
    )
    assert np.array_equal(call(**inputs), before)


@each([subject for subject in LAYERS if subject.has_shapes])
def test_a_layer_is_not_spoiled_by_a_refused_first_call(subject, track):
    inputs = inputs_of(subject, 20, track=track)
    for names, given in wrong_inputs(subject, inputs, track):
        layer = subject.made(of(track), track)
        if track == "pytorch":
            layer.double()
        call = laws.called(layer, **subject.named)
        hold([laws.refuses(lambda call=call, given=given: call(**given), TypeError, in_words_of(track, names))])
        assert call(**inputs).shape == subject.shape()


@each([subject for subject in LAYERS if any(each.kind == "mask" for each in subject.inputs.values())], ("keras",))
def test_keras_wrong_wiring_is_found_before_the_call(subject, track):
    """As far as it can be: sizes that arguments share are not known yet, and a symbol has one axis, at least."""
    layer = subject.made(of(track), track)
    found = laws.wrong_arrays(layer.call, in_keras(layer.call, inputs_of(subject, 21, track=track)))
    wrong = [(names, given) for names, given in found if len(names) == 1 and given[names[0]].ndim]
    hold(laws.refuses(lambda given=given: layer(**symbols(layer, given)), TypeError, names) for names, given in wrong)


@each([subject for subject in SUBJECTS if subject.has_shapes], ("numpy", "pytorch"))
def test_lists_and_arrays_of_another_framework_are_refused(subject, track):
    layer = made(subject, track)
    given = subject.named if subject.is_layer else subject.arguments
    other = {"numpy": "pytorch", "pytorch": "numpy"}[track]
    inputs = subject.draw(22)
    own = {name: from_numpy(array, track) for name, array in inputs.items()}
    for name, array in inputs.items():
        for wrong in (array.tolist(), from_numpy(array, other)):
            hold(
                [laws.refuses(lambda wrong=wrong, name=name: layer(**own | {name: wrong}, **given), TypeError, (name,))]
            )


@each([subject for subject in LAYERS if any(each.kind == "ids" for each in subject.inputs.values())])
def test_ids_outside_the_vocabulary_are_refused(subject, track):
    """Also those that 32 bits cannot hold, before a cast makes others of them."""
    inputs, layer, call = subject.draw(23), made(subject, track), called(subject, track)

    def as_given(**arrays):
        # Keras takes NumPy's arrays, and looks at them; on JAX a conversion before the call would cut them
        return layer(**in_keras(layer.call, arrays), **subject.named) if track == "keras" else call(**arrays)

    for name, array in inputs.items():
        for wrong in (subject.inputs[name].below, -1, 2**32 + 1, -(2**40)):
            changed = array.copy()
            changed[0, 1] = wrong
            given = inputs | {name: changed}
            hold([laws.refuses(lambda given=given: as_given(**given), ValueError, ())])
    small = {name: array.astype("uint8") for name, array in inputs.items()}
    assert np.array_equal(call(**small), call(**inputs))


@each([subject for subject in WITH_BACKWARD if subject.keeps], ("numpy",))
def test_a_backward_pass_needs_a_forward_pass_and_a_gradient_of_its_shape(subject, track):
    layer, inputs = made(subject, track), subject.draw(24)
    grad_output = np.ones(subject.shape())
    with pytest.raises(AttributeError):
        layer.backward(grad_output)
    layer(**inputs)
    for wrong in (grad_output[..., :-1], grad_output[:-1]):
        with pytest.raises(TypeError):
            layer.backward(wrong)


@each([subject for subject in WITH_BACKWARD if not subject.keeps], ("numpy",))
def test_a_gradient_does_not_depend_on_an_input_that_is_not_kept(subject, track):
    layer, grad_output = made(subject, track), np.random.default_rng(27).normal(size=subject.shape())
    found = []
    for seed in (28, 29):
        layer(**subject.draw(seed))
        found.append(layer.backward(grad_output))
    assert np.array_equal(*found)
