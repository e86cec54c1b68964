"""Figures: one file each, ``plot_x(trace, ...) -> go.Figure``, pure functions of a Trace.

Each file has a data function, which is tested, and a drawing function. Colours come from theme.py.
"""
