"""``python -m psidag`` is the command line."""

from psidag.cli import main

main()
