//! Who may ask: one user, one secret, compared in constant time.

use subtle::ConstantTimeEq;

use crate::fault::{Fault, code};

/// The one credential that is let in.
pub(crate) struct Credential {
    user: String,
    password: String,
}

/// User and password of a request, unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
}

impl Credential {
    pub(crate) fn new(user: String, password: String) -> Self {
        Self { user, password }
    }

    /// Lets the right pair through. A pair that was not given at all is refused like a wrong one.
    pub(crate) fn check(&self, given: Option<Given<'_>>) -> Result<(), Fault> {
        let Given { user, password } = given.unwrap_or(Given { user: "default", password: "" });
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
        assert!(credential.check(Some(Given { user: "millrace", password: "secret" })).is_ok());
        for wrong in [
            None,
            Some(Given { user: "millrace", password: "" }),
            Some(Given { user: "millrace", password: "secret2" }),
            Some(Given { user: "default", password: "secret" }),
        ] {
            assert_eq!(credential.check(wrong).unwrap_err().code, code::AUTHENTICATION_FAILED);
        }
    }

    #[test]
    fn an_empty_secret_does_not_let_in_those_who_give_none() {
        assert!(Credential::new("default".into(), String::new()).check(None).is_err());
    }
}
