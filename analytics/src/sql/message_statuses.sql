-- How many messages of a campaign got exactly how far, and which occurrences are there?
SELECT
    $status$ AS status,
    sum(messages) AS messages,
    min(occurrence) AS first_occurrence,
    max(occurrence) AS last_occurrence
FROM ($counted$)
GROUP BY status
