"""Which demand is next, which ones wait, for how long and for what, and which refusals are remembered."""
