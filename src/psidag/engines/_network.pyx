# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Search by re-insertion and additions, on a network that is changed in place.

A :class:`Network` is a DAG with an order, the regression of every node on its parents, and a queue of nodes to
look at. It is compiled because a sweep is thousands of small, dependent O(k) and O(k^2) updates.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from psidag.data._entries cimport Entries, Matrix
from psidag.engines._additions cimport additions_everywhere, additions_listed
from psidag.engines._chance cimport draw, is_covered, random_order, reverse
from psidag.engines._record cimport dump_fits, dump_nodes, inverse_entries, restore_fits, restore_nodes
from psidag.engines._state cimport (
    Bag, State, become, enqueue, make_way, may_point, node_cost, pays, push, requeue, reselect,
)
from psidag.engines._walks cimport sweep
from psidag.stages._regression cimport (
    WIDE, Regression, add, clear, copy, find, make_score, release, reserve,
)
from psidag.stages._settle cimport settle


cdef class Network:
    """A DAG with an order and the regression of every node, to be searched in place."""

    cdef State s

    def __cinit__(self, Py_ssize_t d, *_):
        memset(&self.s, 0, sizeof(State))
        self.s.d = d

    def __init__(
        self, Py_ssize_t d, const int32_t[::1] order, const double[::1] variance, const int32_t[::1] tier,
        const int32_t[::1] required_start, const int32_t[::1] required,
        const int32_t[::1] forbidden_start, const int32_t[::1] forbidden,
    ):
        cdef State* s = &self.s
        cdef Py_ssize_t j
        s.sigma2 = <double*> calloc(2 * d, sizeof(double))
        s.floor = s.sigma2 + d
        s.fits = <Regression*> calloc(d, sizeof(Regression))
        s.children = <Bag*> calloc(d, sizeof(Bag))
        s.order = <int32_t*> calloc(d, sizeof(int32_t))
        s.place = <int32_t*> calloc(d, sizeof(int32_t))
        s.tier = <int32_t*> calloc(d, sizeof(int32_t))
        s.required_start = <int32_t*> calloc(d + 1, sizeof(int32_t))
        s.required = <int32_t*> calloc(required.shape[0] + 1, sizeof(int32_t))
        s.forbidden_start = <int32_t*> calloc(d + 1, sizeof(int32_t))
        s.forbidden = <int32_t*> calloc(forbidden.shape[0] + 1, sizeof(int32_t))
        s.queue = <int32_t*> calloc(d, sizeof(int32_t))
        s.queued = <uint8_t*> calloc(d, 1)
        s.mark = <uint8_t*> calloc(d, 1)
        s.stale = <uint8_t*> calloc(d, 1)
        s.scratch = <double*> calloc(WIDE * d, sizeof(double))
        if (s.sigma2 == NULL or s.fits == NULL or s.children == NULL or s.order == NULL or s.place == NULL
                or s.tier == NULL or s.required_start == NULL or s.required == NULL or s.forbidden_start == NULL
                or s.forbidden == NULL or s.queue == NULL or s.queued == NULL or s.mark == NULL
                or s.stale == NULL or s.scratch == NULL):
            raise MemoryError(f"no memory for a network of {d} nodes")
        for j in range(d):
            s.order[j] = order[j]
            s.place[order[j]] = <int32_t> j
            s.tier[j] = tier[j]
            s.constrained = s.constrained or tier[j] >= 0
            clear(s.fits + j, variance[j])
        for j in range(d + 1):
            s.required_start[j] = required_start[j]
            s.forbidden_start[j] = forbidden_start[j]
        s.constrained = s.constrained or required.shape[0] > 0
        for j in range(required.shape[0]):
            s.required[j] = required[j]
        for j in range(forbidden.shape[0]):
            s.forbidden[j] = forbidden[j]

    def __dealloc__(self):
        cdef State* s = &self.s
        cdef Py_ssize_t j
        for j in range(s.d):
            if s.fits != NULL:
                release(s.fits + j)
            if s.children != NULL:
                free(s.children[j].items)
        release(&s.me)
        release(&s.other)
        free(s.candidates.items)
        free(s.trial.items)
        free(s.chosen.items)
        free(s.touched.items)
        free(s.sigma2)
        free(s.fits)
        free(s.children)
        free(s.order)
        free(s.place)
        free(s.tier)
        free(s.required_start)
        free(s.required)
        free(s.forbidden_start)
        free(s.forbidden)
        free(s.queue)
        free(s.queued)
        free(s.mark)
        free(s.stale)
        free(s.scratch)

    @property
    def waiting(self):
        """How many nodes are queued."""
        return self.s.waiting

    @property
    def counters(self):
        """Sweeps, nodes passed in them, moves."""
        return self.s.sweeps, self.s.visits, self.s.moves

    def configure(self, double n, double penalty, const double[::1] sigma2, const double[::1] floor, Py_ssize_t max_parents,
                  double patience, Py_ssize_t max_additions, double tolerance):
        """Set the score and how far a sweep goes."""
        cdef Py_ssize_t j
        self.s.score = make_score(n, penalty)
        self.s.max_parents = max_parents
        self.s.patience = patience
        self.s.max_additions = max_additions
        self.s.tolerance = tolerance
        for j in range(self.s.d):
            self.s.sigma2[j] = sigma2[j]
            self.s.floor[j] = floor[j]

    def set_stale(self, bint value):
        """Look for additions to all nodes next time, or to none but those whose parents change from now on."""
        memset(self.s.stale, 1 if value else 0, self.s.d)

    def mark_stale(self, const int64_t[::1] nodes):
        """Look for additions to these nodes next time, too."""
        cdef Py_ssize_t a
        for a in range(nodes.shape[0]):
            self.s.stale[nodes[a]] = 1

    def queue_all(self):
        """Queue every node, in the order."""
        cdef Py_ssize_t t
        for t in range(self.s.d):
            enqueue(&self.s, self.s.order[t])

    def read_order(self, int32_t[::1] order):
        """Fill the order."""
        cdef Py_ssize_t t
        for t in range(self.s.d):
            order[t] = self.s.order[t]

    def edge_count(self):
        """How many edges there are."""
        cdef Py_ssize_t j, total = 0
        for j in range(self.s.d):
            total += self.s.fits[j].k
        return total

    def read(self, int64_t[::1] ends, int32_t[::1] parents, double[::1] weights, double[::1] variances):
        """Fill the parents of node 0, 1, … with their weights, where each list ends, and the residual variances."""
        cdef Py_ssize_t j, a, at = 0
        cdef Regression* fit
        for j in range(self.s.d):
            fit = self.s.fits + j
            for a in range(fit.k):
                parents[at + a] = fit.parents[a]
                weights[at + a] = fit.b[a]
            at += fit.k
            ends[j] = at
            variances[j] = fit.v

    def outline(self, int32_t[::1] counts, double[::1] variances, double[::1] precisions):
        """Fill how many parents each node has, its residual variance, and its precision in the model.

        The last is the diagonal of the inverse covariance: 1/v_i + Σ_c w_ic²/v_c over its children c.
        """
        cdef Py_ssize_t j, a
        cdef Regression* fit
        for j in range(self.s.d):
            precisions[j] = 0
        for j in range(self.s.d):
            fit = self.s.fits + j
            counts[j] = <int32_t> fit.k
            variances[j] = fit.v
            for a in range(fit.k):
                precisions[fit.parents[a]] += fit.b[a] * fit.b[a] / fit.v
        for j in range(self.s.d):
            precisions[j] += 1 / variances[j]

    def sizes(self):
        """How many edges there are, entries of inverses, and nodes in the queue: the room that `dump` needs."""
        return self.edge_count(), inverse_entries(&self.s), self.s.waiting

    def dump(
        self, int32_t[::1] order, int32_t[:, ::1] nodes, int32_t[::1] parents, int32_t[::1] children,
        double[:, ::1] levels, double[::1] weights, double[::1] inverses, int32_t[::1] queue, double[::1] numbers,
        int64_t[::1] counts,
    ):
        """Fill all that the search depends on; `engines.network_state` says what is where."""
        dump_nodes(&self.s, order, nodes, levels, queue, numbers, counts)
        dump_fits(&self.s, parents, children, weights, inverses)

    def restore(
        self, const int32_t[:, ::1] nodes, const int32_t[::1] parents, const int32_t[::1] children,
        const double[:, ::1] levels, const double[::1] weights, const double[::1] inverses, const int32_t[::1] queue,
        const double[::1] numbers, const int64_t[::1] counts,
    ):
        """Become what was dumped, on a new network of the same order. The caller has checked every index."""
        restore_nodes(&self.s, nodes, levels, queue, numbers, counts)
        if restore_fits(&self.s, nodes, parents, children, weights, inverses) < 0:
            raise MemoryError("no memory for a regression")


