import type { ClientConnection } from './connection.ts'

type Facts = Readonly<Record<string, string>>

/** An HTTP connection may serve hosts of several accounts, so the facts of each are apart. */
const logs = new WeakMap<ClientConnection, Map<string, Facts[]>>()

/** Remembers facts that a policy of an account logs about a connection, for the events of its traffic. */
export function logConnection(connection: ClientConnection, accountId: string, facts: Facts): void {
  const byAccount = logs.get(connection) ?? new Map<string, Facts[]>()
  logs.set(connection, byAccount)
  byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), facts])
}

/** What policies of an account logged about a connection, in order. */
export function connectionLogs(
  connection: ClientConnection,
  accountId: string,
): readonly Facts[] | undefined {
  return logs.get(connection)?.get(accountId)
}
