//! The template and the data of a page in PostgreSQL.

mod template;
mod view;

pub(super) use self::{
    template::{find, save},
    view::{list_name, view, workspace_and_contact},
};
