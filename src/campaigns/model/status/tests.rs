//! The state machine against a table written from DECISIONS K1, cell by cell and on random walks.

use proptest::prelude::*;

use super::*;

/// K1, written out: the status, the call, and what comes of it for each kind, in the order one-time,
/// triggered, recurring, in-app. `!` is a conflict, `?` a bad request.
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

const KINDS: [Kind; 4] = [Kind::OneTime, Kind::Triggered, Kind::Recurring, Kind::InApp];

fn status(word: &str) -> Status {
    Status::NAMED.iter().find(|(name, _)| *name == word).unwrap().1
}

/// What the table says of a call.
fn expected(from: Status, call: Call, kind: Kind) -> &'static str {
    let line = TABLE
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|line| line.len() == 6 && line[0] == from.as_str() && line[1] == call.as_str())
        .unwrap_or_else(|| panic!("the table has no line for {from:?} {call:?}"));
    line[2 + KINDS.iter().position(|other| *other == kind).unwrap()]
}

fn standing(from: Status, kind: Kind) -> Standing {
    Standing {
        status: from,
        kind,
        paused_from: (from == Status::Paused).then_some(Status::Active),
        archived_from: (from == Status::Archived).then_some(Status::Draft),
        is_ahead: false,
    }
}

fn outcome(standing: Standing, call: Call) -> &'static str {
    match next(&standing, call) {
        Ok(to) => to.as_str(),
        Err(Refusal::Conflict(_)) => "!",
        Err(Refusal::Unfit(_)) => "?",
    }
}

#[test]
fn every_cell_is_as_decided() {
    for (_, from) in Status::NAMED {
        for call in Call::ALL {
            for kind in KINDS {
                let found = outcome(standing(*from, kind), call);
                assert_eq!(found, expected(*from, call, kind), "{from:?} {call:?} {kind:?}");
            }
        }
    }
}

#[test]
fn a_paused_campaign_waits_again_only_while_its_time_is_still_to_come() {
    for (paused_from, is_ahead, to) in [
        (Status::Scheduled, true, Status::Scheduled),
        (Status::Scheduled, false, Status::Active),
        (Status::Active, true, Status::Active),
        (Status::Active, false, Status::Active),
    ] {
        let standing = Standing {
            paused_from: Some(paused_from),
            is_ahead,
            ..standing(Status::Paused, Kind::OneTime)
        };
        assert_eq!(next(&standing, Call::Resume), Ok(to), "{paused_from:?} {is_ahead}");
    }
}

#[test]
fn nothing_comes_out_of_the_archive_sending() {
    for (before, to) in [
        (Status::Draft, Status::Draft),
        (Status::Scheduled, Status::Paused),
        (Status::Active, Status::Paused),
        (Status::Paused, Status::Paused),
        (Status::Completed, Status::Completed),
        (Status::Cancelled, Status::Cancelled),
        (Status::Failed, Status::Failed),
    ] {
        let standing =
            Standing { archived_from: Some(before), ..standing(Status::Archived, Kind::OneTime) };
        assert_eq!(next(&standing, Call::Unarchive), Ok(to), "{before:?}");
    }
}

#[test]
fn a_refusal_says_where_it_stands_and_what_is_wanted() {
    let refused = next(&standing(Status::Completed, Kind::OneTime), Call::Resume);
    let text = "The campaign is completed: only a paused campaign can be resumed".to_owned();
    assert_eq!(refused, Err(Refusal::Conflict(text)));
}

proptest! {
    /// A walk of random calls never leaves the table, and what is remembered on the way is enough to go on.
    #[test]
    fn random_histories_keep_to_the_table(
        kind in prop::sample::select(&KINDS[..]),
        calls in prop::collection::vec((prop::sample::select(&Call::ALL[..]), any::<bool>()), 1..60),
    ) {
        let mut at = standing(Status::Draft, kind);
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
