"""What a graph costs, node by node: the equal and the unequal score, and the protocol for others."""
