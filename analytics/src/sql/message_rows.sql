-- How many rows have the messages of each of these campaigns? At least as many as there are messages: a bound on the work of
-- reading them.
SELECT campaign_id, count() AS rows
FROM message_outcomes
WHERE workspace_id = {workspace:UUID}
    AND campaign_id IN {campaigns:Array(UUID)}
GROUP BY campaign_id
