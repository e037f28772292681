-- How many people are in a campaign? Hashes of 64 bits take half the time of their ids: that two of a million are
-- alike has a chance of 1 in 30 million.
SELECT uniqExact(cityHash64(user_id)) AS total
FROM message_outcomes
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
