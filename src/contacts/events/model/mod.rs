//! Rules about events that need no store: how a page of them falls into sessions.

pub mod sessions;
