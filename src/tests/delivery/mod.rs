//! Delivery: providers against servers that check each request, campaigns from launch to outcome.

mod providers;
mod roles;
