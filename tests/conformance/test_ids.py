"""Token ids are looked at while they are whole: in Keras a cast comes early, and each backend has another."""

import keras
import numpy as np
import pytest

from shared.arrays import as_numpy
from shared.keras.bert import BERTEmbedding, BERTModel
from shared.keras.embeddings import TokenAndPositionEmbedding, TokenEmbedding
from shared.keras.gpt import GPTModel
from shared.keras.seq2seq import Seq2SeqTransformer, beam_search, greedy_decode

pytestmark = [pytest.mark.chapter("05", "12", "13", "14"), pytest.mark.keras]


OF_IDS = {
    TokenEmbedding: (lambda: TokenEmbedding(4, 9), lambda layer, ids: layer(ids)),
    TokenAndPositionEmbedding: (lambda: TokenAndPositionEmbedding(6, 9, 4), lambda layer, ids: layer(ids)),
    BERTEmbedding: (lambda: BERTEmbedding(4, 0.0, 9, 6), lambda layer, ids: layer(ids)),
    BERTModel: (lambda: BERTModel(4, 2, 8, 0.0, 9, 6), lambda layer, ids: layer(ids)),
    GPTModel: (lambda: GPTModel(4, 2, 8, 0.0, 9, 6), lambda layer, ids: layer(ids)),
    Seq2SeqTransformer: (lambda: Seq2SeqTransformer(4, 2, 8), lambda layer, ids: layer({"source": ids, "target": ids})),
}


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
