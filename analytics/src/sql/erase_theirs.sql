-- Is this event of one of the people? Identifiers are compared by keyed hashes: statements are written into files.
(
    workspace_id = '$workspace$'
    AND (
        $hash$(service_user_id) IN ($hashes$)
        OR $hash$(user_id) IN ($hashes$)
        OR (
            service_user_id = '' AND user_id = ''
            AND ($hash$(anonymous_id) IN ($hashes$) OR $hash$(toString(alias_name)) IN ($hashes$))
        )
    )
)
