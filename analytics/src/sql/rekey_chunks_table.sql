-- Days of events that a migration has copied, and how far the table's partition went when it began: parts with a
-- later block may hold rows that were not copied.
CREATE TABLE IF NOT EXISTS schema_migration_chunks {on_cluster} (
    version      UInt32,
    day          Date,
    partition_id String,
    blocks       Int64,
    done_at      DateTime DEFAULT now()
) ENGINE = {engine:MergeTree}
ORDER BY (version, day)
