//! `/members/*`: the people who sign in at the console, with a password or with an account at an OpenID provider.
//!
//! ```text
//! api (JSON) ─▶ ops (rules, audit log) ─▶ store (SQL)
//! console ─▶ sign_in (password, invitation, account) ─▶ store
//! console ─▶ openid (the provider's account) ─▶ sign_in
//! ```

pub mod api;
mod invitation;
mod model;
pub mod openid;
mod ops;
mod password;
pub mod sign_in;
mod store;

pub use self::{
    invitation::SET_PASSWORD_PATH,
    model::{MemberId, ROLES, Role},
    password::{PASSWORD_CHARS, PasswordFault, Passwords},
};
