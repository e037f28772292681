-- Merges and mutations of parts that run on this server.
SELECT count() FROM system.merges WHERE database = currentDatabase()
