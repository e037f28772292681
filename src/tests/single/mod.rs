//! Messages sent one by one, and what their links do: a real server, whose channels lead to a gateway of
//! the test's own.

pub(crate) mod fixture;
mod idle_links;
pub(crate) mod links;
mod tests_of_campaigns;
mod transactional;
