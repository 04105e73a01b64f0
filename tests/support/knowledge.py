"""Prior knowledge, drawn at random."""

import numpy as np
from hypothesis import strategies as st

from psidag import Constraints
from psidag.graph.order import positions


@st.composite
def knowledge(draw, d=6):
    """Constraints that some DAG satisfies: required edges and tiers follow a hidden order."""
    hidden = draw(st.permutations(range(d)))
    place = positions(np.array(hidden))
    pairs = [(i, j) for i in range(d) for j in range(d) if i != j]
    required = draw(st.lists(st.sampled_from([e for e in pairs if place[e[0]] < place[e[1]]]), max_size=4))
    forbidden = draw(st.lists(st.sampled_from([e for e in pairs if e not in required]), max_size=4))
    cut = draw(st.integers(0, d))
    members = draw(st.sets(st.integers(0, d - 1)))
    tiers = [[v for v in hidden[:cut] if v in members], [v for v in hidden[cut:] if v in members]]
    return Constraints(required, forbidden, tiers)
