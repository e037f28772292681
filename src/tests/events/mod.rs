//! `/events/*`, row by row against the specification.

mod aggregate;
mod bad_bodies;
mod clocks;
mod collisions;
mod dead_letters;
mod isolation;
mod live;
mod query;
mod rejected;
mod retries;
mod track;
