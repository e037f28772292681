//! The durable form of admitted events: what a spool frame holds.
