"""The tests of Reprieve."""
