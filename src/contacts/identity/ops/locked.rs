//! Locks of the profiles that ids stand for.

pub(super) use contacts::users::ops::locks::{ending, survivors as locked};
