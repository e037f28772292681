-- Settings: those that a statement may change have readonly = 0, whatever the session says.
CREATE OR REPLACE VIEW $views_system$.settings $on_cluster$
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    name,
    value,
    changed,
    description,
    $least$ AS min,
    $most$ AS max,
    toUInt8(name NOT IN ($changeable$)) AS readonly,
    type,
    default
FROM system.settings
WHERE name != 'log_comment'
