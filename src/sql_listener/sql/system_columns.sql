CREATE OR REPLACE VIEW $views_system$.columns $on_cluster$
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    'millrace' AS database,
    table,
    name,
    type,
    position,
    '' AS default_kind,
    '' AS default_expression,
    toUInt64(0) AS data_compressed_bytes,
    toUInt64(0) AS data_uncompressed_bytes,
    toUInt64(0) AS marks_bytes,
    comment,
    toUInt8(0) AS is_in_partition_key,
    toUInt8(0) AS is_in_sorting_key,
    toUInt8(0) AS is_in_primary_key,
    toUInt8(0) AS is_in_sampling_key,
    '' AS compression_codec,
    character_octet_length,
    numeric_precision,
    numeric_precision_radix,
    numeric_scale,
    datetime_precision
FROM system.columns AS t
WHERE t.database = $views_text$
