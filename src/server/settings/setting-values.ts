// How the values of settings are written. Each throws a sentence that names the flag and shows a value that it takes.
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { CommandFailure } from '../../base/process/command-line.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { EMAIL_ADDRESS } from '../../base/values/email-address.ts'
import { parseHostPort } from '../../base/values/hostport.ts'
import { type AddressFilter, compileRules } from '../../base/values/ip-rules.ts'

/** An address to listen on; undefined when the listener is switched off. */
export interface ListenerAddress {
  readonly host: string
  readonly port: number
}

/** host:port, or false. */
export function parseListenAddress(text: string, flag: string): ListenerAddress | undefined {
  if (text === 'false') return undefined
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (match === null || port > 65_535)
    throw new CommandFailure(
      `--${flag} must be host:port such as 127.0.0.1:4080 (port 0 for any free port), or false to switch it off, not "${text}".`,
    )
  return { host: match[1] ?? match[2]!, port }
}

/** host:port of another machine, or nothing. */
export function parseDialAddress(text: string, flag: string): string | undefined {
  if (text === '') return undefined
  if (parseHostPort(text)?.port === undefined)
    throw new CommandFailure(`--${flag} must be host:port such as 10.0.0.5:4444, not "${text}".`)
  return text
}

/** first-last. */
export function parsePortRange(text: string, flag: string): readonly [number, number] {
  const [, from, to] = /^([0-9]{1,5})-([0-9]{1,5})$/.exec(text) ?? []
  const range = [Number(from), Number(to)] as const
  if (from === undefined || range[0] < 1 || range[1] > 65_535 || range[0] > range[1])
    throw new CommandFailure(`--${flag} must be a port range such as 20000-20999, not "${text}".`)
  return range
}

/** A port, or nothing. */
export function parsePort(text: string, flag: string): number | undefined {
  if (text === '') return undefined
  const number = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > 65_535)
    throw new CommandFailure(`--${flag} must be a port from 1 to 65535, not "${text}".`)
  return number
}

/** A whole number. */
export function parseInteger(text: string, flag: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new CommandFailure(`--${flag} must be a whole number, not "${text}".`)
  return Number(text)
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A number with its unit; returns milliseconds. */
export function parseDuration(text: string, flag: string): number {
  const [, count, unit = ''] = /^([0-9]{1,6})([smhd]?)$/.exec(text) ?? []
  const unitMs = Number(count) === 0 ? 0 : UNIT_MS[unit]
  if (count === undefined || unitMs === undefined)
    throw new CommandFailure(
      `--${flag} must be a duration in s, m, h or d, such as 24h, or 0, not "${text}".`,
    )
  return Number(count) * unitMs
}

/** Words between commas. */
export function parseList(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

/** The address of a web server, or nothing; returns it without slashes at the end. */
export function parseHttpUrl(text: string, flag: string): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandFailure(`--${flag} must be an http or https address, not "${text}".`)
  return text.replace(/\/+$/, '')
}

/** Turns a single address into a range. */
function toCidr(text: string): string {
  const family = isIP(text)
  return family === 0 ? text : `${text}/${family === 4 ? 32 : 128}`
}

/** Addresses and ranges of addresses between commas. */
export function parseRanges(text: string, flag: string): AddressFilter {
  try {
    return compileRules(parseList(text).map((cidr) => ({ cidr: toCidr(cidr), action: 'allow' as const })))
  } catch (error) {
    throw new CommandFailure(`--${flag}: ${errorMessage(error)}`)
  }
}

/** `true` or `false`. */
export function parseBoolean(text: string, flag: string): boolean {
  if (text !== 'true' && text !== 'false')
    throw new CommandFailure(`--${flag} must be true or false, not "${text}".`)
  return text === 'true'
}

/** A text, or nothing. */
export const parseOptional = (text: string) => (text === '' ? undefined : text)
/** An email address, or nothing. */
export function parseEmail(text: string, flag: string): string | undefined {
  if (text === '' || EMAIL_ADDRESS.test(text)) return text || undefined
  throw new CommandFailure(`--${flag}: "${text}" is not an email address.`)
}
/** A path, or nothing; returns it as an absolute one. */
export const parseOptionalPath = (text: string) => (text === '' ? undefined : resolve(text))
