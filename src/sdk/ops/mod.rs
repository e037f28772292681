//! Selection of in-app messages, recording of interactions, and keys of user tokens.

pub(super) mod events;
mod live;
pub(super) mod messages;
pub(super) mod public_messages;
pub(super) mod subject;
pub mod token_keys;
mod user_tokens;

pub use self::{live::LiveCampaigns, user_tokens::UserTokens};
