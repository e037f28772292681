//! What privacy requests work on.

use std::sync::Arc;

use ingest::spool::Spool;
use web::Services;

use crate::erasures_file::ErasuresFile;

/// What privacy requests work on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PrivacyState(Arc<PrivacyParts>);

/// The parts of [`PrivacyState`].
#[derive(Debug)]
pub struct PrivacyParts {
    pub services: Services,
    /// The spool of this process.
    pub spool: Spool,
    /// Its list of erasures.
    pub erasures: ErasuresFile,
}

impl PrivacyState {
    pub fn new(parts: PrivacyParts) -> Self {
        Self(Arc::new(parts))
    }

    pub(crate) fn parts(&self) -> &PrivacyParts {
        &self.0
    }
}

web::area_state!(PrivacyState, Services, 0.services);
