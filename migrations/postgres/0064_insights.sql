-- Questions about people over time, saved under a name. They are answered whenever they are asked.
create table insight (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    name text not null,
    -- 'trends', 'funnels', 'retention'
    kind text not null,
    question jsonb not null,
    created_by text not null,
    updated_by text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id),
    constraint insight_name_length check (char_length(name) between 1 and 255),
    constraint insight_kind_known check (kind in ('trends', 'funnels', 'retention'))
);

create index insight_newest on insight (workspace_id, created_at desc, id desc);
