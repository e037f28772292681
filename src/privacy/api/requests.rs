//! `/privacy/requests`: make, list, read, download.

use std::io;

use axum::{Json, body::Body as ResponseBody, extract::State, response::Response};
use futures_util::stream;
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE},
};
use kernel::page::{PageWindow, Pagination};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, FromQuery, OffsetPage, PathOf, Query, QueryFields, Requester},
};

use super::wire::{RequestBody, RequestsPage};
use crate::{
    PrivacyState,
    model::{self, NewRequest, RequestId, STATES},
    ops::{self, Download},
};

/// Requests on a page by default, and at most.
type Page = OffsetPage<50, 200>;

pub(super) fn routes() -> OpenApiRouter<PrivacyState> {
    OpenApiRouter::new()
        .routes(routes!(create_privacy_request, list_privacy_requests))
        .routes(routes!(get_privacy_request))
        .routes(routes!(download_privacy_export))
}

/// The query string of a list.
#[derive(Debug)]
struct ListQuery {
    state: Option<model::State>,
    page: Page,
}

impl FromQuery for ListQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { state: query.one_of("state", STATES), page: Page::from_query(query) }
    }
}

/// Requests that a person is erased or exported. A second request for a person is answered with the first while that is open.
#[utoipa::path(
    post,
    path = "/privacy/requests",
    tag = "privacy",
    request_body = NewRequest,
    responses(
        (status = 201, body = RequestBody),
        (status = 200, body = RequestBody, description = "the open request of this type for the person"),
        (status = 404, description = "no such person"),
        (status = 409, description = "several profiles have the identifier, or an open erasure treats events otherwise"),
    )
)]
async fn create_privacy_request(
    State(app): State<PrivacyState>,
    caller: Caller<scope::UsersDelete>,
    requester: Requester,
    Body(new): Body<NewRequest>,
) -> ApiResult<(StatusCode, Json<RequestBody>)> {
    let author = app.author(caller.actor(), requester);
    let created = ops::create(&app, caller.tenant(), &author, &new).await?;
    let status = if created.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(created.request.into())))
}

/// Lists privacy requests, newest first.
#[utoipa::path(
    get,
    path = "/privacy/requests",
    tag = "privacy",
    params(
        ("state" = Option<String>, Query, description = "`pending`, `running`, `done` or `failed`"),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = RequestsPage))
)]
async fn list_privacy_requests(
    State(app): State<PrivacyState>,
    caller: Caller<scope::UsersDelete>,
    Query(ListQuery { state, page }): Query<ListQuery>,
) -> ApiResult<Json<RequestsPage>> {
    let window = PageWindow { limit: page.limit, offset: page.offset };
    let (requests, total) = ops::list(&app, caller.workspace(), state, window).await?;
    let pagination = Pagination::new(window, requests.len(), total);
    let data = requests.into_iter().map(RequestBody::from).collect();
    Ok(Json(RequestsPage { data, pagination }))
}

/// Reads a privacy request.
#[utoipa::path(
    get,
    path = "/privacy/requests/{requestId}",
    tag = "privacy",
    params(("requestId" = String, Path)),
    responses((status = 200, body = RequestBody), (status = 404, description = "no such request"))
)]
async fn get_privacy_request(
    State(app): State<PrivacyState>,
    caller: Caller<scope::UsersDelete>,
    PathOf(id): PathOf<RequestId>,
) -> ApiResult<Json<RequestBody>> {
    Ok(Json(ops::get(&app, caller.workspace(), id).await?.into()))
}

/// Downloads the document of an export: one JSON object. It is kept for 7 days, and not after an erasure.
#[utoipa::path(
    get,
    path = "/privacy/requests/{requestId}/download",
    tag = "privacy",
    params(("requestId" = String, Path)),
    responses(
        (status = 200, description = "everything about the person", content_type = "application/json", body = Object),
        (status = 404, description = "no such export, or its document is deleted"),
        (status = 409, description = "the export is not done yet"),
    )
)]
async fn download_privacy_export(
    State(app): State<PrivacyState>,
    caller: Caller<scope::UsersDelete>,
    PathOf(id): PathOf<RequestId>,
) -> ApiResult<Response> {
    let download = ops::download(&app, caller.workspace(), id).await?;
    let pieces = stream::try_unfold(download, async |mut download: Download| {
        let piece = download.next_piece().await;
        let piece = piece.map_err(|error| io::Error::other(error.to_string()))?;
        Ok::<_, io::Error>(piece.map(|piece| (piece, download)))
    });
    let mut response = Response::new(ResponseBody::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment; filename=\"person.json\""),
    );
    Ok(response)
}
