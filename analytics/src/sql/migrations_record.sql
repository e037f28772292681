-- This migration was applied.
INSERT INTO schema_migrations (version, name, checksum)
SELECT {version:UInt32}, {name:String}, {checksum:String}
