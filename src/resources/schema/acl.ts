import { parseDomain } from '../../base/values/domain.ts'

/** One rule of the ACL of a credential: what it may bind. */
export type AclRule =
  | { readonly kind: 'any'; readonly text: string }
  | { readonly kind: 'domain'; readonly pattern: string; readonly text: string }
  | { readonly kind: 'address'; readonly host: string; readonly port: number; readonly text: string }
  | { readonly kind: 'label'; readonly key: string; readonly value: string; readonly text: string }

/** Parses `*`, `bind:*`, `bind:<domain>`, `bind:<host:port>` or `bind:<key>=<value>`; throws with the reason otherwise. */
export function parseAclRule(rule: string): AclRule {
  const text = rule.trim()
  if (text === '*' || text === 'bind:*') return { kind: 'any', text }
  const target = /^bind:(.+)$/.exec(text)?.[1]
  if (target === undefined)
    throw new Error(
      `"${rule}" is not an ACL rule; write *, bind:<domain>, bind:<host:port> or bind:<key>=<value>.`,
    )

  const equals = target.indexOf('=')
  if (equals >= 0) {
    const key = target.slice(0, equals)
    const value = target.slice(equals + 1)
    if (key === '' || value === '')
      throw new Error(`"${rule}": a label rule needs a key and a value around its =.`)
    return { kind: 'label', key, value, text }
  }

  const address = /^(.+):([0-9]{1,5})$/.exec(target)
  if (address !== null) {
    const port = Number(address[2])
    if (port < 1 || port > 65_535) throw new Error(`"${rule}": a port is a number from 1 to 65535.`)
    const host = parseDomain(address[1]!)
    return { kind: 'address', host, port, text: `bind:${host}:${port}` }
  }

  const pattern = parseDomain(target)
  return { kind: 'domain', pattern, text: `bind:${pattern}` }
}
