//! Settings: a flag beats an environment variable, which beats `millrace.toml`, which beats the default.
