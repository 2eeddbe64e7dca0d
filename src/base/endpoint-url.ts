import { parseDomain } from './domain.ts'

const INTERNAL_TLD = 'internal'
const MAX_INTERNAL_LABELS = 5

/** Whether a host name is one of internal endpoints. */
export const isInternalName = (host: string): boolean => host.endsWith(`.${INTERNAL_TLD}`)

/** Parses the URL of an endpoint that serves HTTP; throws a sentence that says what is wrong with it. */
export function parseEndpointUrl(url: string): { proto: 'http' | 'https'; host: string; port: number } {
  const match = /^(https?):\/\/([^/?#@:\s]+)(?::([0-9]{1,5}))?\/?$/i.exec(url)
  if (match === null)
    throw new Error(`"${url.slice(0, 80)}" is not a URL of an endpoint, such as https://app.example.com.`)
  const proto = match[1]!.toLowerCase() === 'http' ? 'http' : 'https'
  const port = match[3] === undefined ? (proto === 'http' ? 80 : 443) : Number(match[3])
  if (port < 1 || port > 65_535) throw new Error(`${match[3]} is not a port.`)
  return { proto, host: parseDomain(match[2]!), port }
}

/** The same for an internal endpoint. */
export function parseInternalUrl(url: string): ReturnType<typeof parseEndpointUrl> {
  const { proto, host, port } = parseEndpointUrl(url)
  if (!isInternalName(host))
    throw new Error(`the host of an internal endpoint ends in .internal, not "${host}".`)
  if (host.split('.').length - 1 > MAX_INTERNAL_LABELS)
    throw new Error(`an internal name has at most ${MAX_INTERNAL_LABELS} labels before .internal.`)
  return { proto, host, port }
}
