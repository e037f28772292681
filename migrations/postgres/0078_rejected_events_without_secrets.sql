-- SDKs may send their key in the body of a call. Its secret is no longer kept with a refused event; here it leaves those that are.

update rejected_event
set body = regexp_replace(body, '(mrs?_[A-Za-z0-9]{12}_)[A-Za-z0-9_-]+', '\1[redacted]', 'g')
where body ~ 'mrs?_[A-Za-z0-9]{12}_';
