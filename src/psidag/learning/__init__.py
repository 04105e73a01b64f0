"""From data to a solution: an engine is chosen and run, edges are selected; once, on draws of rows, on a stream."""
