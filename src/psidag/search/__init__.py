"""The compiled search: a DAG with an order and a regression for every node, changed in place by small moves.

What a reader should know before changing a line.

**Files.** ``_memory`` (lists that grow), ``_knowledge`` (prior knowledge), ``_regression`` (one node on its parents,
O(k²) a change), ``_exact`` (the same where updates lose digits), ``_selection`` (the one forward-backward
selection), ``_state`` (what is held; its smallest changes), ``_walk`` (re-insertion), ``_additions`` (new parents
from anywhere), ``_listed`` (from lists, where no matrix is held), ``_look`` (additions to one node after the other),
``_pairs`` (two edges at once), ``_chance`` (random members of a class), ``_journal`` and ``_opening`` (restarts of a
neighbourhood), ``_record`` (to arrays and back), ``_check`` (the invariants). Python sees ``_network`` (the search),
``_grow`` (a first order), ``_select`` (selection within an order). What a node costs is in
``psidag/scores/_score.pxd`` and nowhere else.

**Invariants,** true between any two calls from Python; ``Network.check`` tests them:

1. ``order`` and ``place`` are inverse: ``place[order[t]] == t``. Every parent stands before its child. Tiers and
   required edges are in order.
2. Parents and children mirror each other: i is once in ``fits[j].parents`` if and only if j is once in
   ``children[i]``. The sequence within either list means nothing, but is kept: the same moves give the same bits.
3. For node j with parents P: M = (S_PP)⁻¹, b = M S_Pj, v = S_jj − bᵀS_Pj. The first ``locked`` parents are
   required. Where it is ``delicate``, RᵀR = S_PP with R upper triangular.
4. The queue is a ring of ``waiting`` different nodes from ``head`` on, and ``queued`` marks just these.
5. ``marks`` are all 0.
6. A node whose parents have changed is ``stale`` until additions to it have been looked for.
7. The journal's ``noted`` are all 0, and no trial is under way.

**Indices.** By node: ``fits``, ``children``, ``place``, ``sigma2``, ``floor``, ``queued``, ``stale``, all prior
knowledge. By place: ``order``, ``marks``. ``find`` gives a number among the parents of one node.

**Who changes what.** Edges change in ``set_parents`` alone (and ``restore_fits``), the order in ``shift``,
``bring_forward`` and ``random_order`` alone. Walks and additions try things out on ``me`` and ``other`` and leave the
DAG as it is until ``make`` or ``set_parents``.

**Trials.** While the journal is on, ``set_parents`` notes each node before it changes it; a trial that is not kept
swaps the notes back and restores the order: nothing else may change edges, or they would not come back.

**Scratch.** ``scratch`` (WIDE · d numbers) belongs to the function on regressions that is running; nothing in it
outlives a call, but for what ``add`` says. ``stays_without`` keeps weights in its second d and a row in its third.
``me`` and ``other`` belong to the move under way, ``candidates`` to whoever calls ``reselect``, ``aside`` to
``bring_forward`` and ``random_order``, ``left`` and ``right`` to ``sweep``, ``touched`` to the entry point, which
empties it and may queue what is in it at its end.

**Errors.** What can run out of memory is ``except -1`` and needs no check by its caller; all else is ``noexcept``.
After a MemoryError a network may be between two invariants: it is thrown away.

**Numbers.** Sums are in double, whatever S is held in, but for whole rows of a float32 matrix in ``_additions``. What
is left of a variance is collinear by ``is_rounding``, and by nothing else. A parent comes in if it pays by
``least_gain``, and leaves by ``least_loss``; a move is a gain if the score falls by more than ``gain``.
"""
