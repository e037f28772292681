//! By whose clocks recipients live, and at which of their hours they look.

use campaigns::{
    model::{Campaign, SendType},
    ops::Timetable,
};
use contacts::audience::model::Recipient;
use kernel::{Result, Timestamp, WorkspaceId, zone::Zone};

use crate::{
    DeliveryState,
    model::plan::{Candidate, Plan},
};

/// What is known of the clocks of an audience.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// The zone of those who named neither one nor a country.
    workspace_zone: Zone,
    begins: Timestamp,
    /// When they look; gathered where a campaign goes by it.
    timetable: Option<Timetable>,
}

impl Clocks {
    /// Of the audience of a campaign whose occurrence begins then.
    ///
    /// # Errors
    /// When a store is away; a bad request where there are more visits than can be held.
    pub(crate) async fn of(
        app: &DeliveryState,
        workspace: WorkspaceId,
        (campaign, workspace_zone): (&Campaign, Zone),
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

    /// Tells a plan what holds for those of whom too little is known.
    pub(crate) fn tell(&self, plan: &mut Plan) {
        plan.set_popular_hour(self.timetable.as_ref().and_then(Timetable::popular_hour));
    }

    /// The clocks of a recipient.
    pub(crate) fn zone_of(&self, who: &Recipient) -> Zone {
        Zone::of_person(who.timezone.as_deref(), who.country.as_deref(), self.workspace_zone)
    }

    /// A recipient as a plan asks for them.
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
