//! What an event is, and the specification's limits, each named once.

pub mod calendar;
pub mod limits;

/// The only event name that is an order.
pub const ORDER_COMPLETED: &str = "Order Completed";
