"""How things get onto the disk whole or not at all, and back from it without being trusted."""
