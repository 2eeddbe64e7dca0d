import { errorMessage } from '../../base/text/error-message.ts'
import { describeNetworkError } from '../../base/text/network-error.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import { StoreUnavailable } from '../store.ts'

// SQLSTATE classes and codes for a database that cannot serve now, as opposed to a wrong statement.
const UNAVAILABLE = /^(08|28|3D|3F|53|57|58|XX|25006|25P02|25P03|40|55P03|42501|42P01)/

/** Turns errors of an unavailable database into `StoreUnavailable`; other errors are bugs and stay as they are. */
export function translateError(error: unknown): unknown {
  const { code, name } = error as { code?: unknown; name?: string }
  if (name === 'StoreUnavailable' || !isUnavailable(error, code)) return error
  const remedy = CONFIGURATION_REMEDIES[String(code)] ?? 'Check that it is running, and --database-url'
  return new StoreUnavailable(`The PostgreSQL database cannot be used: ${describeError(error)}. ${remedy}.`, {
    cause: error,
  })
}

const RIGHTS = 'Grant its user the permissions that adit server check names'

/** What to do about states that do not end by themselves. */
const CONFIGURATION_REMEDIES: Readonly<Record<string, string>> = {
  '28000': 'Check the user in --database-url, and pg_hba.conf of the database',
  '28P01': 'Correct the user or password in --database-url',
  '3D000': 'Create the database, or correct its name in --database-url',
  '3F000': RIGHTS,
  '42501': RIGHTS,
  '42P01': 'Restore a backup into it, or correct --database-url',
}

type SystemError = NodeJS.ErrnoException & { hostname?: string; address?: string; port: number }

/** The message of an error, without the connection string. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0])
  const { syscall, hostname, address, port } = error as SystemError
  if (syscall === undefined) return errorMessage(error)
  const peer = hostname ?? (address === undefined ? 'the connection' : joinHostPort(address, port))
  return `${peer}: ${describeNetworkError(error)}`
}

function isUnavailable(error: unknown, code: unknown): boolean {
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object))
    return UNAVAILABLE.test(code)
  // Without an SQLSTATE the error comes from the driver or the network: refused, reset, timed out, ended.
  return (
    error instanceof Error &&
    (code !== undefined || /connect|timeout|terminated|closed|queryable|pool/i.test(error.message))
  )
}
