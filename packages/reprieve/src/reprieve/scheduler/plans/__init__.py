"""The plans that are being carried out: their life as one table, their victims, their records, their past."""
