import { parseAddress, parseCidr } from '../../base/values/cidr.ts'
import { type MaterialField, problem } from '../problem.ts'

const MAX_PRINCIPALS = 256 // OpenSSH rejects a certificate with more.
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/

/** Validates that every principal is a name a server can compare. */
export function checkPrincipals(principals: string[]): void {
  if (principals.length > MAX_PRINCIPALS) throw problem('principals', 'principals', MAX_PRINCIPALS)
  for (const principal of principals) {
    const bytes = Buffer.byteLength(principal)
    if (bytes < 1 || bytes > 255 || CONTROL_CHARACTER.test(principal))
      throw problem('principals', 'principal', principal)
  }
}

/** Validates that only the two known critical options are present, with values OpenSSH accepts. */
export function checkCriticalOptions(options: Record<string, string>): void {
  for (const [name, value] of Object.entries(options)) {
    if (name === 'source-address') checkSourceAddress(value)
    else if (name !== 'force-command') throw problem('critical_options', 'critical_option', name)
    else if (value === '' || Buffer.byteLength(value) > 4096 || CONTROL_CHARACTER.test(value))
      throw problem('critical_options', 'force_command')
  }
}

// sshd rejects the whole certificate when one of these carries a value.
const FLAG_EXTENSIONS = [
  'no-touch-required',
  'permit-X11-forwarding',
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-pty',
  'permit-user-rc',
]

/** Validates extension names, and that flag extensions have no value. */
export function checkExtensions(extensions: Record<string, string>): void {
  const field: MaterialField = 'extensions'
  for (const [name, value] of Object.entries(extensions)) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$/.test(name)) throw problem(field, 'extension', name)
    if (FLAG_EXTENSIONS.includes(name) && value !== '')
      throw problem(field, 'extension_value', name, 'must be empty')
    if (Buffer.byteLength(value) > 4096 || CONTROL_CHARACTER.test(value))
      throw problem(field, 'extension_value', name, 'must have at most 4096 bytes and no control characters')
  }
}

function checkSourceAddress(list: string): void {
  const entries = list.split(',')
  const invalid = entries.find((entry) => !isNetwork(entry))
  if (invalid !== undefined || entries.length > 256)
    throw problem('critical_options', 'source_address', invalid ?? list.slice(0, 60))
}

/** An address or a range without host bits, the only form OpenSSH matches. */
function isNetwork(entry: string): boolean {
  if (/\s/.test(entry)) return false
  if (parseAddress(entry) !== undefined) return true
  try {
    parseCidr(entry)
    return true
  } catch {
    return false
  }
}