def additions(Entries S, Network net, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] start,
              int32_t[::1] found, int32_t[::1] counts, double[::1] gains):
    """For stale nodes of first … last - 1 find new parents that pay and are no descendants, wherever they stand.

    The best ``start[j + 1] - start[j]`` of them for node j, by what each alone would gain, are written from
    ``found[start[j]]`` on with their gains; counts[j] is their number. The network is only read. The matrix must be
    held whole.
    """
    cdef Matrix* base = &S.matrix
    cdef int code
    with nogil:
        if base.single != NULL:
            code = additions_everywhere(base, base.single, &net.s, first, last, start, found, counts, gains)
        else:
            code = additions_everywhere(base, base.precise, &net.s, first, last, start, found, counts, gains)
    if code < 0:
        raise MemoryError("no memory for the search of additions")


def additions_among(Entries S, Network net, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] near_start,
                    const int32_t[::1] near, const int64_t[::1] start, int32_t[::1] found, int32_t[::1] counts,
                    double[::1] gains):
    """As ``additions``, where only ``near[near_start[i]:near_start[i + 1]]`` for j and its parents i are candidates.

    The matrix must not be held.
    """
    cdef Matrix base = S.matrix
    cdef int code
    # Several threads may be here: none of them writes to the cache.
    base.cache = NULL
    with nogil:
        code = additions_listed(&base, &net.s, first, last, near_start, near, start, found, counts, gains)
    if code < 0:
        raise MemoryError("no memory for the search of additions")


