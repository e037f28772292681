-- Which times was an in-app message of a campaign shown, the newest first, and what was done with it then?
-- A click or a closing belongs to the latest showing to that person before it.
WITH page AS (
    SELECT
        user_id,
        event_id,
        argMin(timestamp, seq) AS shown_at,
        argMin(variant_id, seq) AS variant,
        argMin(platform, seq) AS on_platform,
        argMin(app_id, seq) AS in_app
    FROM message_events
    WHERE workspace_id = {workspace:UUID}
        AND campaign_id = {campaign:UUID}
        AND type = 'impression'
        AND channel = 'in_app'
        AND NOT is_test
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    GROUP BY user_id, event_id
    ORDER BY shown_at DESC, user_id, event_id
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
done AS (
    SELECT
        who,
        shown_id,
        countIf(what = 'clicked') AS clicks,
        argMinIf(button, done_at, what = 'clicked') AS first_button,
        minIf(toUnixTimestamp64Milli(done_at), what = 'dismissed') AS dismissed_at_ms
    FROM (
        SELECT a.who AS who, a.what AS what, a.done_at AS done_at, a.button AS button, s.shown_id AS shown_id
        FROM (
            SELECT user_id AS who, type AS what, timestamp AS done_at, button_id AS button
            FROM message_events
            WHERE workspace_id = {workspace:UUID}
                AND campaign_id = {campaign:UUID}
                AND type IN ('clicked', 'dismissed')
                AND NOT is_test
                AND user_id IN (SELECT user_id FROM page)
        ) AS a
        ASOF INNER JOIN (
            SELECT user_id AS who, event_id AS shown_id, timestamp AS shown_at
            FROM message_events
            WHERE workspace_id = {workspace:UUID}
                AND campaign_id = {campaign:UUID}
                AND type = 'impression'
                AND NOT is_test
                AND user_id IN (SELECT user_id FROM page)
        ) AS s ON a.who = s.who AND a.done_at >= s.shown_at
    )
    GROUP BY who, shown_id
)
SELECT
    page.event_id AS id,
    page.user_id AS user,
    page.variant AS variant,
    page.on_platform AS platform,
    page.in_app AS app,
    toUnixTimestamp64Milli(page.shown_at) AS shown_ms,
    done.clicks AS clicks,
    done.first_button AS button,
    done.dismissed_at_ms AS dismissed_ms
FROM page
LEFT JOIN done ON page.user_id = done.who AND page.event_id = done.shown_id
ORDER BY shown_ms DESC, user, id
