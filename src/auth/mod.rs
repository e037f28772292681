//! Credential → caller → scope: API keys, dashboard sessions, and an argument type per scope.
