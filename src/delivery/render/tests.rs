//! What messages say.
