"""Small worlds in which one thing is to be seen."""
