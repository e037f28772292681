-- Nothing asks any more which email somebody got last: mail that comes back is believed only where it names the
-- message it is about.
drop index if exists message_last_email;
