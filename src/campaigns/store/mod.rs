//! Campaigns, their versions and their history in PostgreSQL.

mod campaigns;
mod due;
mod filter;
mod records;

pub(in crate::campaigns) use self::{
    campaigns::{Saved, delete, find, insert, save},
    due::{due, postpone},
    filter::list,
    records::{find_version, history, versions},
};
