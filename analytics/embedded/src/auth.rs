//! Who may ask: one user, one secret, compared in constant time.

use subtle::ConstantTimeEq;

use crate::fault::{Fault, code};

/// The one credential that is let in.
pub(crate) struct Credential {
    user: String,
    password: String,
}

impl Credential {
    pub(crate) fn new(user: String, password: String) -> Self {
        Self { user, password }
    }

    /// Lets the right pair through. A pair that was not given at all is refused like a wrong one.
    pub(crate) fn check(&self, given: Option<(&str, &str)>) -> Result<(), Fault> {
        let (user, password) = given.unwrap_or(("default", ""));
        let right = user.as_bytes().ct_eq(self.user.as_bytes())
            & password.as_bytes().ct_eq(self.password.as_bytes());
        if given.is_some() && bool::from(right) {
            return Ok(());
        }
        Err(Fault::new(
            code::AUTHENTICATION_FAILED,
            "AUTHENTICATION_FAILED",
            "Authentication failed: password is incorrect, or there is no user with such name",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_pair_is_let_in() {
        let credential = Credential::new("millrace".into(), "secret".into());
        assert!(credential.check(Some(("millrace", "secret"))).is_ok());
        for wrong in [
            None,
            Some(("millrace", "")),
            Some(("millrace", "secret2")),
            Some(("default", "secret")),
        ] {
            assert_eq!(credential.check(wrong).unwrap_err().code, code::AUTHENTICATION_FAILED);
        }
    }

    #[test]
    fn an_empty_secret_does_not_let_in_those_who_give_none() {
        assert!(Credential::new("default".into(), String::new()).check(None).is_err());
    }
}
