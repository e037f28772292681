//! A launch that was confirmed: of which content and for how many people, and whether it is still that.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::json;

use super::{
    Campaign, Whole, conflict, find,
    launch::{self, Asked, CONFIRMED, PEOPLE, Preview, Refused},
    offers::Action,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view,
    visitor::{Form, Visitor},
};

/// What a launch was confirmed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Confirmed<'f> {
    /// The ETag of the content.
    etag: &'f str,
    people: u64,
}

impl<'f> Confirmed<'f> {
    /// None where the launch is still to be asked about.
    fn of(form: &'f Form) -> Option<Self> {
        form.text(CONFIRMED)?;
        let etag = form.filled(conflict::LOADED)?;
        Some(Self { etag, people: form.filled(PEOPLE)?.parse().ok()? })
    }

    /// Whether this many people are more than what a person would still call the same number: a tenth more.
    fn is_exceeded_by(&self, people: u64) -> bool {
        people > self.people.saturating_add(self.people / 10)
    }
}

/// Launches a campaign that still is what was confirmed; otherwise asks again.
pub(super) async fn launch(
    visitor: &Visitor,
    whole: &Whole,
    form: &Form,
    action: &Action,
) -> PageResult<Response> {
    let campaign = &whole.campaign;
    let Some(confirmed) = Confirmed::of(form) else {
        return Ok(launch::page(visitor, whole, &Asked::to_confirm(), None).await);
    };
    if confirmed.etag == whole.etag
        && let Some(grown) = grown(visitor, campaign, confirmed).await?
    {
        let refused = Refused { failure: &grown, message: None };
        return Ok(launch::page(visitor, whole, &Asked::to_confirm(), Some(&refused)).await);
    }
    let call = visitor.call(Method::POST, path(["campaigns", &campaign.id, action.name]));
    match call.if_match(confirmed.etag)?.read::<Campaign>().await {
        Ok(after) => Ok(visitor.done(&after.path(), action.notice)),
        Err(failure) if failure.is_of_fields() => {
            refused(visitor, confirmed.etag, &failure, &Asked::to_confirm(), whole).await
        }
        Err(failure) => Err(failure),
    }
}

/// The refusal of a launch for more people than were confirmed. Of an event that is still to occur there is no such number.
async fn grown(
    visitor: &Visitor,
    campaign: &Campaign,
    confirmed: Confirmed<'_>,
) -> PageResult<Option<Failure>> {
    if campaign.send_type == "triggered" {
        return Ok(None);
    }
    let people = Preview::of(visitor, campaign).await?.people();
    let text = || {
        format!(
            "It was confirmed for {} people, and by now {} would get it. Nothing was sent",
            view::count(confirmed.people),
            view::count(people)
        )
    };
    let is_exceeded = confirmed.is_exceeded_by(people);
    Ok(is_exceeded.then(|| Failure::new(StatusCode::CONFLICT, text())))
}

/// Has a draft sent at its time, as the page of the launch has shown it.
pub(super) async fn schedule(
    visitor: &Visitor,
    whole: &Whole,
    form: &Form,
) -> PageResult<Response> {
    let campaign = &whole.campaign;
    let loaded = form.filled(conflict::LOADED).unwrap_or(&whole.etag);
    let call = visitor.call(Method::PUT, path(["campaigns", &campaign.id])).if_match(loaded)?;
    match call.json(&json!({"status": "scheduled"}))?.done().await {
        Ok(()) => Ok(visitor.done(&campaign.path_of("launch"), "The campaign is scheduled.")),
        Err(failure) if failure.is_of_fields() => {
            refused(visitor, loaded, &failure, &Asked::default(), whole).await
        }
        Err(failure) => Err(failure),
    }
}

/// The page of the launch with what refused it. Where others changed the campaign since it had this ETag, it is as it is now,
/// with who did, and asks `anew`.
async fn refused(
    visitor: &Visitor,
    loaded: &str,
    failure: &Failure,
    anew: &Asked,
    whole: &Whole,
) -> PageResult<Response> {
    if failure.status == StatusCode::CONFLICT {
        let now = find(visitor, &whole.campaign.id).await?;
        if now.etag != loaded {
            let message = Some(conflict::message_of_launch(visitor, &now, loaded).await);
            let refused = Refused { failure, message };
            return Ok(launch::page(visitor, &now, anew, Some(&refused)).await);
        }
    }
    let refused = Refused { failure, message: None };
    Ok(launch::page(visitor, whole, &Asked::default(), Some(&refused)).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_people_are_still_those_that_were_confirmed() {
        for (confirmed, now, is_exceeded) in [
            (55, 55, false),
            (55, 60, false),
            (55, 61, true),
            (55, 2, false),
            (2, 3, true),
            (0, 1, true),
        ] {
            let of = Confirmed { etag: "\"1\"", people: confirmed };
            assert_eq!(of.is_exceeded_by(now), is_exceeded, "{confirmed} {now}");
        }
    }
}
