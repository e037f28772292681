//! `/users/*`: profiles, and the events of a profile.
