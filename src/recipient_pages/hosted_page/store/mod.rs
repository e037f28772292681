//! The template and the data of a page in PostgreSQL.

mod template;
mod view;

pub(super) use self::{template::*, view::*};
