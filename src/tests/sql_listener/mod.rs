//! ClickHouse's interface for tools that ask in SQL, on the real engine.

mod clients;
pub(crate) mod fixture;
mod hostile;
mod limits;
mod mutations;
mod people;
mod protocol;
mod views;
mod walls;
