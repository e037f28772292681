-- Or a profile is found by identifiers that are not its own ids. Part of event_profiles.sql.
OR people.user_id IN (
            SELECT profile
            FROM (
                $linked$
            )
            WHERE token IN (
                SELECT arrayJoin(if(
                    user_id = '' AND service_user_id = '',
                    [concat('\x02', anonymous_id)],
                    [user_id, service_user_id]))
                FROM events FINAL
                WHERE $events$ AND $is_linked$))
