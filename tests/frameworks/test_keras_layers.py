"""What every Keras layer of the course must keep: a refused call leaves it as it was, and ids are looked at before they are cast."""

import importlib
import inspect

import keras
import numpy as np
import pytest

from shared.chapters import all_chapters
from shared.frameworks.weights import as_numpy, get_weights, set_weights
from shared.keras.attention import MultiHeadAttention
from shared.keras.bert import BERTEmbedding, BERTModel, MaskedLanguageHead, Pooler
from shared.keras.decoder import CausalSelfAttention, Decoder, DecoderBlock, DecoderOnlyBlock
from shared.keras.embeddings import PositionalEncoding, TokenAndPositionEmbedding, TokenEmbedding
from shared.keras.encoder import Encoder, EncoderBlock, TransformerBlock
from shared.keras.feed_forward import FeedForward, LayerNorm, ResidualConnection
from shared.keras.gpt import GPTModel
from shared.keras.models import MLP
from shared.keras.seq2seq import Seq2SeqTransformer, TiedProjection, beam_search, greedy_decode

pytestmark = [pytest.mark.chapter("02", "05", "06", "07", "08", "11", "12", "13", "14"), pytest.mark.keras]


def built(layer, shape=(None, None)):
    layer.build(shape)
    return layer


# Each with what is called: x has 4 features where it is right, and 5 where it is wrong.
OF_FEATURES = {
    MLP: (lambda: MLP(4, 3, 2), lambda layer, x: layer(x)),
    LayerNorm: (lambda: LayerNorm(4), lambda layer, x: layer(x)),
    FeedForward: (lambda: FeedForward(4, 8), lambda layer, x: layer(x)),
    ResidualConnection: (lambda: ResidualConnection(4), lambda layer, x: layer(x, lambda h: 2 * h)),
    PositionalEncoding: (lambda: PositionalEncoding(4), lambda layer, x: layer(x)),
    MultiHeadAttention: (lambda: MultiHeadAttention(4, 2), lambda layer, x: layer(x, x, x)),
    CausalSelfAttention: (lambda: CausalSelfAttention(4, 2), lambda layer, x: layer(x)),
    EncoderBlock: (lambda: EncoderBlock(4, 2, 8), lambda layer, x: layer(x)),
    Encoder: (lambda: Encoder(4, 2, 8, norm_first=True), lambda layer, x: layer(x)),
    TransformerBlock: (lambda: TransformerBlock(4, 2, 8), lambda layer, x: layer(x)),
    DecoderOnlyBlock: (lambda: DecoderOnlyBlock(4, 2, 8), lambda layer, x: layer(x)),
    DecoderBlock: (lambda: DecoderBlock(4, 2, 8), lambda layer, x: layer(x, x)),
    Decoder: (lambda: Decoder(4, 2, 8, norm_first=True), lambda layer, x: layer(x, x)),
    TiedProjection: (lambda: TiedProjection(built(TokenEmbedding(4, 7))), lambda layer, x: layer(x)),
    MaskedLanguageHead: (lambda: MaskedLanguageHead(4, 7), lambda layer, x: layer(x, np.ones((7, 4), "float32"))),
    Pooler: (lambda: Pooler(4), lambda layer, x: layer(x)),
}
OF_IDS = {
    TokenEmbedding: (lambda: TokenEmbedding(4, 9), lambda layer, ids: layer(ids)),
    TokenAndPositionEmbedding: (lambda: TokenAndPositionEmbedding(6, 9, 4), lambda layer, ids: layer(ids)),
    BERTEmbedding: (lambda: BERTEmbedding(4, 0.0, 9, 6), lambda layer, ids: layer(ids)),
    BERTModel: (lambda: BERTModel(4, 2, 8, 0.0, 9, 6), lambda layer, ids: layer(ids)),
    GPTModel: (lambda: GPTModel(4, 2, 8, 0.0, 9, 6), lambda layer, ids: layer(ids)),
    Seq2SeqTransformer: (lambda: Seq2SeqTransformer(4, 2, 8), lambda layer, ids: layer(ids, ids)),
}
OTHERS = {"Rearrange", "Reduce", "LeNet"}  # of chapter 03, whose shapes are those of a pattern or an image


def test_keras_layers_are_all_here():
    found = set()
    for chapter in all_chapters():
        module = importlib.import_module(f"shared.keras.{chapter.name}")
        kinds = (each for name, each in vars(module).items() if inspect.isclass(each) and not name.startswith("_"))
        found |= {
            each.__name__ for each in kinds if issubclass(each, keras.layers.Layer) and "shared" in each.__module__
        }
    assert found - OTHERS == {each.__name__ for each in (*OF_FEATURES, *OF_IDS)}


