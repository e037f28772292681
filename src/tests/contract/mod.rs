//! Rules of every route: the one error body, the description of the API, the metrics.

mod campaign_endpoints;
mod envelope;
mod limits;
mod line;
mod metrics;
mod openapi;
mod queries;
mod rates;
mod surface;
