CREATE OR REPLACE VIEW $views_system$.databases $on_cluster$
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    'millrace' AS name,
    'Atomic' AS engine,
    '' AS data_path,
    '' AS metadata_path,
    toUUID('00000000-0000-0000-0000-000000000000') AS uuid,
    'Atomic' AS engine_full,
    'The workspace of the key' AS comment,
    toUInt8(0) AS is_external
