-- How many people are in a campaign? As numbers their ids take half the time.
SELECT uniqExact(reinterpretAsUInt128(user_id)) AS total
FROM message_outcomes
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
