-- What audiences compute from attributes.

-- An ISO 8601 text as milliseconds since 1970, null where it is none; a date alone is its first millisecond,
-- no zone is UTC. The rule of `kernel::Timestamp::parse`, to the letter: years 0000 to 9999, fractions
-- cut to milliseconds, second 60 the next minute's start, offsets up to 23:59. In integers throughout,
-- since a cast would fail on the 30th of February, and one such text would fail the whole question.
-- The days are counted as in https://howardhinnant.github.io/date_algorithms.html#days_from_civil.
create function iso_millis(value text) returns bigint
language plpgsql immutable strict parallel safe cost 100 as $$
declare
    year int; month int; day int; march int; era int; year_of_era int;
    days bigint; ms bigint; rest text; minutes int := 0;
begin
    if value !~ '^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?$' then
        return null;
    end if;
    year := substr(value, 1, 4)::int;
    month := substr(value, 6, 2)::int;
    day := substr(value, 9, 2)::int;
    if month not between 1 and 12 or day < 1 or day > (case
        when month = 2 and year % 4 = 0 and (year % 100 <> 0 or year % 400 = 0) then 29
        when month = 2 then 28
        when month in (4, 6, 9, 11) then 30
        else 31
    end) then
        return null;
    end if;
    -- Years begin in March and one is added to them, so that nothing is negative.
    march := (month + 9) % 12;
    year := year + 400 - case when month <= 2 then 1 else 0 end;
    era := year / 400;
    year_of_era := year % 400;
    days := era::bigint * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100
        + (153 * march + 2) / 5 + day - 1 - 719468 - 146097;
    ms := days * 86400000;
    if length(value) = 10 then
        return ms;
    end if;
    if substr(value, 12, 2)::int > 23 or substr(value, 15, 2)::int > 59 then
        return null;
    end if;
    ms := ms + (substr(value, 12, 2)::int * 60 + substr(value, 15, 2)::int) * 60000;
    rest := substr(value, 17);
    if rest like ':%' then
        if substr(rest, 2, 2)::int > 60 then
            return null;
        end if;
        ms := ms + substr(rest, 2, 2)::int * 1000;
        rest := substr(rest, 4);
        if rest like '.%' or rest like ',%' then
            ms := ms + rpad(substring(substr(rest, 2) from '^\d+'), 9, '0')::bigint / 1000000;
            rest := ltrim(substr(rest, 2), '0123456789');
        end if;
    end if;
    if rest <> '' and upper(rest) <> 'Z' then
        minutes := substr(rest, 2, 2)::int * 60
            + coalesce(nullif(ltrim(substr(rest, 4), ':'), ''), '0')::int;
        if minutes > 1439 or minutes % 60 <> coalesce(nullif(ltrim(substr(rest, 4), ':'), ''), '0')::int then
            return null;
        end if;
        ms := ms - case when rest like '-%' then -minutes else minutes end * 60000;
    end if;
    return ms;
end
$$;
