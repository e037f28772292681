-- Marks copies of profiles as deleted that a rebuild did not write again, since there are no such profiles.
INSERT INTO people (workspace_id, user_id, version, is_deleted)
SELECT workspace_id, user_id, {version:UInt64}, 1
FROM people FINAL
WHERE is_deleted = 0 AND version < {first_version:UInt64}
