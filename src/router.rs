//! Every route of the service, with its body limit.
