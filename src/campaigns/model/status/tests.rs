//! The state machine compared with a table, cell by cell and on random walks.

use proptest::prelude::*;

use super::*;

/// The status, the call, and the result for each kind in the order one-time, triggered, recurring, in-app.
/// `!` is a conflict, `?` a bad request.
const TABLE: &str = "
draft      schedule       scheduled scheduled scheduled scheduled
draft      unschedule     ! ! ! !
draft      send           active active active active
draft      launch         ! ! ! !
draft      pause          ! ! ! !
draft      resume         ! ! ! !
draft      cancel         ! ! ! !
draft      complete       ! ! ! !
draft      fail           ! ! ! !
draft      retry          ! ! ! !
draft      resend         ? ? ? ?
draft      stop_recurring ? ? ! ?
draft      archive        archived archived archived archived
draft      unarchive      ! ! ! !
scheduled  schedule       ! ! ! !
scheduled  unschedule     draft draft draft draft
scheduled  send           active active active active
scheduled  launch         active active active active
scheduled  pause          paused paused paused paused
scheduled  resume         ! ! ! !
scheduled  cancel         cancelled cancelled cancelled cancelled
scheduled  complete       ! ! ! !
scheduled  fail           failed failed failed failed
scheduled  retry          ! ! ! !
scheduled  resend         ? ? ? ?
scheduled  stop_recurring ? ? ! ?
scheduled  archive        archived archived archived archived
scheduled  unarchive      ! ! ! !
active     schedule       ! ! ! !
active     unschedule     ! ! ! !
active     send           ! ! ! !
active     launch         ! ! ! !
active     pause          paused paused paused paused
active     resume         ! ! ! !
active     cancel         cancelled cancelled cancelled cancelled
active     complete       completed ! completed !
active     fail           failed failed failed failed
active     retry          ! ! ! !
active     resend         ? ? ? ?
active     stop_recurring ? ? completed ?
active     archive        archived archived archived archived
active     unarchive      ! ! ! !
paused     schedule       ! ! ! !
paused     unschedule     ! ! ! !
paused     send           ! ! ! !
paused     launch         ! ! ! !
paused     pause          ! ! ! !
paused     resume         active active active active
paused     cancel         cancelled cancelled cancelled cancelled
paused     complete       ! ! ! !
paused     fail           ! ! ! !
paused     retry          ! ! ! !
paused     resend         ? ? ? ?
paused     stop_recurring ? ? completed ?
paused     archive        archived archived archived archived
paused     unarchive      ! ! ! !
completed  schedule       ! ! ! !
completed  unschedule     ! ! ! !
completed  send           ! ! ! !
completed  launch         ! ! ! !
completed  pause          ! ! ! !
completed  resume         ! ! ! !
completed  cancel         ! ! ! !
completed  complete       ! ! ! !
completed  fail           ! ! ! !
completed  retry          ! ! ! !
completed  resend         active ? ? ?
completed  stop_recurring ? ? ! ?
completed  archive        archived archived archived archived
completed  unarchive      ! ! ! !
cancelled  schedule       ! ! ! !
cancelled  unschedule     ! ! ! !
cancelled  send           ! ! ! !
cancelled  launch         ! ! ! !
cancelled  pause          ! ! ! !
cancelled  resume         ! ! ! !
cancelled  cancel         ! ! ! !
cancelled  complete       ! ! ! !
cancelled  fail           ! ! ! !
cancelled  retry          ! ! ! !
cancelled  resend         ? ? ? ?
cancelled  stop_recurring ? ? ! ?
cancelled  archive        archived archived archived archived
cancelled  unarchive      ! ! ! !
failed     schedule       ! ! ! !
failed     unschedule     ! ! ! !
failed     send           ! ! ! !
failed     launch         ! ! ! !
failed     pause          ! ! ! !
failed     resume         ! ! ! !
failed     cancel         ! ! ! !
failed     complete       ! ! ! !
failed     fail           ! ! ! !
failed     retry          scheduled scheduled scheduled scheduled
failed     resend         ? ? ? ?
failed     stop_recurring ? ? ! ?
failed     archive        archived archived archived archived
failed     unarchive      ! ! ! !
archived   schedule       ! ! ! !
archived   unschedule     ! ! ! !
archived   send           ! ! ! !
archived   launch         ! ! ! !
archived   pause          ! ! ! !
archived   resume         ! ! ! !
archived   cancel         ! ! ! !
archived   complete       ! ! ! !
archived   fail           ! ! ! !
archived   retry          ! ! ! !
archived   resend         ? ? ? ?
archived   stop_recurring ? ? ! ?
archived   archive        archived archived archived archived
archived   unarchive      draft draft draft draft
";

