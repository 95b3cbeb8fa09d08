"""Pictures and movies of fields and records."""
