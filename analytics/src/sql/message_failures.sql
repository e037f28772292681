-- Why did messages of a campaign not arrive? By code, with the words that came with it most often.
-- What was skipped is here only where there was nowhere to send to. A bounce says more than the failure
-- it may have come with, so a message that has both is counted under the bounce.
SELECT code, argMax(reason, (messages, reason)) AS words, sum(messages) AS count
FROM (
    SELECT code, reason, count() AS messages
    FROM (
        SELECT message_id, argMin(toString(event.code), event.type) AS code, argMin(event.reason, event.type) AS reason
        FROM message_events AS event FINAL
        WHERE workspace_id = {workspace:UUID}
            AND campaign_id = {campaign:UUID}
            AND (event.type IN ('bounced', 'failed') OR event.type = 'skipped' AND event.code IN {skips:Array(String)})
            AND NOT is_test
            AND message_id IN (
                SELECT message_id FROM ($outcomes$) WHERE class IN (3, 4) OR is_bounced AND NOT is_opened
            )
        GROUP BY message_id
    )
    GROUP BY code, reason
)
GROUP BY code
ORDER BY count DESC, code
LIMIT {codes_max:UInt64}
