//! SQL of lists and their members.

mod lists;
mod members;

pub(super) use self::{
    lists::{archive, create, find, list, restore, update},
    members::{members, stats},
};
