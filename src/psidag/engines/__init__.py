"""An engine is a named choice of moves: ``Stochastic`` is the paper's, ``Sparse`` the fast one."""
