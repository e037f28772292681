-- Reading a text as a moment (iso_millis) takes 10 us, too long for half a million of them. Most are written in
-- one of three ways, and those sort as their moments do.

-- Whether a text is `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM:SSZ` or `YYYY-MM-DDTHH:MM:SS.mmmZ` and a moment that
-- there is: PostgreSQL can read it, and would write it just so. Inlined into the statement that asks, 2 us.
-- Before version 16 PostgreSQL cannot be asked whether it could; then every text is read.
do $do$
begin
    if current_setting('server_version_num')::int >= 160000 then
        create function iso_is_usual(value text) returns boolean
        language sql stable parallel safe as $$
            select case when pg_input_is_valid(value, 'timestamp') then value = case length(value)
                when 10 then to_char(value::timestamp, 'YYYY-MM-DD')
                when 20 then to_char(value::timestamp, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                when 24 then to_char(value::timestamp, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
            end end
        $$;
    else
        create function iso_is_usual(value text) returns boolean
        language sql immutable parallel safe as $$ select false $$;
    end if;
end
$do$;
