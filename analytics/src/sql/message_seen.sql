-- Which messages were opened or clicked in, when, and when did they leave? Part of other questions.
--
-- As `message_judged.sql` has it, for messages of any time: what was opened was sent, and left when the first of what
-- came of it was told. Grouping by message costs a third of putting whole rows of several parts together.
SELECT
    told.message_id AS message_id,
    indexOf(arrayMap(id -> cityHash64(id), {variants:Array(String)}), max(told.variant)) AS place,
    toInt64(9223372036854775807) AS never,
    min(least(told.sent_at, told.delivered_at, told.opened_at, told.clicked_at)) AS left_at,
    min(least(told.opened_at, told.clicked_at)) AS seen_at,
    min(told.clicked_at) AS clicked_at,
    seen_at < never AS is_opened,
    clicked_at < never AS is_clicked
FROM message_outcomes AS told
WHERE told.workspace_id = {workspace:UUID}
    AND told.campaign_id = {campaign:UUID}
GROUP BY told.message_id
HAVING is_opened
