# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Search by re-insertion and additions, on a network that is changed in place.

A :class:`Network` is a DAG with an order, the regression of every node on its parents, and a queue of nodes to
look at. It is compiled because a sweep is thousands of small, dependent O(k) and O(k^2) updates.
"""

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from psidag.data._entries cimport Entries, Matrix
from psidag.scores._score cimport least_gain, make_score
from psidag.search._additions cimport additions_everywhere
from psidag.search._chance cimport random_order, reverse_at_random
from psidag.search._check cimport broken_invariant
from psidag.search._journal cimport close_journal, open_journal
from psidag.search._knowledge cimport Knowledge
from psidag.search._listed cimport Lists, additions_listed
from psidag.search._look cimport looking, take_found
from psidag.search._memory cimport Bag, push, zeros
from psidag.search._opening cimport Trials, close_trials, open_around, open_trials
from psidag.search._pairs cimport Pairs, change_pair, close_pairs, open_pairs
from psidag.search._record cimport dump_fits, dump_nodes, inverse_entries, restore_fits, restore_nodes
from psidag.search._regression cimport FEW, WIDE, Regression, clear, copy, find, release
from psidag.search._state cimport State, dequeue, enqueue, move_before, queue_touched, reselect, set_parents
from psidag.search._walk cimport sweep


cdef class Network:
    """A DAG with an order and the regression of every node, to be searched in place."""

    cdef State s
    cdef Knowledge knowledge

    def __cinit__(self, Py_ssize_t d, *_):
        memset(&self.s, 0, sizeof(State))
        self.s.d = d

    def __init__(self, Py_ssize_t d, const int32_t[::1] order, const double[::1] variance, Knowledge knowledge):
        cdef State* s = &self.s
        cdef Py_ssize_t j
        self.knowledge = knowledge
        s.rules = knowledge.rules
        s.sigma2 = <double*> zeros(2 * d, sizeof(double))
        s.floor = s.sigma2 + d
        s.fits = <Regression*> zeros(d, sizeof(Regression))
        s.children = <Bag*> zeros(d, sizeof(Bag))
        s.order = <int32_t*> zeros(4 * d, sizeof(int32_t))
        s.place = s.order + d
        s.queue = s.order + 2 * d
        s.paired = s.order + 3 * d
        s.queued = <uint8_t*> zeros(3 * d, 1)
        s.marks = s.queued + d
        s.stale = s.queued + 2 * d
        open_journal(&s.journal, d)
        s.scratch = <double*> zeros(WIDE * d, sizeof(double))
        for j in range(d):
            s.order[j] = order[j]
            s.place[order[j]] = <int32_t> j
            clear(s.fits + j, variance[j])

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
        close_journal(&s.journal)
        free(s.candidates.items)
        free(s.aside.items)
        free(s.touched.items)
        free(s.left.parents.items)
        free(s.left.others.items)
        free(s.right.parents.items)
        free(s.right.others.items)
        free(s.sigma2)
        free(s.fits)
        free(s.children)
        free(s.order)
        free(s.queued)
        free(s.scratch)

    @property
    def waiting(self):
        """How many nodes are queued."""
        return self.s.waiting

    @property
    def counters(self):
        """Sweeps, nodes passed in them, moves, and work: about the multiplications that all of it took."""
        return self.s.sweeps, self.s.visits, self.s.moves, self.s.work

    def configure(self, double n, double penalty, const double[::1] sigma2, const double[::1] floor, Py_ssize_t max_parents,
                  double leeway, Py_ssize_t max_additions, double gain, bint neutral):
        """Set the score and how far a sweep goes; `gain` is the least that counts, `neutral` moves make none."""
        cdef Py_ssize_t j
        self.s.score = make_score(n, penalty)
        self.s.limits.max_parents = max_parents
        self.s.limits.max_additions = max_additions
        self.s.leeway = leeway
        self.s.gain = gain
        self.s.tolerance = -gain if neutral else gain
        for j in range(self.s.d):
            self.s.sigma2[j] = sigma2[j]
            self.s.floor[j] = floor[j]

    def set_stale(self):
        """Look for additions to all nodes next time."""
        memset(self.s.stale, 1, self.s.d)

    def looked(self):
        """Additions to stale nodes have been looked for: next time look at those whose parents change from now on."""
        cdef Py_ssize_t j
        for j in range(self.s.d):
            if self.s.stale[j]:
                self.s.work += looking(&self.s, j)
        memset(self.s.stale, 0, self.s.d)

    def stale_hubs(self, int64_t[::1] nodes, double[::1] least):
        """Fill the stale nodes that are hubs to ``additions_among``, and what a parent must take off the variance of each.

        Returns how many there are.
        """
        cdef Py_ssize_t j, count = 0
        cdef Regression* fit
        for j in range(self.s.d):
            fit = self.s.fits + j
            if self.s.stale[j] and FEW < fit.k < self.s.limits.max_parents:
                nodes[count] = j
                least[count] = least_gain(&self.s.score, self.s.sigma2[j], fit.v)
                count += 1
        return count

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
        """Fill all that the search depends on; `psidag.engines.network_state` says what is where."""
        dump_nodes(&self.s, order, nodes, levels, queue, numbers, counts)
        dump_fits(&self.s, parents, children, weights, inverses)

    def restore(
        self, const int32_t[:, ::1] nodes, const int32_t[::1] parents, const int32_t[::1] children,
        const double[:, ::1] levels, const double[::1] weights, const double[::1] inverses, const int32_t[::1] queue,
        const double[::1] numbers, const int64_t[::1] counts,
    ):
        """Become what was dumped, on a new network of the same order. The caller has checked every index."""
        restore_nodes(&self.s, nodes, levels, queue, numbers, counts)
        restore_fits(&self.s, nodes, parents, children, weights, inverses)

    def check(self, Entries S):
        """Raise AssertionError if an invariant of the search does not hold (psidag.search names them)."""
        cdef const char* broken = broken_invariant(&S.matrix, &self.s)
        if broken != NULL:
            raise AssertionError(broken.decode())


def additions(Entries S, Network net, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] start,
              int32_t[::1] found, int32_t[::1] counts, double[::1] gains):
    """For stale nodes of first … last - 1 find new parents that pay and are no descendants, wherever they stand.

    The best ``start[j + 1] - start[j]`` of them for node j, by what each alone would gain, are written from
    ``found[start[j]]`` on with their gains; counts[j] is their number. The network is only read. The matrix must be
    held whole.
    """
    cdef Matrix* base = &S.matrix
    with nogil:
        if base.single != NULL:
            additions_everywhere(base, base.single, &net.s, first, last, start, found, counts, gains)
        else:
            additions_everywhere(base, base.precise, &net.s, first, last, start, found, counts, gains)


def additions_among(Entries S, Network net, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] near_start,
                    const int32_t[::1] near, const int64_t[::1] start, int32_t[::1] found, int32_t[::1] counts,
                    double[::1] gains, const int64_t[::1] hub_start=None, const int32_t[::1] hub_near=None):
    """As ``additions``, where only ``near[near_start[i]:near_start[i + 1]]`` for j and its parents i are candidates.

    For hubs, if lists of their own are given, those on them take the place of those for the parents. The matrix must not
    be held.
    """
    cdef Matrix base = S.matrix
    cdef Lists lists, hubs
    lists.start, lists.items, hubs.start, hubs.items = &near_start[0], &near[0], NULL, NULL
    if hub_start is not None:
        hubs.start, hubs.items = &hub_start[0], &hub_near[0]
    # Several threads may be here: none of them writes to the cache.
    base.cache = NULL
    with nogil:
        additions_listed(&base, &net.s, first, last, &lists, &hubs, start, found, counts, gains)


def select_among(Entries S, Network net, const int64_t[::1] near_start, const int32_t[::1] near):
    """Select parents of every node from ``near[near_start[j]:near_start[j + 1]]``, those before it in the order, in place.

    Forward-backward, from the parents it has.
    """
    cdef State* s = &net.s
    cdef Py_ssize_t t, a
    cdef int32_t j
    s.touched.size = 0
    with nogil:
        for t in range(s.d):
            j = s.order[t]
            s.candidates.size = 0
            for a in range(near_start[j], near_start[j + 1]):
                if s.place[near[a]] < t:
                    push(&s.candidates, near[a])
            copy(&s.me, s.fits + j)
            reselect(&S.matrix, s, j, &s.me, s.candidates.items, s.candidates.size)
            set_parents(&S.matrix, s, j, s.me.parents, s.me.k)
        queue_touched(s)


def apply_additions(Entries S, Network net, const int32_t[::1] nodes, const int64_t[::1] start,
                    const int32_t[::1] found, const int32_t[::1] counts):
    """Give the nodes the parents found for them where no cycle comes of it, in place; returns how many gained."""
    cdef State* s = &net.s
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t a, gained = 0
    s.touched.size = 0
    with nogil:
        for a in range(nodes.shape[0]):
            gained += take_found(base, s, nodes[a], &found[start[nodes[a]]], counts[nodes[a]])
        queue_touched(s)
    return gained


def change_pairs(Entries S, Network net, const int32_t[::1] nodes, int64_t most, bint again):
    """Change two edges into a node at once where that pays, and one alone does not, in place; returns how many gained.

    One node after the other is looked at until that has taken `most` work, which is not counted: how long a search took
    says whether it may be stuck, and this does not. Those that have the parents of the last look are passed over unless
    they are to be looked at `again`. The matrix must be held whole.
    """
    cdef State* s = &net.s
    cdef Pairs pairs
    cdef Py_ssize_t a, gained = 0
    cdef int64_t before = s.work
    s.touched.size = 0
    try:
        with nogil:
            open_pairs(&pairs, s.d)
            for a in range(nodes.shape[0]):
                if s.work - before > most:
                    break
                gained += change_pair(&S.matrix, s, &pairs, nodes[a], again)
            queue_touched(s)
            s.work = before
    finally:
        close_pairs(&pairs)
    return gained


def resample(Entries S, Network net, uint64_t seed):
    """Go to a random DAG of the same equivalence class, in a random order of it, and queue all nodes.

    Covered edges are visited in random sequence and turned round with probability one half.
    """
    cdef State* s = &net.s
    cdef uint64_t state = seed
    cdef Py_ssize_t t
    with nogil:
        s.touched.size = 0
        reverse_at_random(&S.matrix, s, &s.left.others, &state)
        random_order(s, &state)
        for t in range(s.d):
            enqueue(s, s.order[t])


def write(Entries S, Network net, const int32_t[::1] nodes, const int32_t[::1] start,
          const int32_t[::1] parents, bint lock=False):
    """Give the nodes the parents ``parents[start[a]:start[a + 1]]`` one after the other, in place, and queue who is near.

    The order makes way where it must; a parent that would close a cycle is left out.
    """
    cdef State* s = &net.s
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t a, h
    cdef int32_t i, j
    s.touched.size = 0
    with nogil:
        for a in range(nodes.shape[0]):
            j = nodes[a]
            # First what stays: parents that leave must not stand in the way of those that come.
            s.candidates.size = 0
            for h in range(start[a], start[a + 1]):
                if find(s.fits + j, parents[h]) >= 0:
                    push(&s.candidates, parents[h])
            set_parents(base, s, j, s.candidates.items, s.candidates.size)
            for h in range(start[a], start[a + 1]):
                i = parents[h]
                if find(s.fits + j, i) < 0 and move_before(s, i, j):
                    push(&s.candidates, i)
            set_parents(base, s, j, s.candidates.items, s.candidates.size)
            if lock:
                s.fits[j].locked = s.fits[j].k
        queue_touched(s)


def drain(Entries S, Network net, Py_ssize_t sweeps):
    """Sweep up to this many queued nodes, in place; returns how many of the sweeps gained."""
    cdef State* s = &net.s
    cdef Py_ssize_t gains = 0, a
    with nogil:
        for a in range(sweeps):
            if s.waiting == 0:
                break
            gains += sweep(&S.matrix, s, dequeue(s))
    return gains


def open_neighbourhoods(Entries S, Network net, const int32_t[::1] centres, Py_ssize_t neighbours, uint64_t seed,
                        double near_miss, int64_t most, int64_t in_all, const int64_t[::1] near_start,
                        const int32_t[::1] near, double[::1] changes):
    """Open the neighbourhoods of these nodes, one after the other, in place, and keep those of which a lower score comes.

    A neighbourhood is a node with up to `neighbours` of its neighbours, at random. What the score of each trial was,
    relative to that before it, is in `changes`, kept or not; it is infinite where a trial was given up after `most` work,
    and not a number where none was made, because those before it had taken `in_all`.
    Returns pairs of nodes, tail after head, that trials which ended within `near_miss` of the score have otherwise.
    Nothing may be queued or stale. The lists are for where no matrix is held.
    """
    cdef State* s = &net.s
    cdef Trials trials
    cdef uint64_t state = seed
    cdef Py_ssize_t a
    in_all += s.work
    try:
        with nogil:
            open_trials(&S.matrix, s, &trials)
            for a in range(centres.shape[0]):
                changes[a] = NAN if s.work > in_all else open_around(
                    &S.matrix, s, &trials, centres[a], neighbours, &state, near_miss, most, near_start, near
                )
        return [trials.contested.items[a] for a in range(trials.contested.size)]
    finally:
        close_trials(&trials)
