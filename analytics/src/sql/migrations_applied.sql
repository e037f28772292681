-- Which migrations were applied, and what was their text?
SELECT version, name, checksum FROM schema_migrations FINAL ORDER BY version, checksum
