-- Short links by their age: those of long ago are forgotten.
create index short_link_old on short_link (created_at);