const KINDS: [CampaignKind; 4] =
    [CampaignKind::OneTime, CampaignKind::Triggered, CampaignKind::Recurring, CampaignKind::InApp];

fn status(word: &str) -> Status {
    Status::NAMED.iter().find(|(name, _)| *name == word).unwrap().1
}

/// The entry of the table for a call.
fn expected(from: Status, call: Call, kind: CampaignKind) -> &'static str {
    let line = TABLE
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|line| line.len() == 6 && line[0] == from.as_str() && line[1] == call.as_str())
        .unwrap_or_else(|| panic!("the table has no line for {from:?} {call:?}"));
    line[2 + KINDS.iter().position(|other| *other == kind).unwrap()]
}

fn context(from: Status, kind: CampaignKind) -> TransitionContext {
    TransitionContext {
        status: from,
        kind,
        paused_from: (from == Status::Paused).then_some(Status::Active),
        archived_from: (from == Status::Archived).then_some(Status::Draft),
        is_ahead: false,
    }
}

fn outcome(context: TransitionContext, call: Call) -> &'static str {
    match next(&context, call) {
        Ok(to) => to.as_str(),
        Err(Refusal::Conflict(_)) => "!",
        Err(Refusal::Unfit(_)) => "?",
    }
}

#[test]
fn every_transition_matches_the_table() {
    for (_, from) in Status::NAMED {
        for call in Call::ALL {
            for kind in KINDS {
                let found = outcome(context(*from, kind), call);
                assert_eq!(found, expected(*from, call, kind), "{from:?} {call:?} {kind:?}");
            }
        }
    }
}

#[test]
fn a_resumed_campaign_is_scheduled_only_before_its_time() {
    for (paused_from, is_ahead, to) in [
        (Status::Scheduled, true, Status::Scheduled),
        (Status::Scheduled, false, Status::Active),
        (Status::Active, true, Status::Active),
        (Status::Active, false, Status::Active),
    ] {
        let context = TransitionContext {
            paused_from: Some(paused_from),
            is_ahead,
            ..context(Status::Paused, CampaignKind::OneTime)
        };
        assert_eq!(next(&context, Call::Resume), Ok(to), "{paused_from:?} {is_ahead}");
    }
}

#[test]
fn restored_campaigns_do_not_send() {
    for (before, to) in [
        (Status::Draft, Status::Draft),
        (Status::Scheduled, Status::Paused),
        (Status::Active, Status::Paused),
        (Status::Paused, Status::Paused),
        (Status::Completed, Status::Completed),
        (Status::Cancelled, Status::Cancelled),
        (Status::Failed, Status::Failed),
    ] {
        let context = TransitionContext {
            archived_from: Some(before),
            ..context(Status::Archived, CampaignKind::OneTime)
        };
        assert_eq!(next(&context, Call::Unarchive), Ok(to), "{before:?}");
    }
}

#[test]
fn a_refusal_names_the_status_and_the_required_one() {
    let refused = next(&context(Status::Completed, CampaignKind::OneTime), Call::Resume);
    let text = "The campaign is completed: only a paused campaign can be resumed".to_owned();
    assert_eq!(refused, Err(Refusal::Conflict(text)));
}

proptest! {
    /// A walk of random calls stays within the table, and the remembered statuses suffice to continue.
    #[test]
    fn random_walks_stay_within_the_table(
        kind in prop::sample::select(&KINDS[..]),
        calls in prop::collection::vec((prop::sample::select(&Call::ALL[..]), any::<bool>()), 1..60),
    ) {
        let mut at = context(Status::Draft, kind);
        for (call, is_ahead) in calls {
            at.is_ahead = is_ahead;
            let wanted = expected(at.status, call, kind);
            let Ok(to) = next(&at, call) else {
                prop_assert_eq!(outcome(at, call), wanted);
                continue;
            };
            match (at.status, call) {
                (Status::Paused, Call::Resume) => {
                    let waits = at.paused_from == Some(Status::Scheduled) && is_ahead;
                    prop_assert_eq!(to, if waits { Status::Scheduled } else { Status::Active });
                }
                (Status::Archived, Call::Unarchive) => {
                    let before = at.archived_from.unwrap();
                    prop_assert!(!matches!(to, Status::Active | Status::Scheduled | Status::Archived));
                    prop_assert!(to == before || to == Status::Paused);
                }
                _ => prop_assert_eq!(to.as_str(), status(wanted).as_str()),
            }
            match (to, call) {
                (Status::Paused, Call::Pause) => at.paused_from = Some(at.status),
                (Status::Archived, _) if at.status != Status::Archived => at.archived_from = Some(at.status),
                _ => {}
            }
            at.status = to;
        }
    }
}