@pytest.mark.parametrize("kind", OF_FEATURES)
def test_keras_layer_is_not_spoiled_by_a_call_that_it_refuses(kind, rng):
    make, call = OF_FEATURES[kind]
    layer, fresh = make(), make()
    x = rng.normal(size=(1, 3, 4)).astype("float32")
    for wrong in (np.ones((1, 3, 5), "float32"), np.ones((1, 3, 2), "float32")):
        with pytest.raises(TypeError, match=r"(\b|\[1m)(x|query|inputs|features|key) has shape"):
            call(layer, wrong)
    assert call(layer, x).shape == call(fresh, x).shape
    set_weights(layer, get_weights(fresh))
    np.testing.assert_allclose(as_numpy(call(layer, x)), as_numpy(call(fresh, x)), atol=1e-6)


@pytest.mark.parametrize("kind", OF_IDS)
def test_keras_ids_are_looked_at_before_they_are_cast(kind):
    make, call = OF_IDS[kind]
    layer, ids = make(), np.array([[1, 2]])
    right = as_numpy(call(layer, ids))
    for wrong in (ids + 2**32, ids - 2**32, ids + 2**40, (ids + 2**32).astype("uint64"), ids + 20):
        with pytest.raises(ValueError, match=r"\d"):
            call(layer, wrong)
    assert np.array_equal(as_numpy(call(layer, ids.astype("uint8"))), right)


@pytest.mark.parametrize("number", [2.0**32 + 1, -1.0, 9.0, 1.5, np.nan, np.inf, 1e30])
def test_keras_floats_that_are_no_ids_are_refused(number):
    for kind in (TokenEmbedding, TokenAndPositionEmbedding):
        make, call = OF_IDS[kind]
        with pytest.raises(ValueError, match="token"):
            call(make(), np.array([[1.0, number]]))


def test_keras_segments_and_sources_are_looked_at_too():
    ids = np.array([[1, 2]])
    with pytest.raises(ValueError, match="segments"):
        BERTModel(4, 2, 8, 0.0, 9, 6)(ids, segments=ids - 1 + 2**32)
    model = Seq2SeqTransformer(4, 2, 8)
    for decode in (greedy_decode, beam_search):
        with pytest.raises(ValueError, match="source"):
            decode(model, ids + 2**32, 4, 1, 2)


@pytest.mark.parametrize("kind", [GPTModel, BERTModel])
def test_keras_models_look_at_what_fit_and_predict_are_given(kind):
    """TensorFlow's compiled lookup refuses the id itself; on JAX it is looked at before it becomes a tensor."""
    model, ids = OF_IDS[kind][0](), np.array([[1, 2]])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    right = model.predict(ids, verbose=0)
    calls = [
        lambda x: model.predict(x, verbose=0),
        lambda x: model.predict(x=x, verbose=0),
        model.predict_on_batch,
        lambda x: model.evaluate(x, ids, verbose=0),
        lambda x: model.fit(x, ids, verbose=0),
        lambda x: model.train_on_batch(x, ids),
        lambda x: model.test_on_batch(x, y=ids),
        lambda x: model.fit(ids, x, verbose=0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"\b(x|y) holds"):
            call(ids + 2**32)
    assert np.array_equal(model.predict(ids.astype("uint8"), verbose=0), right)


@pytest.mark.tensorflow
def test_keras_compiled_lookup_does_not_wrap_ids():
    import tensorflow as tf

    layer, ids = TokenEmbedding(4, 9), np.array([[1, 2]])
    compiled = tf.function(layer)
    assert np.array_equal(compiled(tf.constant(ids)), layer(ids))
    for wrong in (tf.constant(ids + 2**32), tf.constant((ids + 2**32).astype("uint64")), tf.constant(ids - 2**32)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            compiled(wrong)


@pytest.mark.parametrize("kind", OF_IDS)
def test_keras_ids_of_other_frameworks_are_looked_at(kind):
    """JAX would take the lower half of what PyTorch or TensorFlow hold."""
    torch = pytest.importorskip("torch")
    make, call = OF_IDS[kind]
    layer, ids = make(), torch.tensor([[1, 2]])
    with pytest.raises(ValueError, match=r"\d"):
        call(layer, ids + 2**32)
    assert np.array_equal(as_numpy(call(layer, ids)), as_numpy(call(layer, ids.numpy())))
