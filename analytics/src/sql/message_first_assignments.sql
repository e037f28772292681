-- To which variants were these people assigned, and when first?
SELECT
    user_id,
    groupUniqArray(toUInt8(place)) AS variants,
    min(if(queued_at < never, queued_at, decided_at)) AS assigned_ms
FROM ($outcomes$)
WHERE class <= 5 AND place != 0
GROUP BY user_id
