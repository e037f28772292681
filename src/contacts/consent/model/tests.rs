//! The transitions row by row, and the plan against an independent model.

use std::collections::{BTreeMap, HashMap};

use kernel::{Channel, ListId, OrganizationId, Timestamp, UserId, WorkspaceId};
use proptest::prelude::*;
use uuid::Uuid;
use web::audit::Action;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_772_366_400_000);
const LATER: Timestamp = Timestamp::from_millis(1_772_366_500_000);

fn tenant() -> Tenant {
    Tenant {
        organization: OrganizationId::new(Uuid::from_u128(1)),
        workspace: WorkspaceId::new(Uuid::from_u128(2)),
    }
}

#[test]
fn every_change_of_a_channel_has_its_action_in_the_history() {
    use ChannelStatus::{OptedIn, Subscribed, Unsubscribed};
    let table = [
        (None, OptedIn, Action::Subscribe),
        (None, Subscribed, Action::Subscribe),
        (None, Unsubscribed, Action::Unsubscribe),
        (Some(Unsubscribed), OptedIn, Action::Resubscribe),
        (Some(Unsubscribed), Subscribed, Action::Resubscribe),
        (Some(Unsubscribed), Unsubscribed, Action::ApiUpdate),
        (Some(OptedIn), Unsubscribed, Action::Unsubscribe),
        (Some(Subscribed), Unsubscribed, Action::Unsubscribe),
        (Some(OptedIn), OptedIn, Action::ApiUpdate),
        (Some(Subscribed), Subscribed, Action::ApiUpdate),
        (Some(OptedIn), Subscribed, Action::ApiUpdate),
        (Some(Subscribed), OptedIn, Action::ApiUpdate),
    ];
    for (from, to, action) in table {
        assert_eq!(ChannelStatus::action(from, to), action, "{from:?} to {to:?}");
    }
}

#[test]
fn every_change_of_a_membership_has_its_action_in_the_history() {
    use MembershipStatus::{Subscribed, Unsubscribed};
    let table = [
        (None, Subscribed, Action::Subscribe),
        (None, Unsubscribed, Action::Unsubscribe),
        (Some(Unsubscribed), Subscribed, Action::Resubscribe),
        (Some(Unsubscribed), Unsubscribed, Action::ApiUpdate),
        (Some(Subscribed), Unsubscribed, Action::Unsubscribe),
        (Some(Subscribed), Subscribed, Action::ApiUpdate),
    ];
    for (from, to, action) in table {
        assert_eq!(MembershipStatus::action(from, to), action, "{from:?} to {to:?}");
    }
}

#[test]
fn dates_are_those_of_the_changes_and_the_text_is_the_latest() {
    let mut state = ChannelState::NONE;
    state.set(NOW, ChannelStatus::OptedIn, "form", Some("yes, please"));
    assert_eq!((state.opt_in_date, state.opt_out_date), (Some(NOW), None));
    state.set(LATER, ChannelStatus::OptedIn, "api", None);
    assert_eq!(state.opt_in_date, Some(NOW), "it has been opted in since then");
    assert_eq!(state.source.as_deref(), Some("api"));
    assert_eq!(state.consent_text.as_deref(), Some("yes, please"), "nothing was said anew");
    state.set(LATER, ChannelStatus::Unsubscribed, "api", None);
    assert_eq!((state.opt_in_date, state.opt_out_date), (Some(NOW), Some(LATER)));
}

fn bounced(kind: BounceType) -> ChannelState {
    let is_valid = kind == BounceType::Soft;
    let bounce = Bounce { is_valid, kind: Some(kind), count: 3, last_at: Some(NOW) };
    ChannelState { bounce, ..ChannelState::NONE }
}

#[test]
fn an_opt_in_clears_a_soft_bounce_and_never_a_hard_one() {
    use ChannelStatus::{OptedIn, Subscribed, Unsubscribed};
    for (kind, to, forgets) in [
        (BounceType::Soft, OptedIn, true),
        (BounceType::Soft, Subscribed, true),
        (BounceType::Soft, Unsubscribed, false),
        (BounceType::Hard, OptedIn, false),
        (BounceType::Hard, Subscribed, false),
        (BounceType::Hard, Unsubscribed, false),
    ] {
        // Also when the status is set already.
        for before in [None, Some(to)] {
            let mut state = ChannelState { status: before, ..bounced(kind) };
            state.set(LATER, to, "api", None);
            let expected = if forgets { Bounce::NONE } else { bounced(kind).bounce };
            assert_eq!(state.bounce, expected, "{kind:?} {before:?} {to:?}");
        }
    }
}

#[test]
fn a_channel_shows_only_the_fields_that_are_known() {
    let mut channels = Channels::default();
    channels.put(Channel::Email, ChannelState::NONE);
    channels.put(Channel::Push, ChannelState::NONE);
    assert_eq!(serde_json::to_value(&channels).unwrap(), serde_json::json!({}));
    channels.put(Channel::Email, bounced(BounceType::Hard));
    let mut sms = ChannelState::NONE;
    sms.set(NOW, ChannelStatus::Subscribed, "api", None);
    channels.put(Channel::Sms, sms.clone());
    assert_eq!(
        serde_json::to_value(&channels).unwrap(),
        serde_json::json!({
            "email": {"isValid": false, "bounceType": "hard", "bounceCount": 3, "lastBounceAt": "2026-03-01T12:00:00.000Z"},
            "sms": {"status": "subscribed", "optInDate": "2026-03-01T12:00:00.000Z", "optInSource": "api"},
        })
    );
    channels.put(Channel::Email, sms);
    let email = serde_json::to_value(channels.get(Channel::Email)).unwrap();
    assert_eq!((&email["isValid"], &email["bounceCount"]), (&true.into(), &0.into()));
    assert!(email["bounceType"].is_null() && email.get("lastBounceAt").is_none());
}

