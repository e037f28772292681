-- Segments: targetings saved under a name. Who is in one is evaluated whenever it is asked, so no members are stored.
create table segment (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    name text not null,
    description text not null default '',
    targeting jsonb not null,
    -- The size of the targeting without the segments it uses, for limits of those that use each other.
    filters integer not null,
    event_filters integer not null,
    listed_values integer not null,
    bytes integer not null generated always as (octet_length(targeting::text)) stored,
    created_by text not null,
    updated_by text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id),
    constraint segment_name_length check (char_length(name) between 1 and 255),
    constraint segment_description_length check (char_length(description) <= 1000)
);

create unique index segment_name_unique on segment (workspace_id, lower(btrim(name)));
create index segment_newest on segment (workspace_id, created_at desc, id desc);

-- Which segment uses which, and in how many filters. One in use is not deleted.
create table segment_use (
    workspace_id uuid not null,
    segment_id uuid not null,
    used_id uuid not null,
    times integer not null,
    primary key (workspace_id, segment_id, used_id),
    foreign key (workspace_id, segment_id) references segment (workspace_id, id) on delete cascade,
    constraint segment_use_of_known foreign key (workspace_id, used_id) references segment (workspace_id, id)
);

create index segment_use_by_used on segment_use (workspace_id, used_id);

-- The ids in the segment filters of a campaign and of its pending edits, in lower case. They may be of no segment.
create function campaign_segments_of(definition jsonb, pending_draft jsonb)
    returns text[] language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct lower(coalesce(filter->>'value', filter->>'field'))), '{}')
    from (
        select jsonb_path_query(jsonb_build_array(definition, pending_draft),
            'lax $[*].targeting.filterGroups[*].filters[*] ? (@.type == "segment")') as filter
        union all
        select jsonb_path_query(jsonb_build_array(definition, pending_draft),
            'lax $[*].targeting.excludeFilterGroups[*].filters[*] ? (@.type == "segment")')
    ) named
    where coalesce(filter->>'value', filter->>'field') is not null
$$;

alter table campaign add column segment_ids text[] not null
    generated always as (campaign_segments_of(definition, pending_draft)) stored;
create index campaign_by_segment on campaign using gin (segment_ids) where segment_ids <> '{}';
