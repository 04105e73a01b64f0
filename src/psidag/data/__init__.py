"""Everything that comes in becomes either a stream of batches or ``Moments`` (count, mean, scatter), which merge."""
