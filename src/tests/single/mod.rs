//! Transactional and test messages and their links: a real server, whose channels lead to a gateway of the test.

mod channels;
pub(crate) mod fixture;
pub(crate) mod links;
mod national_numbers;
mod test_send_links;
mod test_sends;
mod transactional;
