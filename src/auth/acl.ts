import { covers, parseDomain } from '../base/values/domain.ts'
import { type AclRule, parseAclRule } from '../resources/index.ts'

/** The compiled bind rules of a credential. */
export interface Acl {
  /** A host name, which may be a wildcard. */
  allowsName(host: string): boolean
  allowsAddress(host: string, port: number): boolean
  /** A TCP address that the server chooses: only without restrictions, because no rule can name it beforehand. */
  allowsAnyAddress(): boolean
  allowsLabel(key: string, value: string): boolean
}

/**
 * Compiles a credential's rules. An empty list allows everything, as documented; an invalid rule allows nothing, but its
 * list does not count as empty.
 */
export function compileAcl(rules: readonly string[]): Acl {
  const parsed = rules.map(parseRule)
  const unrestricted = rules.length === 0 || parsed.some((rule) => rule?.kind === 'any')
  const patterns = parsed.flatMap((rule) => (rule?.kind === 'domain' ? [rule.pattern] : []))
  const addresses = parsed.flatMap((rule) => (rule?.kind === 'address' ? [`${rule.host}:${rule.port}`] : []))
  const labels = parsed.flatMap((rule) => (rule?.kind === 'label' ? [rule] : []))

  return {
    allowsName(host) {
      const name = normalizeHost(host)
      return name !== undefined && (unrestricted || patterns.some((pattern) => covers(pattern, name)))
    },
    allowsAddress(host, port) {
      const name = normalizeHost(host)
      return name !== undefined && (unrestricted || addresses.includes(`${name}:${port}`))
    },
    allowsAnyAddress: () => unrestricted,
    allowsLabel(key, value) {
      if (unrestricted) return true
      return labels.some((rule) => matches(rule.key, key) && matches(rule.value, value))
    },
  }
}

function parseRule(rule: string): AclRule | undefined {
  try {
    return parseAclRule(rule)
  } catch {
    return undefined
  }
}

function normalizeHost(host: string): string | undefined {
  try {
    return parseDomain(host)
  } catch {
    return undefined
  }
}

function matches(pattern: string, text: string): boolean {
  return pattern === '*' || pattern === text
}
