"""The learned graph: the DAG with its names and order, prior knowledge, edge selection and metrics."""
