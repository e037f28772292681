-- Which links of a campaign were clicked, how often and by how many, and by variant? Most clicked first.
SELECT
    url,
    max(label) AS label,
    sum(clicks) AS total,
    sum(clickers) AS unique,
    min(first_ms) AS first_clicked_ms,
    max(last_ms) AS last_clicked_ms,
    groupArray((place, clicks, clickers)) AS variants
FROM (
    SELECT
        url,
        toUInt8(place) AS place,
        max(label) AS label,
        uniqExact(message_id, event_id) AS clicks,
        uniqExact(message_id) AS clickers,
        min(toUnixTimestamp64Milli(timestamp)) AS first_ms,
        max(toUnixTimestamp64Milli(timestamp)) AS last_ms
    FROM (SELECT message_id, place FROM ($outcomes$) WHERE is_clicked) AS clicked
    INNER JOIN (
        SELECT
            message_id,
            event_id,
            -- As it was written: without what a message adds so that the target knows where visits come from.
            -- A fragment is the target's own.
            concat(
                replaceRegexpOne(
                    cutURLParameter(
                        cutFragment(target),
                        ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content']
                    ),
                    '[?&]+$',
                    ''
                ),
                if(position(target, '#') = 0, '', substring(target, position(target, '#')))
            ) AS url,
            label,
            timestamp,
            -- So many clicks, so few targets: each is cleaned once.
            toLowCardinality(message_events.url) AS target
        FROM message_events
        WHERE workspace_id = {workspace:UUID}
            AND campaign_id = {campaign:UUID}
            AND type = 'clicked'
            AND url != ''
            AND NOT is_bot
            AND NOT is_test
    ) AS clicks USING (message_id)
    GROUP BY url, place
)
GROUP BY url
ORDER BY unique DESC, total DESC, url
LIMIT {links_max:UInt64}
