-- How large a campaign is when it is written out, so that a page of large ones can be refused before it is
-- read.
alter table campaign
    add column bytes integer not null generated always as (
        octet_length(definition::text) + coalesce(octet_length(pending_draft::text), 0)) stored;
