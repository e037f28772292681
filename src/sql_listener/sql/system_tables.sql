CREATE OR REPLACE VIEW $views_system$.tables $on_cluster$
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    'millrace' AS database,
    name,
    reinterpret(MD5(name), 'UUID') AS uuid,
    'View' AS engine,
    toUInt8(0) AS is_temporary,
    CAST([], 'Array(String)') AS data_paths,
    '' AS metadata_path,
    metadata_modification_time,
    CAST([], 'Array(String)') AS dependencies_database,
    CAST([], 'Array(String)') AS dependencies_table,
    '' AS create_table_query,
    'View' AS engine_full,
    '' AS as_select,
    '' AS partition_key,
    '' AS sorting_key,
    '' AS primary_key,
    '' AS sampling_key,
    '' AS storage_policy,
    CAST(NULL, 'Nullable(UInt64)') AS total_rows,
    CAST(NULL, 'Nullable(UInt64)') AS total_bytes,
    CAST(NULL, 'Nullable(UInt64)') AS lifetime_rows,
    CAST(NULL, 'Nullable(UInt64)') AS lifetime_bytes,
    comment,
    toUInt8(0) AS has_own_data
FROM system.tables AS t
WHERE t.database = $views_text$
