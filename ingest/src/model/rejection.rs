//! Where an event came from, and a refused one as it is kept.

use uuid::Uuid;

/// The key that a request came with, and the workspace of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSource<'a> {
    /// The workspace of the key.
    pub workspace_id: Uuid,
    /// The key's public id.
    pub key_id: &'a str,
    /// Whether every copy of an app has the key.
    pub is_public: bool,
}

/// A refused event as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRejection {
    /// The workspace it was sent to.
    pub workspace_id: Uuid,
    /// The public id of the key it was sent with.
    pub key_id: String,
    /// Whether that key is public. What public senders are refused never takes the place of what servers are.
    pub is_public: bool,
    /// When it was refused: milliseconds since 1970.
    pub at_ms: i64,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// The user id, where it has one.
    pub user_id: Option<String>,
    /// The id that its sender gave it, where there is one.
    pub event_id: Option<String>,
    /// What is wrong with it.
    pub reason: String,
    /// The beginning of its text.
    pub body: String,
}

impl KeptRejection {
    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        let optional = [&self.name, &self.user_id, &self.event_id].into_iter().flatten();
        let texts = [&self.key_id, &self.reason, &self.body].into_iter().chain(optional);
        texts.map(String::len).sum()
    }
}
