CREATE OR REPLACE VIEW $views_system$.table_functions $on_cluster$
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    arrayJoin([$table_functions$]) AS name,
    '' AS description,
    toUInt8(1) AS allow_readonly
