# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Prior knowledge as the kernels take it."""

from libc.stdint cimport int32_t
from libc.string cimport memset


cdef inline const int32_t* first(const int32_t[::1] items) noexcept:
    return &items[0] if items.shape[0] > 0 else NULL


cdef class Knowledge:
    """Tiers (-1 for none), required and forbidden parents, by node; lists of j are ``items[start[j]:start[j + 1]]``."""

    def __cinit__(self):
        memset(&self.rules, 0, sizeof(self.rules))

    def __init__(
        self, const int32_t[::1] tier, const int32_t[::1] required_start, const int32_t[::1] required,
        const int32_t[::1] forbidden_start, const int32_t[::1] forbidden,
    ):
        cdef Py_ssize_t j
        self._held = (tier, required_start, required, forbidden_start, forbidden)
        self.rules.tier = first(tier)
        self.rules.required_start = first(required_start)
        self.rules.required = first(required)
        self.rules.forbidden_start = first(forbidden_start)
        self.rules.forbidden = first(forbidden)
        self.rules.ordered = required.shape[0] > 0
        for j in range(tier.shape[0]):
            self.rules.ordered = self.rules.ordered or tier[j] >= 0
