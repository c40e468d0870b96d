"""What stands above every generated page."""

HEAD = "<!-- Made by `python -m scripts.reference` from the sources; do not edit. -->\n"
