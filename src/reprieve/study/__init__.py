"""Studies: a trace of jobs is played in virtual time under several policies, and the outcomes are compared."""
