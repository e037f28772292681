//! Signing in: links that sign in once, and the sessions that come of them.

mod api;
mod cookies;
mod links;
mod prefetch;
mod sessions;
mod store;
mod token;

pub use self::{
    links::{LINK_ACTOR, NewLink, create_link},
    sessions::{SessionRow, list},
};

pub(crate) use self::{
    api::routes,
    cookies::{Cookies, SESSION_COOKIE, forget, remember_wanted, set_cookie},
    sessions::{Session, end, is_live},
};
