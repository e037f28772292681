//! Campaigns from their launch to the last outcome: a real server, its engines, and a gateway that says
//! who was called.

mod bounces;
mod caps;
mod carriers;
mod clocked;
mod fixture;
mod late_opt_outs;
mod limits;
mod occurrences;
mod processes;
mod put_back;
mod quiet;
mod retention;
mod retries;
mod send;
mod short_links;
mod steps;
mod trials;
mod volume;
mod webhooks;
