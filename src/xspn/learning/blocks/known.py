"""What is known of a slice's blocks before they are looked for."""

from typing import NamedTuple

from xspn.core.arrays import IntArray


class KnownBlocks(NamedTuple):
    """Exchangeable blocks of best evidence, found above.

    Attributes:
        label: The block of each variable, numbered from 0.
        settled: Whether they were found in these very rows. Those of a context were found while rows still moved from
            one to another, and are where to go on from.
    """

    label: IntArray
    settled: bool
