//! What an event is, what is kept of a refused one, and the specification's limits, each named once.

pub mod calendar;
pub mod limits;
pub mod rejection;

/// The only event name that is an order.
pub const ORDER_COMPLETED: &str = "Order Completed";
