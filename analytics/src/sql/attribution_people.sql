-- Whose are the identifiers of events? A person is the profile that stays of those merged. An active profile's external id
-- comes first, then identifiers that are linked to one (identifiers_linked.sql); then `former`, which lead to deleted
-- profiles as PostgreSQL knows them; then an internal id itself. An event with two users may be of two people. The key of
-- an anonymous id begins with the character 2. Part of other questions.
SELECT identifiers, arrayJoin(arrayFilter(it -> it != none, arrayDistinct([first, second]))) AS person
FROM (
    SELECT
        toFixedString('', 12) AS none,
        identifiers,
        argMinIf(profile, place, number = 1) AS first,
        argMinIf(profile, place, number = 2) AS second
    FROM (
        SELECT
            keyed.identifiers AS identifiers,
            keyed.number AS number,
            if(links.place != 0, links.place, toUInt8(5)) AS place,
            multiIf(
                links.place != 0, links.profile,
                length(keyed.key) = 24 AND match(keyed.key, '^[0-9a-f]{24}\\z'), toFixedString(substring(unhex(keyed.key), 1, 12), 12),
                toFixedString('', 12)) AS profile
        FROM (
            SELECT external_id AS link, people.user_id AS profile, toUInt8(1) AS place
            FROM people FINAL
            WHERE workspace_id = {workspace:UUID} AND NOT is_deleted AND external_id != ''
            $or_linked$
            UNION ALL
            SELECT
                splitByChar('\0', base64Decode('$former_links$'))[number + 1] AS link,
                toFixedString(substring(base64Decode('$former_profiles$'), 1 + number * 12, 12), 12) AS profile,
                toUInt8(4) AS place
            FROM numbers({former:UInt64})
        ) AS links
        RIGHT JOIN (
            SELECT
                identifiers,
                arrayJoin(if(
                    user != '' AND service_user != '' AND user != service_user,
                    [toUInt8(1), toUInt8(2)],
                    [toUInt8(1)])) AS number,
                multiIf(
                    number = 2, service_user,
                    user != '', user,
                    service_user != '', service_user,
                    concat('\x02', anonymous)) AS key
            FROM (
                SELECT
                    $identifiers$ AS identifiers,
                    any(user_id) AS user,
                    any(service_user_id) AS service_user,
                    any(anonymous_id) AS anonymous
                FROM events
                WHERE $events$
                GROUP BY identifiers
            )
        ) AS keyed ON links.link = keyed.key
    )
    GROUP BY identifiers
)
