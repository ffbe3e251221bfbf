"""The rules between the folders, and the prose, held against the code."""