def select_among(Entries S, Network net, const int64_t[::1] near_start, const int32_t[::1] near):
    """Select parents of every node from ``near[near_start[j]:near_start[j + 1]]``, those before it in the order, in place.

    Forward-backward, from the parents it has.
    """
    cdef State* s = &net.s
    cdef Py_ssize_t t, a
    cdef int32_t j
    cdef int code = 0
    s.touched.size = 0
    with nogil:
        for t in range(s.d):
            j = s.order[t]
            s.candidates.size = 0
            for a in range(near_start[j], near_start[j + 1]):
                if s.place[near[a]] < t and push(&s.candidates, near[a]) < 0:
                    code = -1
            if code < 0 or copy(&s.me, s.fits + j) < 0:
                code = -1
                break
            if (reselect(&S.matrix, s, j, &s.me, s.candidates.items, s.candidates.size) < 0
                    or become(&S.matrix, s, j, s.me.parents, s.me.k) < 0):
                code = -1
                break
        if code == 0:
            requeue(s)
    if code < 0:
        raise MemoryError("no memory for a regression")


def apply_additions(Entries S, Network net, const int32_t[::1] nodes, const int64_t[::1] start,
                    const int32_t[::1] found, const int32_t[::1] counts):
    """Give the nodes the parents found for them where no cycle comes of it, in place; returns how many gained."""
    cdef State* s = &net.s
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t a, h, gained = 0
    cdef int32_t i, j
    cdef int code = 0
    cdef Regression* me = &s.me
    s.touched.size = 0
    with nogil:
        for a in range(nodes.shape[0]):
            j = nodes[a]
            if copy(me, s.fits + j) < 0 or reserve(me, me.k + counts[j]) < 0:
                code = -1
                break
            for h in range(start[j], start[j] + counts[j]):
                i = found[h]
                code = make_way(s, i, j)
                if code < 0:
                    break
                if code > 0 and pays(base, s, i, j, me):
                    add(base, i, j, me, s.scratch)
                    settle(base, j, me, s.scratch)
            if code < 0 or reselect(base, s, j, me, NULL, 0) < 0:
                code = -1
                break
            if node_cost(s, j, me) < node_cost(s, j, s.fits + j) - 1e-7:
                if become(base, s, j, me.parents, me.k) < 0:
                    code = -1
                    break
                gained += 1
        if code >= 0:
            requeue(s)
    if code < 0:
        raise MemoryError("no memory for a regression")
    return gained


