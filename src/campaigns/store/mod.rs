//! Campaigns, their versions and their history in PostgreSQL.

mod campaigns;
mod due;
mod enabled_channels;
mod filter;
mod in_app;
mod learning;
mod records;
mod restored;
mod runs;
mod triggered;

pub(crate) use self::{
    campaigns::*, due::*, enabled_channels::*, filter::*, in_app::*, learning::*, records::*,
    restored::*, runs::*, triggered::*,
};
