//! The texts of field errors, so that a rule is worded one way everywhere.

/// The field is not there.
pub const REQUIRED: &str = "is required";
/// Not a boolean in a query.
pub const FLAG: &str = "must be true or false";
/// A range turned around.
pub const AFTER_END: &str = "must not be after endDate";
/// PostgreSQL cannot store it; refused here, so that the statement does not fail.
pub(super) const NUL: &str = "must not contain NUL characters";
/// Not a JSON string.
pub(super) const STRING: &str = "must be a string";
/// Not a JSON boolean.
pub(super) const BOOLEAN: &str = "must be a boolean";
/// Not a number without a fraction.
pub(super) const INTEGER: &str = "must be an integer";
/// Not a JSON number.
pub(super) const NUMBER: &str = "must be a number";
/// Not a JSON object.
pub const OBJECT: &str = "must be an object";
/// Not a JSON array.
pub(super) const ARRAY: &str = "must be an array";
