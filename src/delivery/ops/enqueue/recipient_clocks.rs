//! The time zones of recipients, and their hours of engagement.

use audience::model::Recipient;
use campaigns::{
    model::{Campaign, SendType},
    ops::Timetable,
};
use kernel::{Result, Timestamp, WorkspaceId, zone::Zone};

use crate::{
    DeliveryState,
    model::plan::{Candidate, Plan},
};

/// The time zones and engagement hours of an audience.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// The zone of recipients without a time zone and a country.
    workspace_zone: Zone,
    begins: Timestamp,
    /// Their engagement hours, for campaigns that use them.
    timetable: Option<Timetable>,
}

impl Clocks {
    /// Reads the clocks of a campaign's audience for an occurrence that begins at `begins`.
    ///
    /// # Errors
    /// When a store is unavailable; a bad request for more visits than can be held.
    pub(crate) async fn of(
        app: &DeliveryState,
        workspace: WorkspaceId,
        campaign: &Campaign,
        workspace_zone: Zone,
        begins: Timestamp,
    ) -> Result<Self> {
        let definition = &campaign.definition;
        let timetable = if definition.send_type == SendType::Intelligent {
            let now = app.clock().now();
            Some(Timetable::gather(app, workspace, definition, workspace_zone, now).await?)
        } else {
            None
        };
        Ok(Self { workspace_zone, begins, timetable })
    }

    /// Sets the popular hour of a plan, for recipients without enough history.
    pub(crate) fn apply_to(&self, plan: &mut Plan) {
        plan.set_popular_hour(self.timetable.as_ref().and_then(Timetable::popular_hour));
    }

    /// The time zone of a recipient.
    pub(crate) fn zone_of(&self, who: &Recipient) -> Zone {
        Zone::of_person(who.timezone.as_deref(), who.country.as_deref(), self.workspace_zone)
    }

    /// A recipient as the plan's candidate.
    pub(crate) fn candidate<'c>(
        &self,
        who: &Recipient,
        exposure: Option<&'c str>,
    ) -> Candidate<'c> {
        let zone = self.zone_of(who);
        let best_hour = self.timetable.as_ref().and_then(|timetable| {
            let id = who.user.to_string();
            timetable.best_hour([Some(&id), who.external_id.as_deref()], zone, self.begins)
        });
        Candidate { user: who.user, exposure, zone, best_hour }
    }
}
