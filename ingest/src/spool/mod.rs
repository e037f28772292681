//! A segmented append-only log with group commit: what makes an acknowledged event durable.
