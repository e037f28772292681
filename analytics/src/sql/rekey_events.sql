-- How many events does the old table hold, and how many the new one?
SELECT
    assumeNotNull((SELECT count() FROM events_before_0010 FINAL)) AS before,
    assumeNotNull((SELECT count() FROM events FINAL)) AS after
