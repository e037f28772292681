//! What the rows of a file are, and where the server takes and answers them.

use serde::Deserialize;
use tables::Field;

use super::{event_rows, json_row::JsonRow, people_rows};

/// What the rows of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Events,
    People,
}

/// What the server made of some rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) accepted: u64,
    pub(super) refused: Vec<Rejected>,
}

/// An element of an array that was refused.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Rejected {
    /// Its place in the array.
    pub(super) index: usize,
    pub(super) reason: String,
}

/// The answer to an array of events.
#[derive(Debug, Deserialize)]
struct TrackAnswer {
    accepted: u64,
    rejected: Vec<Rejected>,
}

/// The answer to an array of profiles.
#[derive(Debug, Deserialize)]
struct UpsertAnswer {
    created: u64,
    updated: u64,
    failed: Vec<Rejected>,
}

impl Rows {
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::People => "people",
        }
    }

    /// The path that takes an array of them.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Events => "/events/track",
            Self::People => "/users",
        }
    }

    /// The scope that an import wants.
    pub(super) fn scope(self) -> &'static str {
        match self {
            Self::Events => "events:write",
            Self::People => "users:write",
        }
    }

    /// The path that answers all of them as a table.
    pub(super) fn export_path(self) -> &'static str {
        match self {
            Self::Events => "/events/export",
            Self::People => "/users/export",
        }
    }

    /// The scope that an export wants.
    pub(super) fn export_scope(self) -> &'static str {
        match self {
            Self::Events => "events:read",
            Self::People => "users:read",
        }
    }

    /// Most of them in one request. The path takes arrays of so many.
    pub(super) fn batch_max(self) -> usize {
        match self {
            Self::Events => 500,
            Self::People => 1_000,
        }
    }

    /// What the key of an import is called in lists.
    pub(super) fn key_label(self) -> String {
        format!("millrace import {}", self.noun())
    }

    /// Whether a column may stand in the file.
    pub(super) fn has_column(self, name: &str) -> bool {
        match self {
            Self::Events => event_rows::is_column(name),
            Self::People => people_rows::is_column(name),
        }
    }

    /// A row as an element of the array, or why it can be none.
    pub(super) fn element(self, fields: &[Field]) -> Result<JsonRow, String> {
        match self {
            Self::Events => event_rows::event_of(fields),
            Self::People => {
                people_rows::profile_of(fields).map(|json| JsonRow { json, ..JsonRow::default() })
            }
        }
    }

    /// Reads the answer to an array.
    pub(super) fn taken(self, answer: &[u8]) -> serde_json::Result<Taken> {
        Ok(match self {
            Self::Events => {
                let TrackAnswer { accepted, rejected } = serde_json::from_slice(answer)?;
                Taken { accepted, refused: rejected }
            }
            Self::People => {
                let UpsertAnswer { created, updated, failed } = serde_json::from_slice(answer)?;
                Taken { accepted: created + updated, refused: failed }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_name_the_rows_that_were_refused() {
        let refused = vec![Rejected { index: 2, reason: "no".to_owned() }];
        let events = r#"{"accepted":2,"rejected":[{"index":2,"reason":"no"}]}"#;
        let people = r#"{"processed":3,"created":1,"updated":1,"failed":[{"index":2,"userId":null,"reason":"no"}]}"#;
        let expected = Taken { accepted: 2, refused };
        assert_eq!(Rows::Events.taken(events.as_bytes()).unwrap(), expected);
        assert_eq!(Rows::People.taken(people.as_bytes()).unwrap(), expected);
    }
}
