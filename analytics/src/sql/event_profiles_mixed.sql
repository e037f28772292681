-- What else leads to a profile: internal ids, linked identifiers, and events with two users, which count once for each
-- profile that they lead to. Part of event_profiles_counted.sql, where there are such events.
LEFT ANY JOIN (
    SELECT profile, sum(times) AS times
    FROM (
        SELECT profile, one, other, any(times) AS times
        FROM (
            SELECT
                owned.profile AS profile, owned.place AS place,
                tracked.one AS one, tracked.other AS other, tracked.times AS times
            FROM (
                $identifiers$
            ) AS owned
            INNER JOIN (
                SELECT one, other, times, arrayJoin(if(other = '', [one], [one, other])) AS name
                FROM (
                    SELECT
                        multiIf(
                            user_id != '', user_id,
                            service_user_id != '', service_user_id,
                            concat('\x02', anonymous_id)) AS one,
                        if(user_id != '' AND user_id != service_user_id, service_user_id, '') AS other,
                        count() AS times
                    FROM events FINAL
                    WHERE $events$
                        AND $is_mixed$
                    GROUP BY one, other
                )
            ) AS tracked ON tracked.name = owned.token
        )
        WHERE other != '' OR place != 1
        GROUP BY profile, one, other
    )
    GROUP BY profile
) AS mixed ON mixed.profile = people.user_id
