"""The learned graph: the DAG, the partially directed graph with its reasons, orders, prior knowledge and metrics."""
