-- Which deleted people got messages of these campaigns? By the profile that stays of those merged.
SELECT DISTINCT if(same.survivor = toFixedString('', 12), reached.user_id, same.survivor) AS person
FROM (
    SELECT DISTINCT user_id
    FROM message_outcomes
    WHERE workspace_id = {workspace:UUID}
        AND campaign_id IN {campaigns:Array(UUID)}
        AND user_id IN (SELECT user_id FROM people FINAL WHERE workspace_id = {workspace:UUID} AND is_deleted)
) AS reached
LEFT ANY JOIN (
    $merged$
) AS same ON same.merged = reached.user_id
WHERE person IN (SELECT user_id FROM people FINAL WHERE workspace_id = {workspace:UUID} AND is_deleted)
LIMIT {people_max:UInt64}
