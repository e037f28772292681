-- How many people were assigned to each variant first, by the weights then in force?
SELECT
    toUInt8(first_place) AS variant,
    toUInt32(arrayCount(start -> start <= assigned_at, {epochs:Array(Int64)})) AS epoch,
    count() AS people
FROM (
    SELECT
        argMin(place, (occurrence, assigned)) AS first_place,
        min(assigned) AS assigned_at
    FROM (
        SELECT user_id, place, occurrence, if(queued_at < never, queued_at, decided_at) AS assigned
        FROM ($outcomes$)
        WHERE place != 0
    )
    GROUP BY user_id
)
GROUP BY variant, epoch
ORDER BY epoch, variant
