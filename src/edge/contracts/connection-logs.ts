import type { ClientConnection } from './connection.ts'

type LogFields = Readonly<Record<string, string>>

/** An HTTP connection may serve hosts of several accounts, so the fields of each are apart. */
const logs = new WeakMap<ClientConnection, Map<string, LogFields[]>>()

/** Remembers fields that a policy of an account logs about a connection, for the events of its traffic. */
export function logConnection(connection: ClientConnection, accountId: string, fields: LogFields): void {
  const byAccount = logs.get(connection) ?? new Map<string, LogFields[]>()
  logs.set(connection, byAccount)
  byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), fields])
}

/** What policies of an account logged about a connection, in order. */
export function connectionLogs(
  connection: ClientConnection,
  accountId: string,
): readonly LogFields[] | undefined {
  return logs.get(connection)?.get(accountId)
}
