# SPDX-License-Identifier: Apache-2.0

"""Medians with their spread, and ratios of them."""

import random
import statistics


def spread(samples):
    """Return a median with its quartiles, as text."""
    low, _, high = statistics.quantiles(
        samples, n=4, method='inclusive')
    return f'{statistics.median(samples):.2f} ({low:.2f} to {high:.2f})'


def median(samples):
    """Return a median, as text."""
    return f'{statistics.median(samples):.2f}'


def ratio(samples, others):
    """Return the median of the ratios of paired samples, as text.

    With the interval that has the median of 95 of 100 such runs, found by
    drawing from these pairs.
    """
    pairs = [one / other for one, other in zip(samples, others)]
    draw = random.Random(1)
    medians = sorted(
        statistics.median(draw.choices(pairs, k=len(pairs)))
        for _ in range(2000))
    return (f'{statistics.median(pairs):.2f} '
            f'({medians[50]:.2f} to {medians[-50]:.2f})')
