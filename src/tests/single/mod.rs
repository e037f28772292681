//! Messages sent one by one, and what their links do: a real server, whose channels lead to a gateway of
//! the test's own.

mod fixture;
mod idle_links;
mod links;
mod tests_of_campaigns;
mod transactional;
