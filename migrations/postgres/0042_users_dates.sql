-- Seeing whether a text is a date takes 3 us, too long for a million of them. So whoever writes a profile says
-- whether all its texts that could be taken for one (a digit, and a hyphen in the fifth place) are dates in a
-- usual form (iso_is_usual): those compare as texts. False is always right, only slower; profiles that are here
-- already keep it, since rewriting them all would hold up the start by minutes a million.
alter table users add column dates_usual boolean not null default false;
