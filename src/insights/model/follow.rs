//! What follows people through their histories.

use analytics::insights::PersonHistory;

/// A rule that is computed person by person.
pub(crate) trait Follow: Send + 'static {
    /// Adds what a person did.
    fn add(&mut self, history: &PersonHistory);

    /// Begins again, without people.
    fn clear(&mut self);

    /// How many people began so far.
    fn people(&self) -> u64;
}
