"""Formulas as MathML, which browsers draw by themselves: the site needs no script and no network for them."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{tex2mathml(node.astext())}</span>')
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    number = ""
    if node["number"]:
        number = f'<span class="eqno">({get_node_equation_number(self, node)})</span>'
    identifier = f' id="{node["ids"][0]}"' if node["ids"] else ""
    self.body.append(f'<div class="math"{identifier}>{tex2mathml(node.astext(), as_block=True)}{number}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
