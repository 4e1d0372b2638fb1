"""Tiercel's sidecar: from a keystroke to ghost text, on the user's own machine."""

__version__ = "0.1.0"
