/** Parameters of a URL that are secret, or belong to who connects and not to the database. */
const CREDENTIALS = new Set(['user', 'password', 'sslpassword'])
/** What a host can have in a URL: a name, an address, or a percent-encoded directory of a socket. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._%-]*)(?::([0-9]{1,5}))?$/

const MAX_PORT = 65_535

/** The parts of a PostgreSQL URL as they are written, still percent-encoded. */
export interface PostgresUrl {
  /** `user:password`, empty without one. */
  readonly userInfo: string
  /** `host` or `host:port`, several for a database with standbys. */
  readonly hosts: readonly string[]
  readonly database: string
  readonly parameters: readonly (readonly [name: string, value: string])[]
}

/** Splits a URL of PostgreSQL; undefined when it is none. It may name several hosts, and none beside a parameter `host`. */
export function parsePostgresUrl(text: string): PostgresUrl | undefined {
  const [, rest] = /^postgres(?:ql)?:\/\/([^#]*)$/.exec(text) ?? []
  if (rest === undefined) return undefined
  const [location = '', query = ''] = splitAt(rest, rest.indexOf('?'))
  const [authority = '', database = ''] = splitAt(location, location.indexOf('/'))
  const [userInfo, hostList] = splitAt(authority, authority.lastIndexOf('@'))
  const hosts = (hostList ?? userInfo!).split(',')
  const parameters = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name, value = ''] = splitAt(pair, pair.indexOf('='))
      return [name!, value] as const
    })
  const isValid =
    hosts.every(isHost) &&
    (hosts.length === 1 || !hosts.includes('')) &&
    isDecodable(text) &&
    !/\s/.test(text)
  return isValid
    ? { userInfo: hostList === undefined ? '' : userInfo!, hosts, database, parameters }
    : undefined
}

/** Writes a URL of parts, with one host. */
export function formatPostgresUrl(
  { userInfo, database, parameters }: Omit<PostgresUrl, 'hosts'>,
  host: string,
): string {
  const query = parameters.map(([name, value]) => `${name}=${value}`).join('&')
  return `postgres://${userInfo === '' ? '' : `${userInfo}@`}${host}/${database}${query === '' ? '' : `?${query}`}`
}

/** Identifies a database without the credentials of its user, which are secret and may change. */
export function identifyPostgres(text: string): string {
  const url = parsePostgresUrl(text)
  if (url === undefined) return ''
  const parameters = url.parameters.filter(([name]) => !CREDENTIALS.has(name))
  return formatPostgresUrl({ ...url, userInfo: '', parameters }, url.hosts.join(','))
}

/** Whether a URL contains a password. */
export function hasPassword(text: string): boolean {
  const url = parsePostgresUrl(text)
  if (url === undefined) return false
  return (
    url.userInfo.includes(':') || url.parameters.some(([name]) => name !== 'user' && CREDENTIALS.has(name))
  )
}

function isHost(text: string): boolean {
  const [match, , port = 0] = HOST.exec(text) ?? []
  return match !== undefined && Number(port) <= MAX_PORT
}

function splitAt(text: string, index: number): [string, string?] {
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
