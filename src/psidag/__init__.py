"""Learn directed acyclic graphs from data."""
