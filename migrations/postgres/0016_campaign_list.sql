-- Lists of campaigns are counted and paged by the index alone wherever the filters are short: it holds
-- them, so that the wide rows are read for the page and for nothing else.
create index campaign_listed on campaign (workspace_id, created_at desc, id desc)
    include (status, channel, created_by, updated_by, bytes);
drop index campaign_newest;

-- That needs the visibility map to be fresh.
alter table campaign set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
