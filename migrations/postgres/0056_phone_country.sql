-- The country by which a workspace's national phone numbers are read: in Germany "0151 234" is "+49 151 234".

alter table workspace
    -- ISO 3166-1; null: the default of the settings.
    add column country text,
    -- The country by which all stored numbers have been read; null: none.
    add column phones_read_by text,
    add constraint workspace_country_is_a_code check (country ~ '^[A-Z]{2}$');

-- What the program read a phone as, for the trigger below, which takes it away: it is null in every stored row. A node of
-- the release before writes none; the number is then read without a country.
alter table users
    alter column phone_normal drop expression,
    add column phone_read text;

-- A number without separators, 00 read as +; null where it is no phone number.
create function phone_plain(phone text) returns text language sql immutable parallel safe as $$
    select case when bare ~ '^\+?[0-9]{5,15}$' then bare end
    from (select regexp_replace(regexp_replace(phone, '[ ().-]', '', 'g'), '^00', '+') as bare) p;
$$;

create function users_phone_read() returns trigger language plpgsql as $$
begin
    new.phone_normal = coalesce(new.phone_read, phone_plain(new.phone));
    new.phone_read = null;
    return new;
end
$$;

create trigger users_phone_inserted before insert on users
    for each row when (new.phone is not null)
    execute function users_phone_read();

create trigger users_phone_changed before update of phone, phone_read on users
    for each row when (new.phone is distinct from old.phone or new.phone_read is not null)
    execute function users_phone_read();
