import math
import urllib.error
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets

from shared import housing
from shared.data.housing import NAMES, Housing, expected_value, load, split


@pytest.mark.parametrize("seed", range(4))
def test_the_noise_is_what_is_left(seed):
    """The target minus its expected value is normal noise of the variance that is promised, and no feature tells anything about it."""
    table = load(seed=seed)
    noise = table.target - expected_value(table.features)
    n = len(noise)
    assert (
        table.features.shape == (n, 8)
        and table.features.dtype == table.target.dtype == np.float64
        and n == 2000
        and table.names == NAMES
    )
    assert abs((noise**2).mean() - table.noise_variance) < 5 * table.noise_variance * math.sqrt(2 / n)
    assert abs(noise.mean()) < 5 * math.sqrt(table.noise_variance / n)
    assert abs((noise**4).mean() / table.noise_variance**2 - 3) < 5 * math.sqrt(
        96 / n
    )  # a normal distribution's fourth moment
    for column in table.features.T:
        assert abs(np.corrcoef(column, noise)[0, 1]) < 5 / math.sqrt(n)


@pytest.mark.parametrize("seed", range(4))
def test_columns_are_plausible(seed):
    """Means and standard deviations near those of the 1990 census (its few extreme districts apart), and values that can be."""
    table = load(seed=seed)
    census = {
        "MedInc": (3.87, 1.90),
        "HouseAge": (28.6, 12.6),
        "AveRooms": (5.4, 1.2),
        "AveBedrms": (1.07, 0.1),
        "Population": (1425, 1132),
        "AveOccup": (2.9, 0.7),
        "Latitude": (35.6, 2.1),
        "Longitude": (-119.6, 2.0),
    }
    for name, column in zip(NAMES, table.features.T):
        mean, std = census[name]
        assert abs(column.mean() - mean) < std / 2 and std / 2 < column.std() < 1.5 * std, name
    columns = dict(zip(NAMES, table.features.T))
    assert np.corrcoef(columns["Latitude"], columns["Longitude"])[0, 1] < -0.8
    assert (
        columns["HouseAge"].min() >= 1
        and columns["HouseAge"].max() <= 52
        and columns["AveOccup"].min() > 1
        and columns["Population"].min() >= 3
    )
    assert np.corrcoef(columns["MedInc"], table.target)[0, 1] > 0.5


def test_seeds():
    first, again, other = load(seed=3), load("simulated", 3), load(seed=4)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.any(first.target == other.target)
    assert not np.array_equal(split(first, seed=0).y_test, split(first, seed=1).y_test)
    np.testing.assert_array_equal(split(first, seed=1).x_test, split(again, seed=1).x_test)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fraction", [0.2, 0.37])
