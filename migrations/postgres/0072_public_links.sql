-- What a public key linked. Anyone has such a key, so it could claim ids under which a server tracks people.

alter table identity
    add column is_public boolean not null default false,
    -- Whether an anonymous id also stands for its profile as the `userId` of events. Not where a public key linked an id that
    -- could be guessed.
    add column names_users boolean not null default true;
