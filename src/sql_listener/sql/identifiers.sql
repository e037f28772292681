-- The profile that an identifier leads to. Which ones there are is defined once for all who ask (analytics, identifiers.sql).
-- Hashes, since a million profiles have two million identifiers. Part of other statements.
SELECT sipHash128('user', token) AS identifier, lower(hex(argMin(profile, place))) AS person
FROM (
    $owners$
)
GROUP BY identifier
