"""Everything that comes in becomes either a stream of batches or ``Moments``, which merge."""
