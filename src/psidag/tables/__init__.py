"""A table as its owner has it: what is in it, and what to beware of."""
