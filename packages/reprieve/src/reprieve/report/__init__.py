"""Output for people and programs: decisions and tables, as text and as JSON."""
