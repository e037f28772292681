//! SQL of lists and their members.

mod lists;
mod members;

pub(super) use self::{lists::*, members::*};
