//! Validates parsed elements against every rule of the specification and encodes the good ones into a durable batch.
