//! Sends messages: claim, eligibility, rendering, provider call, outcome.

pub(crate) mod campaign_context;
pub(crate) mod channel_fault;
pub(crate) mod dispatch;
pub(crate) mod eligibility;
mod merged;
mod provider_call;
mod recheck;
pub(crate) mod sender_domain;
mod terms;
mod volume;
