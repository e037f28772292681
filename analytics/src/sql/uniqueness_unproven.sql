-- Which months of `events` (0: `orders`) have rows that their writer did not compare with others, newer than those
-- that were collapsed?
WITH rows AS (
    SELECT
        arrayJoin(if(event_name = 'Order Completed', [toYYYYMM(day), 0], [toYYYYMM(day)])) AS month,
        max(seq) AS newest
    FROM events
    WHERE NOT is_unique
    GROUP BY month
)
SELECT toUInt32(rows.month) AS month, proof.proven AS newest
FROM rows
LEFT JOIN (
    SELECT
        month,
        max(generation) AS proven,
        argMax(through_seq, (generation, is_unique)) AS through
    FROM uniqueness
    GROUP BY month
) AS proof ON proof.month = toUInt32(rows.month)
WHERE rows.newest > proof.through
ORDER BY month
