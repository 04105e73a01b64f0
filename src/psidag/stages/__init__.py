"""The three moves of the framework: A1 without constraint, ψ to an order, A2 within it; and their step rules."""
