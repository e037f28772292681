-- Who are the people that a question is limited to?
SELECT cityHash64(if(external_id != '', external_id, lower(hex(people.user_id)))) AS person
FROM people FINAL
WHERE workspace_id = {workspace:UUID} AND NOT is_deleted AND people.user_id IN (
    SELECT user_id FROM insight_members WHERE question_id = {question:UUID})
