import CPostgreSQL

/// The libpq that this program runs with, as PostgreSQL numbers versions: 150004 is 15.4.
///
/// Source: PostgreSQL, `PQlibVersion`.
package var clientLibraryVersion: Int { Int(PQlibVersion()) }
