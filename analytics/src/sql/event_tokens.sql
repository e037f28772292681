-- What names users in events: one identifier, or two. Part of other statements.
SELECT if(user_id != '', user_id, service_user_id)
            FROM events FINAL
            WHERE $events$ AND (user_id != '' OR service_user_id != '')
            UNION ALL
            SELECT service_user_id
            FROM events FINAL
            WHERE $events$ AND user_id != '' AND service_user_id != ''