#[test]
fn an_idempotent_change_leaves_the_row_as_it_is() {
    let change = change((1, 1, 0), MembershipStatus::Subscribed);
    let row = Membership::begin(tenant(), &change);
    assert_eq!(row.changed(&MembershipChange { now: LATER, ..change }), row);
    let new_text = MembershipChange { now: LATER, consent_text: Some("again"), ..change };
    let again = row.changed(&new_text);
    assert_eq!((again.subscribed_at, again.updated_at), (Some(NOW), LATER));
    let to = MembershipStatus::Unsubscribed;
    let out = row.changed(&MembershipChange { now: LATER, to, ..change });
    assert_eq!((out.subscribed_at, out.updated_at), (Some(NOW), LATER));
    assert_eq!(out.id, row.id);
}

fn change(cell: Cell, to: MembershipStatus) -> MembershipChange<'static> {
    MembershipChange { key: key_of(cell), now: NOW, to, source: "api", consent_text: None }
}

fn key_of((user, list, channel): (u8, u8, usize)) -> MembershipKey {
    MembershipKey {
        user: UserId::from_bytes([user; 12]),
        list: ListId::new(Uuid::from_u128(u128::from(list))),
        channel: Channel::ALL[channel],
    }
}

/// Users 1 and 2 exist; list 1 is active, list 2 archived; others are not there.
fn known() -> PlanInput {
    let list = |archived| ListState { archived, require_double_opt_in: false };
    PlanInput {
        users: [1, 2].map(|user| UserId::from_bytes([user; 12])).into(),
        lists: [(1, list(false)), (2, list(true))]
            .map(|(id, state)| (ListId::new(Uuid::from_u128(id)), state))
            .into(),
        rows: HashMap::new(),
    }
}

type Cell = (u8, u8, usize);

/// The expected outcome of one request.
fn expected(
    mode: Mode,
    before: Option<MembershipStatus>,
    cell: Cell,
    to: MembershipStatus,
) -> (RequestOutcome, Option<MembershipStatus>) {
    use MembershipStatus::{Subscribed, Unsubscribed};
    let (user, list, _) = cell;
    if user > 2 {
        return (RequestOutcome::Refused(SkipReason::ContactNotFound), before);
    }
    if list > 2 {
        return (RequestOutcome::Refused(SkipReason::ListNotFound), before);
    }
    if list == 2 && to == Subscribed {
        return (RequestOutcome::Refused(SkipReason::ListArchived), before);
    }
    match (mode, before) {
        (Mode::OnBehalf | Mode::Add, Some(Unsubscribed)) if to == Subscribed => {
            (RequestOutcome::Refused(SkipReason::OptedOut), before)
        }
        (Mode::Add, Some(_)) | (Mode::Remove, None | Some(Unsubscribed)) => {
            (RequestOutcome::Untouched, before)
        }
        _ => (RequestOutcome::Written, Some(to)),
    }
}

fn statuses() -> impl Strategy<Value = MembershipStatus> {
    prop_oneof![Just(MembershipStatus::Subscribed), Just(MembershipStatus::Unsubscribed)]
}

proptest! {
    /// The plans are applied one after the other to the same rows, like successive requests.
    #[test]
    fn a_plan_has_the_expected_outcome_of_each_request(
        batches in prop::collection::vec(
            (0..4_usize, prop::collection::vec(((1..4_u8, 1..4_u8, 0..2_usize), statuses()), 1..8)),
            1..8,
        ),
    ) {
        let mut known = known();
        let mut model: BTreeMap<Cell, MembershipStatus> = BTreeMap::new();
        for (mode, requests) in batches {
            let mode = [Mode::ByContact, Mode::OnBehalf, Mode::Add, Mode::Remove][mode];
            let asked: Vec<_> =
                requests.iter().map(|(cell, to)| change(*cell, *to)).collect();
            let plan = plan(tenant(), mode, &known, &asked);
            prop_assert_eq!(plan.outcomes.len(), requests.len());
            let mut entries = plan.entries.iter();
            for ((cell, to), outcome) in requests.iter().zip(&plan.outcomes) {
                let before = model.get(cell).copied();
                let (expected, after) = expected(mode, before, *cell, *to);
                prop_assert_eq!(*outcome, expected);
                if expected == RequestOutcome::Written {
                    let entry = entries.next().expect("a write has an entry");
                    prop_assert_eq!(entry.previous.as_deref(), before.map(MembershipStatus::as_str));
                    prop_assert_eq!(entry.new.as_deref(), Some(to.as_str()));
                }
                if let Some(after) = after {
                    model.insert(*cell, after);
                }
            }
            prop_assert!(entries.next().is_none(), "an entry without a write");
            for row in plan.rows {
                known.rows.insert(row.key(), row);
            }
            prop_assert_eq!(known.rows.len(), model.len());
            for (cell, status) in &model {
                prop_assert_eq!(known.rows[&key_of(*cell)].status, *status);
            }
        }
    }
}
