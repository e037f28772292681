//! The console: signing in, and pages as people and browsers see them.

mod health;
mod kit;
mod lists;
mod managed;
mod pages;
mod segments;
mod settings;
mod sign_in;
mod suppressions;
