import CPostgreSQL

/// The version of the libpq that this program runs with. PostgreSQL's number 150004 is 15.4.
///
/// Source: PostgreSQL, `PQlibVersion`.
package var clientLibraryVersion: Int { Int(PQlibVersion()) }
