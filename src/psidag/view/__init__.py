"""Pictures of a solution: the report, one HTML file that opens anywhere, and static plots with matplotlib."""

from psidag.view.plots import plot_confidence, plot_degrees, plot_matrix, plot_trace, plot_weights
from psidag.view.plots_graph import plot_comparison, plot_graph
from psidag.view.plots_shifts import plot_shifts
from psidag.view.report import report_html, write_report

__all__ = [
    "plot_comparison",
    "plot_confidence",
    "plot_degrees",
    "plot_graph",
    "plot_matrix",
    "plot_shifts",
    "plot_trace",
    "plot_weights",
    "report_html",
    "write_report",
]
