-- Whether an anonymous id also stands for its profile as the `userId` of events: see PostgreSQL's table `identity`.
ALTER TABLE identities {on_cluster} ADD COLUMN IF NOT EXISTS names_users UInt8 DEFAULT 1;
