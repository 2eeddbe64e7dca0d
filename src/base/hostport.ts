import { parseDomain } from './domain.ts'

/** A host name and a port, as public entries are named. */
export interface Hostport {
  readonly host: string
  readonly port: number
}

/** Reads `host:port`; the host comes back in its normal form. */
export function parseHostport(text: string): Hostport {
  const match = /^(.+):([0-9]{1,5})$/.exec(text.trim())
  const port = Number(match?.[2])
  if (match === null || port < 1 || port > 65_535)
    throw new Error(`"${text}" is not of the form host:port with a port from 1 to 65535.`)
  return { host: parseDomain(match[1]!), port }
}
