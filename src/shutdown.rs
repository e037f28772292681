//! Stops the service in order.
