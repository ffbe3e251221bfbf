"""Studies: a trace of jobs is played under several policies, and what came of it is compared."""
