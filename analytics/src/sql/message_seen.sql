-- Which messages were opened or clicked in, when, and when did they leave? Part of other questions.
--
-- As `message_final.sql` has it, for messages of any time: what was opened was sent, and left when the first of what
-- came of it was reported. Grouping by message costs a third of putting whole rows of several parts together.
SELECT
    outcomes.message_id AS message_id,
    indexOf(arrayMap(id -> cityHash64(id), {variants:Array(String)}), max(outcomes.variant)) AS place,
    toInt64(9223372036854775807) AS never,
    min(least(outcomes.sent_at, outcomes.delivered_at, outcomes.opened_at, outcomes.clicked_at)) AS left_at,
    min(least(outcomes.opened_at, outcomes.clicked_at)) AS seen_at,
    min(outcomes.clicked_at) AS clicked_at,
    seen_at < never AS is_opened,
    clicked_at < never AS is_clicked
FROM message_outcomes AS outcomes
WHERE outcomes.workspace_id = {workspace:UUID}
    AND outcomes.campaign_id = {campaign:UUID}
GROUP BY outcomes.message_id
HAVING is_opened