def test_split(seed, fraction):
    table = load(seed=seed)
    kept = table.features.copy()
    parts = split(table, fraction, seed)
    num_test = round(2000 * fraction)
    assert [part.shape for part in parts] == [(2000 - num_test, 8), (2000 - num_test, 1), (num_test, 8), (num_test, 1)]
    assert all(part.dtype == np.float64 for part in parts)
    np.testing.assert_array_equal(table.features, kept)
    np.testing.assert_allclose(parts.x_train.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(parts.x_train.std(0), 1, atol=1e-12)
    assert np.abs(parts.x_test.mean(0)).max() > 1e-4  # its own mean would be exactly 0: a leak
    # Every row is in one of the parts, beside its own target, and scaled as the training rows are.
    row_of = {value: row for row, value in enumerate(table.target)}
    train, test = ([row_of[value] for value in part[:, 0]] for part in (parts.y_train, parts.y_test))
    assert sorted(train + test) == list(range(2000))
    mean, std = table.features[train].mean(0), table.features[train].std(0)
    np.testing.assert_allclose(parts.x_train * std + mean, table.features[train], rtol=1e-10)
    np.testing.assert_allclose(parts.x_test * std + mean, table.features[test], rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_small_mlp_beats_a_linear_model(seed):
    """8 -> 32 -> 1 with plain gradient descent on all rows: after 400 steps, at most two thirds of the best linear model's error, and never below the noise."""
    table = load(seed=seed)
    x_train, y_train, x_test, y_test = split(table, seed=seed)
    design = np.column_stack([x_train, np.ones(len(x_train))])
    weights = np.linalg.lstsq(design, y_train, rcond=None)[0]
    linear = ((np.column_stack([x_test, np.ones(len(x_test))]) @ weights - y_test) ** 2).mean()

    rng = np.random.default_rng(seed)
    w1, b1, w2, b2 = (
        rng.uniform(-1, 1, (8, 32)) / 8**0.5,
        np.zeros(32),
        rng.uniform(-1, 1, (32, 1)) / 32**0.5,
        np.zeros(1),
    )
    for _ in range(400):
        hidden = np.maximum(x_train @ w1 + b1, 0)  # (n, 32)
        grad = 2 * (hidden @ w2 + b2 - y_train) / len(y_train)  # (n, 1)
        grad_hidden = grad @ w2.T * (hidden > 0)
        w2 -= 0.1 * hidden.T @ grad
        b2 -= 0.1 * grad.sum(0)
        w1 -= 0.1 * x_train.T @ grad_hidden
        b1 -= 0.1 * grad_hidden.sum(0)
    error = ((np.maximum(x_test @ w1 + b1, 0) @ w2 + b2 - y_test) ** 2).mean()
    assert table.noise_variance < error < linear / 1.5


def test_the_real_table(monkeypatch):
    """Its columns are put in our order by their names; without a network the error says what to do."""
    rng = np.random.default_rng(0)
    features, target = rng.standard_normal((6, 8)), rng.standard_normal(6)
    theirs = SimpleNamespace(data=features, target=target, feature_names=list(NAMES[::-1]))
    monkeypatch.setattr(sklearn.datasets, "fetch_california_housing", lambda: theirs)
    table = load("california")
    np.testing.assert_array_equal(table.features, features[:, ::-1])
    np.testing.assert_array_equal(table.target, target)
    assert table.noise_variance is None and table.names == NAMES

    def fail():
        raise urllib.error.URLError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_california_housing", fail)
    with pytest.raises(ConnectionError, match="california.*no route.*simulated"):
        load("california")


def with_a_constant_feature() -> Housing:
    table = load()
    return table._replace(features=np.where(np.arange(8) == 2, 0.1, table.features))


REFUSED = [
    (lambda: load(source="boston"), ValueError, "source"),
    (lambda: load(seed=None), TypeError, "seed"),
    (lambda: load(seed=True), TypeError, "seed"),
    (lambda: load(seed=-1), ValueError, "seed"),
    (lambda: split(tuple(load())), TypeError, "housing"),
    (lambda: split(load(), seed=1.5), TypeError, "seed"),
    (lambda: split(load(), test_fraction="0.2"), TypeError, "test_fraction"),
    (lambda: split(load(), test_fraction=1), ValueError, "test_fraction"),
    (lambda: split(load(), test_fraction=math.nan), ValueError, "test_fraction"),
    (lambda: split(load(), test_fraction=0), ValueError, "test_fraction"),
    (lambda: split(load(), test_fraction=0.9999), ValueError, "test_fraction"),
    (lambda: split(with_a_constant_feature()), ValueError, "feature AveRooms"),
    (lambda: expected_value(np.zeros((3, 7))), TypeError, "features"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{name}\b"):
        call()


def test_a_table_of_ones_own():
    rng = np.random.default_rng(1)
    own = Housing(rng.integers(0, 9, (10, 8)), rng.integers(0, 9, 10), NAMES, None)
    parts = split(own, 0.3, 0)
    assert parts.x_train.shape == (7, 8) and parts.y_test.shape == (3, 1) and parts.y_test.dtype == np.float64
    assert housing.NOISE_STD**2 == load().noise_variance
