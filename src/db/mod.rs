//! The PostgreSQL pool and its migrations.
