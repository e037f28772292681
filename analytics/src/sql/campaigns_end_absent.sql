-- Marks copies of campaigns as deleted that a rebuild did not write again, since there are no such campaigns.
INSERT INTO campaigns (workspace_id, campaign_id, version, is_deleted)
SELECT workspace_id, campaign_id, {version:UInt64}, 1
FROM campaigns FINAL
WHERE is_deleted = 0 AND version < {first_version:UInt64}
