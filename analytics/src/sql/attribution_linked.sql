-- Or identifiers lead to a profile that are not its own. Part of attribution_people.sql.
UNION ALL
            SELECT token AS link, profile, place
            FROM (
                $linked$
            )
