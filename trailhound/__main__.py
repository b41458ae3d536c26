"""`python -m trailhound` is the command line, also where no console script is installed."""

from trailhound.cli import main

main()
