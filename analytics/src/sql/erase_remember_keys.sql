-- Remembers the keys of events of the people as hashes.
INSERT INTO erased_events (key_hash)
SELECT DISTINCT sipHash128(workspace_id, toString(event_name), day, event_id)
FROM events
WHERE $theirs$
