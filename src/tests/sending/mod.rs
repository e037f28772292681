//! Campaigns from the launch to the last outcome: a real server, its engines, and a gateway that logs its calls.

mod bounces;
mod caps;
mod channel_availability;
mod clocked;
mod control_groups;
mod deferred;
pub(crate) mod fixture;
mod late_opt_outs;
mod lifecycle;
mod limits;
mod merged_profiles;
mod occurrences;
mod paused_trials;
mod processes;
mod quiet;
mod retention;
mod retries;
mod segments;
mod send;
mod short_links;
mod trials;
mod volume;
mod webhooks;
