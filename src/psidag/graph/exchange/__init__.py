"""Graphs in other people's hands: file formats and the objects of other libraries, one small file each."""

from psidag.graph.exchange.files import FORMATS, format_graph, format_of, parse_graph, read_graph, write_graph

__all__ = ["FORMATS", "format_graph", "format_of", "parse_graph", "read_graph", "write_graph"]
