-- In how many parts do the messages of a campaign lie? As the index says, so that nothing is read for it.
SELECT sum(parts) AS parts
FROM (
    EXPLAIN ESTIMATE
    SELECT happened
    FROM message_outcomes
    WHERE workspace_id = {workspace:UUID}
        AND campaign_id = {campaign:UUID}
)
