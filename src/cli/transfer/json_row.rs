//! A row of a file in the form in which it is sent.

/// A row as an element of the array that is sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JsonRow {
    pub(super) json: String,
    /// An event to which a server gave its time when it received it: its id counts once a month, not once a day.
    pub(super) is_stamped: bool,
    pub(super) is_order: bool,
}
