-- The profile into which that of a message was merged. Part of other statements.
LEFT ANY JOIN (
    SELECT id, user_id AS person
    FROM $tables$.identities FINAL
    WHERE workspace_id = $workspace$ AND type = 'internal' AND user_id != ''
) AS merged ON merged.id = m.user_id
