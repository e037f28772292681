-- Which profiles were merged, and into which? Part of other questions.
SELECT
        toFixedString(substring(unhex(id), 1, 12), 12) AS merged,
        toFixedString(substring(unhex(identities.user_id), 1, 12), 12) AS survivor
    FROM identities FINAL
    WHERE workspace_id = {workspace:UUID} AND type = 'internal' AND identities.user_id != ''
