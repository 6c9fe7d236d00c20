"""House values in California: a simulated table whose best reachable error is known exactly, or the real one of the 1990 census."""

import numbers
from typing import NamedTuple

import numpy as np

from shared.checks import check_choice, check_rate

NAMES = ("MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude")
NOISE_STD = 0.25  # of the simulated target, in 100 000 dollars
_NUM_ROWS = 2000


class Housing(NamedTuple):
    """A table of districts.

    `features` (n, 8) float64, a column for each of `names`; `target` (n,) float64, the median house value in 100 000 dollars;
    `noise_variance`, the mean squared error of the best possible predictor, or None where it is not known.
    """

    features: np.ndarray
    target: np.ndarray
    names: tuple[str, ...]
    noise_variance: float | None


class Split(NamedTuple):
    """Training and test arrays, float64: features (n, 8) and targets (n, 1)."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def _generator(seed: int) -> np.random.Generator:
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed={seed!r}: expected a whole number, got {type(seed).__name__}")
    if seed < 0:
        raise ValueError(f"seed={seed}: expected at least 0")
    return np.random.default_rng(seed)


def expected_value(features: np.ndarray) -> np.ndarray:
    """The simulated target without its noise: what the best possible predictor answers.

    Income counts up to about 60 000 dollars and then no further; a house near San Francisco or Los Angeles is worth more, an old one there more still; rooms add
    to the value, and many people in a house take from it.

    Args:
        features: (n, 8) columns in the order of NAMES.

    Returns:
        (n,) values in 100 000 dollars.

    Raises:
        TypeError: if features has another shape.
    """
    features = np.asarray(features)
    if features.ndim != 2 or features.shape[1] != len(NAMES):
        raise TypeError(f"features has shape {features.shape}: expected (n, {len(NAMES)})")
    income, age, rooms, bedrooms, _, occupants, latitude, longitude = features.T
    near = sum(
        np.exp(-((latitude - north) ** 2 + (longitude - east) ** 2) / 3)
        for north, east in ((37.8, -122.4), (34.05, -118.25))
    )
    return (
        1.7
        + 1.5 * np.tanh((income - 2) / 2)
        + near * (0.8 + 0.012 * age)
        + 0.1 * (rooms - 5 * bedrooms)
        - 0.3 * np.log(occupants)
    )


def _simulate(rng: np.random.Generator) -> Housing:
    """Draw a table whose columns are spread about as the real ones are."""
    n = _NUM_ROWS
    # Three regions, along the coast's line from north-west to south-east: the Bay, the South, and the rest.
    north, east, spread = np.array([[37.6, -122.1, 0.35], [34.0, -118.0, 0.4], [37.0, -120.5, 1.3]])[
        rng.choice(3, n, p=[0.25, 0.4, 0.35])
    ].T
    latitude = np.clip(north + spread * rng.standard_normal(n), 32.5, 42)
    longitude = np.clip(east - 0.8 * (latitude - north) + 0.5 * spread * rng.standard_normal(n), -124.4, -114.3)
    income = np.clip(rng.lognormal(1.25, 0.45, n), 0.5, 15)  # 10 000 dollars
    columns = {
        "MedInc": income,
        "HouseAge": np.floor(1 + 51 * rng.beta(1.6, 1.3, n)),
        "AveRooms": np.clip(4 + 0.35 * income + 0.7 * rng.standard_normal(n), 1.5, None),
        "AveBedrms": rng.lognormal(0.06, 0.08, n),
        "Population": np.floor(rng.lognormal(7.0, 0.7, n)) + 3,
        "AveOccup": 1 + rng.lognormal(0.6, 0.3, n),
        "Latitude": latitude,
        "Longitude": longitude,
    }
    features = np.stack([columns[name] for name in NAMES], axis=1)
    return Housing(features, expected_value(features) + NOISE_STD * rng.standard_normal(n), NAMES, NOISE_STD**2)


def load(source: str = "simulated", seed: int = 0) -> Housing:
    """Get the table.

    Args:
        source: "simulated" for 2000 districts drawn here, or "california" for the 20 640 real ones, which scikit-learn downloads the first time.
        seed: of the simulated table, a whole number from 0; the real one does not depend on it.

    Returns:
        The table. The target of a simulated one is `expected_value` plus normal noise, so the noise's variance is the best reachable mean squared error.

    Raises:
        TypeError: if seed is not a whole number.
        ValueError: if source is unknown, or seed is negative.
        ConnectionError: if the real table cannot be downloaded.

    Source: the real table is of Pace and Barry 1997, "Sparse Spatial Autoregressions".
    """
    check_choice(("simulated", "california"), source=source)
    rng = _generator(seed)
    if source == "simulated":
        return _simulate(rng)
    from sklearn.datasets import fetch_california_housing  # a second to import, and most readers never ask for it

    try:
        table = fetch_california_housing()
    except OSError as error:  # urllib's errors, and a cache that cannot be written
        raise ConnectionError(
            f"source='california' could not be downloaded ({error}): expected a network; source='simulated' needs none"
        ) from error
    order = [table.feature_names.index(name) for name in NAMES]
    return Housing(table.data[:, order].astype(np.float64), table.target.astype(np.float64), NAMES, None)


def split(housing: Housing, test_fraction: float = 0.2, seed: int = 0) -> Split:
    """Shuffle the rows, set some aside for the test, and standardise the features.

    Mean and standard deviation come from the training rows only: a test row must not leak into what the model is given. The target keeps its unit, so that an
    error can be held against `housing.noise_variance`.

    Args:
        housing: the table.
        test_fraction: the share of the rows to set aside, above 0 and below 1.
        seed: of the shuffle, a whole number from 0.

    Returns:
        The four arrays.

    Raises:
        TypeError: if housing is not a `Housing`, test_fraction is not a number, or seed is not a whole number.
        ValueError: if either part would be empty, seed is negative, or a feature is the same in all training rows.
    """
    if not isinstance(housing, Housing):
        raise TypeError(f"housing is a {type(housing).__name__}: expected a Housing, as load() returns it")
    check_rate(test_fraction=test_fraction)
    num_rows = len(housing.features)
    num_test = round(test_fraction * num_rows)
    if not 0 < num_test < num_rows:
        raise ValueError(
            f"test_fraction={test_fraction}: {num_test} of {num_rows} rows to test on; expected at least 1, and at least 1 to train on"
        )
    order = _generator(seed).permutation(num_rows)
    test, train = order[:num_test], order[num_test:]
    mean, std = housing.features[train].mean(0), housing.features[train].std(0)
    spread = np.ptp(housing.features[train], axis=0)  # rounding can leave a constant column a tiny std
    if not spread.all():
        raise ValueError(
            f"feature {housing.names[int(np.argmin(spread))]} is the same in all training rows: expected features that vary"
        )
    x, y = (housing.features - mean) / std, housing.target[:, None].astype(np.float64)
    return Split(x[train], y[train], x[test], y[test])
