"""Noisy digits: the noise that is stated, on the images that they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from badac.simulate import Uniform, noisy_digits


def test_noise_is_as_stated():
    made = noisy_digits(rng=np.random.default_rng(1))
    z = (made.objects.values - made.truth) / made.objects.sigma
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-4
    level = made.objects.sigma[:, 0]
    np.testing.assert_array_equal(made.objects.sigma, level[:, None].repeat(64, axis=1))
    assert stats.kstest(level, stats.uniform(0.5, 5.5).cdf).pvalue > 1e-4


def test_images_keep_their_labels():
    images, labels = load_digits(return_X_y=True)
    made = noisy_digits(rng=np.random.default_rng(2))
    known = {image.tobytes(): label for image, label in zip(images, labels, strict=True)}
    assert [known[truth.tobytes()] for truth in made.truth] == list(made.label)
    assert not np.array_equal(made.label, labels)


def test_same_seed_same_digits():
    first, second = (noisy_digits(rng=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.objects.values, second.objects.values)


def test_no_noise_is_the_images_themselves():
    made = noisy_digits(Uniform(0.0, 0.0), rng=np.random.default_rng(4))
    np.testing.assert_array_equal(made.objects.values, made.truth)


def test_a_negative_level_is_refused():
    with pytest.raises(ValueError, match="noise level cannot be negative"):
        noisy_digits(Uniform(-1.0, 2.0), rng=np.random.default_rng(5))
