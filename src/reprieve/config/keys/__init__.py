"""Which configuration keys are there, and what does each choose? A module for each part of the document."""
