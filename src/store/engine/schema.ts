import type { Dialect } from './sql.ts'

/** A step from one version of the tables to the next. */
export interface Migration {
  readonly version: number
  /**
   * The oldest release schema that still works on the tables after this step. Steps that only add keep the previous value,
   * so that the previous release can be started again (P7).
   */
  readonly compatibleFrom: number
  statements(dialect: Dialect): readonly string[]
}

/** The table with the versions of all others. */
export const VERSIONS = 'schema_versions'

/** Every table in an order in which they can be filled; backups copy this list. */
export const TABLES = [
  'resources',
  'claims',
  'refs',
  'changes',
  'audit',
  'audit_heads',
  'settings',
  'leases',
  'event_deliveries',
  'event_sinks',
  'login_uses',
  'login_endings',
  'application_users',
  'application_sessions',
  'dashboard_sessions',
  'dashboard_sign_ins',
  'name_claims',
  'ip_data_files',
  'ip_data_chunks',
  'head',
] as const

/** Tables of what runs now, which backups leave out. */
export const TRANSIENT_TABLES = ['nodes', 'name_nodes'] as const

/** The migrations in order of version. A released step is never edited: changes are new steps. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE resources (
        account ${text} NOT NULL, kind ${text} NOT NULL, id ${text} NOT NULL,
        data ${text} NOT NULL, sealed ${text},
        revision ${integer} NOT NULL, created_at ${integer} NOT NULL,
        PRIMARY KEY (account, kind, id))${clustered}`,
      'CREATE UNIQUE INDEX resources_by_id ON resources (id)',
      'CREATE INDEX resources_by_kind ON resources (kind, id)',
      `CREATE TABLE claims (
        scope ${text} NOT NULL, name ${text} NOT NULL,
        account ${text} NOT NULL, kind ${text} NOT NULL, id ${text} NOT NULL,
        PRIMARY KEY (scope, name))${clustered}`,
      'CREATE INDEX claims_by_id ON claims (id)',
      `CREATE TABLE refs (
        id ${text} NOT NULL, field ${text} NOT NULL, target ${text} NOT NULL,
        account ${text} NOT NULL, kind ${text} NOT NULL, on_delete ${text} NOT NULL,
        PRIMARY KEY (id, field, target))${clustered}`,
      'CREATE INDEX refs_by_target ON refs (target, id)',
      `CREATE TABLE changes (
        revision ${integer} NOT NULL PRIMARY KEY, at ${integer} NOT NULL,
        account ${text} NOT NULL, kind ${text} NOT NULL, id ${text} NOT NULL, op ${text} NOT NULL,
        data ${text} NOT NULL, created_at ${integer} NOT NULL,
        principal ${text}, credential ${text})`,
      `CREATE TABLE audit (
        account ${text} NOT NULL, id ${text} NOT NULL, at ${integer} NOT NULL,
        principal ${text}, credential ${text}, source ${text}, request_id ${text} NOT NULL,
        action ${text} NOT NULL, kind ${text} NOT NULL, object ${text}, outcome ${text} NOT NULL, detail ${text},
        hash ${text} NOT NULL,
        PRIMARY KEY (account, id))${clustered}`,
      `CREATE TABLE audit_heads (
        account ${text} NOT NULL PRIMARY KEY, id ${text} NOT NULL, hash ${text} NOT NULL)${clustered}`,
      `CREATE TABLE settings (
        name ${text} NOT NULL PRIMARY KEY, value ${text} NOT NULL, sealed ${integer} NOT NULL)${clustered}`,
      `CREATE TABLE leases (
        name ${text} NOT NULL PRIMARY KEY, holder ${text} NOT NULL, fence ${integer} NOT NULL,
        ttl ${integer} NOT NULL, expires_at ${integer} NOT NULL)${clustered}`,
      `CREATE TABLE head (one ${integer} NOT NULL PRIMARY KEY, revision ${integer} NOT NULL, pruned ${integer} NOT NULL,
        audits ${integer} NOT NULL)`,
      'INSERT INTO head (one, revision, pruned, audits) VALUES (1, 0, 0, 0)',
    ],
  },
  {
    version: 2,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE event_deliveries (
        destination ${text} NOT NULL, id ${text} NOT NULL, account ${text} NOT NULL, type ${text} NOT NULL,
        at ${integer} NOT NULL, body ${text} NOT NULL, size ${integer} NOT NULL,
        first_at ${integer} NOT NULL, due_at ${integer} NOT NULL, attempts ${integer} NOT NULL,
        dead_at ${integer}, error ${text},
        PRIMARY KEY (destination, id))`,
      'CREATE INDEX event_deliveries_due ON event_deliveries (destination, due_at, id) WHERE dead_at IS NULL',
      'CREATE INDEX event_deliveries_dead ON event_deliveries (destination, id) WHERE dead_at IS NOT NULL',
      'CREATE INDEX event_deliveries_died ON event_deliveries (dead_at) WHERE dead_at IS NOT NULL',
      `CREATE TABLE event_sinks (
        destination ${text} NOT NULL PRIMARY KEY, account ${text} NOT NULL,
        queued ${integer} NOT NULL DEFAULT 0, queued_bytes ${integer} NOT NULL DEFAULT 0,
        dead ${integer} NOT NULL DEFAULT 0, enqueued ${integer} NOT NULL DEFAULT 0,
        delivered ${integer} NOT NULL DEFAULT 0, failed ${integer} NOT NULL DEFAULT 0,
        overflowed ${integer} NOT NULL DEFAULT 0,
        last_success_at ${integer}, last_error_at ${integer}, last_error ${text},
        gone_revision ${integer})${clustered}`,
      'CREATE INDEX event_sinks_waiting ON event_sinks (destination) WHERE queued > 0',
    ],
  },
  {
    version: 3,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE login_uses (
        id ${text} NOT NULL PRIMARY KEY, expires_at ${integer} NOT NULL)${clustered}`,
      'CREATE INDEX login_uses_expired ON login_uses (expires_at)',
      `CREATE TABLE login_endings (
        place ${text} NOT NULL, subject ${text} NOT NULL, at ${integer} NOT NULL,
        expires_at ${integer} NOT NULL, number ${integer} NOT NULL,
        PRIMARY KEY (place, subject))${clustered}`,
      'CREATE INDEX login_endings_expired ON login_endings (expires_at)',
      'CREATE UNIQUE INDEX login_endings_by_number ON login_endings (number)',
    ],
  },
  {
    version: 4,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE dashboard_sessions (
        digest ${text} NOT NULL PRIMARY KEY, id ${text} NOT NULL, account ${text} NOT NULL,
        owner ${text} NOT NULL, api_key ${text},
        created_at ${integer} NOT NULL, seen_at ${integer} NOT NULL)${clustered}`,
      'CREATE INDEX dashboard_sessions_by_owner ON dashboard_sessions (owner, id)',
      'CREATE INDEX dashboard_sessions_seen ON dashboard_sessions (seen_at)',
    ],
  },
  {
    version: 5,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE nodes (
        id ${text} NOT NULL PRIMARY KEY, address ${text} NOT NULL, expires_at ${integer} NOT NULL)${clustered}`,
    ],
  },
  {
    version: 6,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE name_claims (
        name ${text} NOT NULL, listener ${text} NOT NULL, tunnel ${text} NOT NULL,
        account ${text} NOT NULL, node ${text} NOT NULL, session ${text} NOT NULL, bind ${text} NOT NULL,
        credential ${text} NOT NULL, client ${text} NOT NULL, proto ${text} NOT NULL, pooled ${integer} NOT NULL,
        fence ${integer} NOT NULL, released_at ${integer}, kept ${integer} NOT NULL,
        PRIMARY KEY (name, listener, tunnel))${clustered}`,
      'CREATE INDEX name_claims_by_tunnel ON name_claims (tunnel)',
      'CREATE INDEX name_claims_held ON name_claims (node) WHERE released_at IS NULL',
      'CREATE INDEX name_claims_released ON name_claims (released_at) WHERE released_at IS NOT NULL',
      `CREATE TABLE name_nodes (
        node ${text} NOT NULL PRIMARY KEY, ttl ${integer} NOT NULL, expires_at ${integer} NOT NULL)${clustered}`,
    ],
  },
  {
    version: 7,
    compatibleFrom: 1,
    statements: ({ text }) => [`ALTER TABLE nodes ADD COLUMN agent_address ${text} NOT NULL DEFAULT ''`],
  },
  {
    version: 8,
    compatibleFrom: 1,
    statements: ({ text }) => [`ALTER TABLE audit ADD COLUMN changes ${text}`],
  },
  {
    version: 9,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE ip_data_files (
        name ${text} NOT NULL PRIMARY KEY, digest ${text} NOT NULL, size ${integer} NOT NULL,
        imported_at ${integer} NOT NULL)${clustered}`,
      `CREATE TABLE ip_data_chunks (
        digest ${text} NOT NULL, number ${integer} NOT NULL, data ${text} NOT NULL,
        PRIMARY KEY (digest, number))`,
    ],
  },
  {
    version: 10,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE application_users (
        account ${text} NOT NULL, id ${text} NOT NULL, subject ${text} NOT NULL, profile ${text} NOT NULL,
        created_at ${integer} NOT NULL, last_login ${integer} NOT NULL, last_active ${integer} NOT NULL,
        PRIMARY KEY (account, id))${clustered}`,
      'CREATE UNIQUE INDEX application_users_by_subject ON application_users (account, subject)',
      'CREATE INDEX application_users_active ON application_users (last_active)',
      `CREATE TABLE application_sessions (
        account ${text} NOT NULL, id ${text} NOT NULL, user_id ${text} NOT NULL,
        place ${text} NOT NULL, person ${text} NOT NULL, details ${text} NOT NULL,
        created_at ${integer} NOT NULL, last_active ${integer} NOT NULL,
        ends_at ${integer} NOT NULL, expires_at ${integer} NOT NULL,
        PRIMARY KEY (account, id))${clustered}`,
      'CREATE INDEX application_sessions_by_user ON application_sessions (account, user_id)',
      'CREATE INDEX application_sessions_by_id ON application_sessions (id)',
      'CREATE INDEX application_sessions_by_person ON application_sessions (place, person)',
      'CREATE INDEX application_sessions_expired ON application_sessions (expires_at)',
    ],
  },
  {
    version: 11,
    compatibleFrom: 1,
    statements: ({ text }) => [
      `ALTER TABLE application_sessions ADD COLUMN client ${text}`,
      `ALTER TABLE application_sessions ADD COLUMN provider_session ${text}`,
      'CREATE INDEX application_sessions_by_client_person ON application_sessions (client, person)',
      'CREATE INDEX application_sessions_by_provider_session ON application_sessions (client, provider_session)',
    ],
  },
  {
    version: 12,
    compatibleFrom: 1,
    statements: ({ text, integer, clustered }) => [
      `CREATE TABLE dashboard_sign_ins (
        account ${text} NOT NULL, owner ${text} NOT NULL, at ${integer} NOT NULL,
        PRIMARY KEY (account, owner))${clustered}`,
    ],
  },
]
