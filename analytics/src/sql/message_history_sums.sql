-- How do a variant's opens or clicks vary together with those of the messages that the same people got from other campaigns
-- before they were assigned? Sums over people: Y their opens or clicks, M their messages, X the share that they opened
-- before, if they had messages then. What happened after they were assigned is in no X.
SELECT
    toUInt8(place) AS variant,
    toUInt8(is_known) AS known,
    count() AS people,
    sum(x) AS sum_x,
    toFloat64(sum(y)) AS sum_y,
    toFloat64(sum(m)) AS sum_m,
    sum(x * x) AS sum_xx,
    toFloat64(sum(y * y)) AS sum_yy,
    toFloat64(sum(m * m)) AS sum_mm,
    sum(x * y) AS sum_xy,
    sum(x * m) AS sum_xm,
    toFloat64(sum(y * m)) AS sum_ym
FROM (
    SELECT
        place,
        arraySum(it -> if(it.1 = place, it.2, 0), messages) AS m,
        arraySum(it -> if(it.1 = place, it.3, 0), messages) AS y,
        notEmpty(before) AS is_known,
        if(is_known, arrayCount(it -> it.2 < assigned_at, before) / length(before), 0) AS x
    FROM (
        SELECT
            messages,
            assigned_at,
            arrayDistinct(messages.1) AS places,
            arrayFilter(it -> it.1 < assigned_at AND it.1 >= assigned_at - {history_ms:Int64}, history) AS before
        FROM (
            SELECT
                user_id,
                min(assigned) AS assigned_at,
                groupArray((place, is_reached, is_success)) AS messages
            FROM (
                SELECT
                    user_id,
                    place,
                    if(queued_at < never, queued_at, decided_at) AS assigned,
                    class = 2 AND (is_opened OR NOT is_bounced) AS is_reached,
                    if({clicks:Bool}, is_clicked, is_opened) AS is_success
                FROM ($outcomes$)
                WHERE place != 0
            )
            GROUP BY user_id
        ) AS own
        LEFT JOIN (
            SELECT user_id, groupArray((left_at, done_at)) AS history
            FROM (
                SELECT
                    any(earlier.user_id) AS user_id,
                    min(least(earlier.sent_at, earlier.delivered_at, earlier.opened_at, earlier.clicked_at)) AS left_at,
                    min(if({clicks:Bool}, earlier.clicked_at, least(earlier.opened_at, earlier.clicked_at))) AS done_at
                FROM message_outcomes AS earlier
                WHERE earlier.workspace_id = {workspace:UUID}
                    AND earlier.campaign_id IN {history:Array(UUID)}
                GROUP BY earlier.message_id
                HAVING left_at < 9223372036854775807
            )
            GROUP BY user_id
        ) AS earlier USING (user_id)
    )
    ARRAY JOIN places AS place
)
WHERE m > 0
GROUP BY variant, known
ORDER BY variant, known
