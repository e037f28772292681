-- In how many parts do the messages of a campaign lie?
SELECT uniqExact(_part) AS parts
FROM message_outcomes
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