def resample(Entries S, Network net, uint64_t seed):
    """Go to a random DAG of the same equivalence class, in a random order of it, and queue all nodes.

    Covered edges are visited in random sequence and turned round with probability one half.
    """
    cdef State* s = &net.s
    cdef Matrix* base = &S.matrix
    cdef Bag edges
    cdef Py_ssize_t a, h
    cdef int32_t i, j, item
    cdef int code = 0
    cdef uint64_t state = seed
    memset(&edges, 0, sizeof(Bag))
    with nogil:
        s.touched.size = 0
        for j in range(s.d):
            for a in range(s.fits[j].k):
                if push(&edges, s.fits[j].parents[a]) < 0 or push(&edges, j) < 0:
                    code = -1
        a = edges.size // 2 - 1
        while code == 0 and a >= 0:
            h = <Py_ssize_t> (draw(&state) % <uint64_t> (a + 1))
            i = edges.items[2 * h]
            j = edges.items[2 * h + 1]
            edges.items[2 * h] = edges.items[2 * a]
            edges.items[2 * h + 1] = edges.items[2 * a + 1]
            if draw(&state) & 1 and is_covered(s, i, j):
                if reverse(base, s, i, j) < 0:
                    code = -1
            a -= 1
        if code == 0:
            code = random_order(s, &state)
        for a in range(s.d):
            enqueue(s, s.order[a])
    free(edges.items)
    if code < 0:
        raise MemoryError("no memory for a regression")


def write(Entries S, Network net, const int32_t[::1] nodes, const int32_t[::1] start,
          const int32_t[::1] parents, bint lock=False):
    """Give the nodes the parents ``parents[start[a]:start[a + 1]]`` one after the other, in place, and queue who is near.

    The order makes way where it must; a parent that would close a cycle is left out.
    """
    cdef State* s = &net.s
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t a, h
    cdef int32_t i, j
    cdef int code = 0
    s.touched.size = 0
    with nogil:
        for a in range(nodes.shape[0]):
            j = nodes[a]
            # First what stays: parents that leave must not stand in the way of those that come.
            s.candidates.size = 0
            for h in range(start[a], start[a + 1]):
                if find(s.fits + j, parents[h]) >= 0 and push(&s.candidates, parents[h]) < 0:
                    code = -1
            if code < 0 or become(base, s, j, s.candidates.items, s.candidates.size) < 0:
                code = -1
                break
            for h in range(start[a], start[a + 1]):
                i = parents[h]
                if find(s.fits + j, i) < 0:
                    code = make_way(s, i, j)
                    if code < 0 or (code > 0 and push(&s.candidates, i) < 0):
                        code = -1
                        break
            if code < 0 or become(base, s, j, s.candidates.items, s.candidates.size) < 0:
                code = -1
                break
            if lock:
                s.fits[j].locked = s.fits[j].k
        if code >= 0:
            requeue(s)
    if code < 0:
        raise MemoryError("no memory for a regression")


def drain(Entries S, Network net, Py_ssize_t sweeps):
    """Sweep up to so many queued nodes, in place; returns how many of the sweeps gained."""
    cdef State* s = &net.s
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t gains = 0, a
    cdef int code = 0
    cdef int32_t v
    with nogil:
        for a in range(sweeps):
            if s.waiting == 0:
                break
            v = s.queue[s.head]
            s.head = 0 if s.head + 1 == s.d else s.head + 1
            s.waiting -= 1
            s.queued[v] = 0
            code = sweep(base, s, v)
            if code < 0:
                break
            gains += code
    if code < 0:
        raise MemoryError("no memory for a regression")
    return gains
