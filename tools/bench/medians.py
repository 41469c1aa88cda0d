#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

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
