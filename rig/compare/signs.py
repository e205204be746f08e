"""Numbers of two sides, paired: the exact test that only chance gave the differences their signs."""

import itertools
from collections.abc import Sequence
from random import Random

EXACT_UP_TO = 16
DRAWS = 100_000
SEED = 1
_SAME = 1 - 1e-9


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p (Fisher's randomisation test): the share of sign patterns with a sum as far from 0 as the one seen.

    Every pattern is tried for up to EXACT_UP_TO differences that are not 0; beyond that DRAWS of them, from a fixed
    seed. Fewer than six such differences never come below 5 %.
    """
    sizes = [abs(one) for one in differences if one != 0]
    if not sizes:
        return 1.0
    seen = abs(sum(differences)) * _SAME
    if len(sizes) <= EXACT_UP_TO:
        sums = [abs(sum(pattern)) for pattern in itertools.product(*((-one, one) for one in sizes))]
        return sum(one >= seen for one in sums) / len(sums)
    random = Random(SEED)
    far = sum(abs(sum(one if random.getrandbits(1) else -one for one in sizes)) >= seen for _ in range(DRAWS))
    return (far + 1) / (DRAWS + 1)
