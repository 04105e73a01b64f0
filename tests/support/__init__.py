"""What several tests share: awkward tables, random graphs, solutions, runs that are killed."""
