//! What leaves: providers against servers that judge what they get, campaigns from launch to outcome.

mod providers;
mod roles;
