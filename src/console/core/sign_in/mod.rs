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
mod wanted;

pub use self::{
    api::routes,
    cookies::{Cookies, SESSION_COOKIE, forget, set_cookie},
    links::{LINK_ACTOR, NewLink, create_link},
    sessions::{Session, SessionRow, SessionsPage, end, end_of_another, list, present_scopes},
    wanted::remember_wanted,
};
