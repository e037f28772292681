//! SQL of segments and of what uses them.

mod segments;
mod uses;

pub(super) use self::{segments::*, uses::*};
