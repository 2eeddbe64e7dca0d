import { dirname } from 'node:path'
import { CommandFailure } from '../../base/process/command-line.ts'
import { FailpointError } from '../../base/process/failpoint.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import {
  BackupError,
  IncompatibleSchema,
  MasterKeyError,
  NewerSchema,
  StoreUnavailable,
  UnsupportedDatabase,
} from '../../store/index.ts'

/** Errors whose message is meant for the terminal. */
const USER_FACING_ERRORS = [
  CommandFailure,
  FailpointError,
  IncompatibleSchema,
  MasterKeyError,
  NewerSchema,
  StoreUnavailable,
  BackupError,
  UnsupportedDatabase,
]

type SystemError = NodeJS.ErrnoException & { address?: string; port?: number; hostname?: string }

/** The message for an expected error of `adit server`; undefined for a bug. */
export function describeStartError(error: unknown): string | undefined {
  if (USER_FACING_ERRORS.some((kind) => error instanceof kind)) return errorMessage(error)
  const systemError = error as SystemError
  if (systemError.syscall === undefined) return undefined
  if (systemError.path !== undefined) return describePathError(systemError, systemError.path)
  return describeListenError(systemError) ?? `System error: ${describeFileError(systemError)}.`
}

function describeListenError({ code, address, port, hostname }: SystemError): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `${address}:${port} is in use by another program. Stop it, or choose another address (adit server --help).`
    case 'EACCES':
      return `No permission to listen on ${address}:${port}: ports below 1024 are privileged. Choose a port above 1023, or run the server as a service (docs/install.md).`
    case 'EADDRNOTAVAIL':
      return `${address} is not an address of this machine. Listen on one of its addresses, or on all of them: 0.0.0.0:${port}.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${hostname} cannot be resolved. Listen on an IP address such as 127.0.0.1 or 0.0.0.0 (adit server --help).`
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return 'The disk is full. Free some space, then try again.'
    default:
      return undefined
  }
}

function describePathError(error: SystemError, path: string): string {
  const { code = '', syscall } = error
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG')
    return `The disk is full: ${path} cannot be written. Free some space, then try again.`
  const reason = describeFileError(error)
  // The parents exist by then: the file system itself takes no directories.
  if (syscall === 'mkdir' && code === 'ENOENT')
    return `The directory ${path} cannot be created: the file system of ${dirname(path)} does not allow new directories. Choose another one with --data-dir DIR.`
  return syscall === 'mkdir'
    ? `The directory ${path} cannot be created: ${reason}. Choose another one with --data-dir DIR.`
    : `${path} cannot be used: ${reason}. Correct the path or its permissions (adit server --help).`
}
