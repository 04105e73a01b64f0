"""Graphs in other people's hands: file formats and the objects of other libraries, one small file each."""

from psidag.exchange.files import (
    FORMATS,
    format_graph,
    format_of,
    parse_graph,
    read_graph,
    write_graph,
)
from psidag.exchange.libraries import (
    from_causal_learn,
    from_lingam,
    from_networkx,
    from_pandas,
    from_pgmpy,
    to_causal_learn,
    to_dowhy,
    to_lingam,
    to_networkx,
    to_pandas,
    to_pgmpy,
    to_pgmpy_pdag,
)

__all__ = [
    "FORMATS",
    "format_graph",
    "format_of",
    "from_causal_learn",
    "from_lingam",
    "from_networkx",
    "from_pandas",
    "from_pgmpy",
    "parse_graph",
    "read_graph",
    "to_causal_learn",
    "to_dowhy",
    "to_lingam",
    "to_networkx",
    "to_pandas",
    "to_pgmpy",
    "to_pgmpy_pdag",
    "write_graph",
]
