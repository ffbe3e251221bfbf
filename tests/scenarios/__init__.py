"""Small worlds in which one thing is to be seen.

A file is a scenario, one demand at one moment, or a story with ``steps``: what happens to the whole scheduler
over time, and what can be seen after each step. The records in ``reading`` say what can be written.
"""
