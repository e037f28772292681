//! `/callbacks/email/raw`: returned mail, posted by a mail server.

use axum::{
    extract::{Request, State},
    http::HeaderMap,
};
use kernel::Error;
use web::http::{ApiError, ApiResult, RawBytes};

use super::{MAIL_BYTES_MAX, body, generic::Signed};
use crate::{CallbackState, model::read_reports, ops};

pub(super) async fn receive(
    State(app): State<CallbackState>,
    headers: HeaderMap,
    request: Request,
) -> ApiResult<()> {
    let signed = Signed::check_head(&app, &headers)?;
    let RawBytes { bytes, held: _held } = body::<MAIL_BYTES_MAX>(&app, request).await?;
    signed.check(&bytes)?;
    let reading = tokio::task::spawn_blocking(move || read_reports(&bytes, &[]));
    let reports = reading
        .await
        .map_err(Error::internal)?
        .map_err(|problem| Error::bad_request(format!("body is {problem}")))?;
    ops::apply(&app, "mail", "email", reports).await.map_err(ApiError)
}
