-- Where are the migrations recorded that were applied?
CREATE TABLE IF NOT EXISTS schema_migrations {on_cluster} (
    version    UInt32,
    name       String,
    checksum   String,
    applied_at DateTime('UTC') DEFAULT now()
) ENGINE = {engine:ReplacingMergeTree} ORDER BY (version, checksum)
