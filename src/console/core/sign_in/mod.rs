//! Signing in by links that sign in once, by passwords and by accounts at an OpenID provider, and the sessions that come of it.

mod address;
mod api;
mod cookies;
mod links;
mod openid;
mod pages;
mod prefetch;
mod request;
mod sessions;
mod store;
mod token;

pub use self::{
    links::{LINK_ACTOR, NewLink, create_link},
    sessions::{SessionRow, SessionsPage, end_of_another, list},
};

pub use self::{
    api::routes,
    cookies::{Cookies, SESSION_COOKIE, forget, remember_wanted, set_cookie},
    sessions::{Session, end, present_scopes},
};
