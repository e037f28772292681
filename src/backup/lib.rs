//! Backups of a deployment, made while it serves, and their restore into an empty one.
//!
//! A backup is a folder: a manifest, and files that are compressed and named with their checksums in it. Rows of both
//! stores are text, so that a backup of embedded stores can be restored into external ones, and the other way round.
//!
//! # In which order, and why events are neither lost nor doubled
//!
//! 1. The spool is held: it frees no segment from here on. Its cursors are read.
//! 2. PostgreSQL is read in one transaction.
//! 3. ClickHouse is read, `events` and `message_events` before what is derived from them.
//! 4. The spool's segments are copied, and the hold ends.
//!
//! An event that was acknowledged before step 4 is in the spool's copy at or behind the cursor, or was stored before
//! step 1, and so is in the copy of ClickHouse. What is in both is recognised by its key when the restored server reads
//! its spool, as after a crash. The same holds for what other consumers of the spool did in PostgreSQL.
//!
//! With a passphrase all files but the manifest are encrypted.
//!
//! What left Millrace after step 2 is not known to the backup: see [`restore`].

#![warn(missing_docs)]

mod clickhouse;
mod create;
mod files;
mod folder;
mod manifest;
mod postgres;
mod progress;
mod restore;
mod seal;
mod settle;

pub use self::{
    create::{BackupOptions, Created, back_up},
    progress::Progress,
    restore::{RestoreOptions, Restored, restore},
};

/// Bytes of text handed on at once.
const PIECE_BYTES: usize = 1 << 20;
