-- People who sign in at the console with a password of their own or with an account at an OpenID provider.
create table member (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    email text not null,
    name text,
    -- The scopes that the member's role grants.
    scopes text[] not null,
    -- Argon2id in PHC's string format. Null until the member sets a password.
    password_hash text,
    -- The account at the OpenID provider, from its first sign-in on.
    oidc_issuer text,
    oidc_subject text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    signed_in_at timestamptz,
    primary key (workspace_id, id),
    constraint member_email_unique unique (workspace_id, email),
    constraint member_account_whole check ((oidc_issuer is null) = (oidc_subject is null))
);

-- A person signs in without naming a workspace.
create index member_email on member (email);
create index member_account on member (oidc_issuer, oidc_subject) where oidc_subject is not null;

-- Links with which members set a password, once. Only the hash of the token is stored.
create table member_invitation (
    workspace_id uuid not null,
    token_sha256 bytea not null,
    member_id uuid not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (workspace_id, token_sha256),
    constraint member_invitation_token_unique unique (token_sha256),
    foreign key (workspace_id, member_id) references member (workspace_id, id) on delete cascade
);
create index member_invitation_member on member_invitation (workspace_id, member_id);

-- The sessions of a member end with it, and have its scopes of the moment.
alter table console_session add column member_id uuid;
alter table console_session add constraint console_session_member
    foreign key (workspace_id, member_id) references member (workspace_id, id) on delete cascade;
create index console_session_member on console_session (workspace_id, member_id) where member_id is not null;
