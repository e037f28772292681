//! Lists and the members of a list in PostgreSQL.

mod lists;
mod members;

pub(super) use self::{
    lists::{archive, create, find, list, restore, update},
    members::{members, stats},
};
