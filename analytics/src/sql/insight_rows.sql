-- Which events does a question about people count, whose are they, and what of them does it need? `raw` is the JSON of the
-- value that the answer is broken down by, empty where there is none.
-- A person is a hash of their identifier: distinct numbers are counted in a sixth of the time that distinct texts take. The
-- chance that two of a million people have one hash is one in forty million.
-- What stands between dollars is fixed fragments and parameters: see insights/rows.rs.
SELECT
    at_ms,
    $person$ AS person,
    $raw$ AS raw,
    needs_links
    $columns$
FROM (
    $tracked$
) AS tracked
$joins$
$where$
